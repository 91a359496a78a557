-- name: reinforced
-- What holds and was observed most often, up to $2 of each ring but FRESH, as a search shows it.
SELECT r.id, r.version, r.session_id, r.ring, r.stage, r.type, r.outcome, r.occurred_at, r.content_tokens,
       r.summary_tokens, r.essence_tokens, r.content_sealed, r.summary_sealed, r.essence_sealed, r.labels_sealed
FROM (
    SELECT o.*, row_number() OVER (
        PARTITION BY o.ring ORDER BY o.reinforcement_count DESC, o.successes DESC, o.created_at DESC, o.id
    ) AS place
    FROM memory.outline o WHERE o.profile_id = $1 AND o.ring > 1 AND o.superseded_by IS NULL
) r
WHERE r.place <= $2
ORDER BY r.ring, r.place;

-- name: last_report
-- Of some sessions, or of all.
SELECT * FROM memory.reported
WHERE profile_id = $1 AND ($2::uuid[] IS NULL OR session_id = ANY ($2))
ORDER BY created_at DESC, session_id DESC
LIMIT 1;
