-- name: start_session
SELECT * FROM memory.start_session($1, $2, $3, $4, $5, $6, $7);

-- name: lock_session
-- Whoever ends a session or observes in it takes this row first.
SELECT * FROM memory.session WHERE profile_id = $1 AND id = $2 FOR UPDATE;

-- name: session
SELECT * FROM memory.session WHERE profile_id = $1 AND id = $2;

-- name: sessions
-- The newest first, after a position if one is given.
SELECT * FROM memory.session
WHERE profile_id = $1
    AND ($2::smallint IS NULL OR state = $2)
    AND (started_at, id) < (
        coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY started_at DESC, id DESC
LIMIT $5;

-- name: sessions_of_agent
SELECT * FROM memory.session
WHERE profile_id = $1
    AND agent_mac = $6
    AND ($2::smallint IS NULL OR state = $2)
    AND (started_at, id) < (
        coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY started_at DESC, id DESC
LIMIT $5;

-- name: session_totals
-- Every observation counts, also where several became one memory; an outcome where it was recorded, though it counts
-- for what is repeated as well.
SELECT coalesce(sum(1 + m.reinforcement_count - m.helped_count), 0)::bigint AS observations,
       coalesce(sum(greatest(m.successes - r.successes, 0)), 0)::bigint AS successes,
       coalesce(sum(greatest(m.failures - r.failures, 0)), 0)::bigint AS failures
FROM memory.memory m
CROSS JOIN LATERAL (
    SELECT coalesce(sum(o.successes), 0) AS successes, coalesce(sum(o.failures), 0) AS failures
    FROM memory.memory o WHERE o.profile_id = $1 AND o.superseded_by = m.id AND o.repeats
) r
WHERE m.profile_id = $1 AND m.session_id = $2;

-- name: session_notes
-- The latest of a session that still hold, as far as its report reads them. Repetitions count for what they repeat
-- where that stands in the same session, for themselves otherwise.
SELECT m.id, m.version, m.type, m.outcome, (1 + m.reinforcement_count - m.helped_count + r.observed)::bigint AS observed,
       greatest(m.successes - r.successes, 0) AS successes, greatest(m.failures - r.failures, 0) AS failures,
       essence_sealed,
       CASE WHEN essence_sealed IS NULL THEN summary_sealed END AS summary_sealed,
       CASE WHEN essence_sealed IS NULL AND summary_sealed IS NULL THEN content_sealed END AS content_sealed,
       CASE WHEN type <= 2 THEN metadata_sealed END AS metadata_sealed
FROM memory.memory m
CROSS JOIN LATERAL (
    SELECT coalesce(sum(1 + o.reinforcement_count - o.helped_count) FILTER (WHERE o.session_id = $2), 0) AS observed,
           coalesce(sum(o.successes) FILTER (WHERE o.session_id <> $2), 0) AS successes,
           coalesce(sum(o.failures) FILTER (WHERE o.session_id <> $2), 0) AS failures
    FROM memory.memory o WHERE o.profile_id = $1 AND o.superseded_by = m.id AND o.repeats
) r
WHERE profile_id = $1 AND session_id = $2 AND (
    superseded_by IS NULL
    -- What repeats something of another session was observed here all the same.
    OR (repeats AND NOT EXISTS (
        SELECT FROM memory.memory o WHERE o.profile_id = $1 AND o.id = m.superseded_by AND o.session_id = $2
    ))
)
ORDER BY position DESC LIMIT $3;

-- name: end_session
-- Unless it was used since $4, where that is given.
UPDATE memory.session SET state = 2, ended_at = $3, active_at = greatest(active_at, $3)
WHERE profile_id = $1 AND id = $2 AND ($4::timestamptz IS NULL OR active_at <= $4)
RETURNING *;

-- name: keep_report
SELECT memory.keep_report($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: claim_idle
SELECT * FROM memory.claim_idle($1, $2, $3, $4);

-- name: report
SELECT * FROM memory.reported WHERE profile_id = $1 AND session_id = $2;

-- name: reports
SELECT * FROM memory.reported
WHERE profile_id = $1
    AND (created_at, session_id) < (
        coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY created_at DESC, session_id DESC
LIMIT $4;
