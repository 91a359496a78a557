-- name: observe
SELECT * FROM memory.observe_in($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: memories
-- With their full texts.
SELECT * FROM memory.shown WHERE profile_id = $1 AND id = ANY ($2::uuid[]);

-- name: outlines
SELECT * FROM memory.outline WHERE profile_id = $1 AND id = ANY ($2::uuid[]);

-- name: newest
-- Outlines of all sessions, the newest first.
SELECT * FROM memory.outline
WHERE profile_id = $1
    AND ($2::smallint[] IS NULL OR ring = ANY ($2))
    AND (created_at, id) < (
        coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY created_at DESC, id DESC
LIMIT $5;

-- name: newest_whole
-- With their full texts, of all rings.
SELECT * FROM memory.shown
WHERE profile_id = $1
    AND (created_at, id) < (
        coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY created_at DESC, id DESC
LIMIT $4;

-- name: newest_in_session
-- The same of one session, where position tells the order.
SELECT * FROM memory.outline
WHERE profile_id = $1
    AND session_id = $2
    AND ($3::smallint[] IS NULL OR ring = ANY ($3))
    AND position < coalesce($4::integer, 2147483647)
ORDER BY position DESC
LIMIT $5;

-- name: sessions_by_id
SELECT * FROM memory.session WHERE profile_id = $1 AND id = ANY ($2::uuid[]);

-- name: neighbors
-- What stands up to $3 places before and after some memories in their sessions.
SELECT m.id AS of_id, n.*
FROM memory.memory m
CROSS JOIN LATERAL (
    (
        SELECT o.id, o.version, o.position, o.occurred_at, o.content_sealed, o.summary_sealed, o.essence_sealed
        FROM memory.outline o
        WHERE o.profile_id = $1 AND o.session_id = m.session_id AND o.position < m.position
        ORDER BY o.position DESC LIMIT $3
    )
    UNION ALL (
        SELECT o.id, o.version, o.position, o.occurred_at, o.content_sealed, o.summary_sealed, o.essence_sealed
        FROM memory.outline o
        WHERE o.profile_id = $1 AND o.session_id = m.session_id AND o.position > m.position
        ORDER BY o.position LIMIT $3
    )
) n
WHERE m.profile_id = $1 AND m.id = ANY ($2::uuid[])
ORDER BY m.id, n.position;

-- name: related
-- The closest in meaning to each of some memories that still hold, at most $3, not further than a cosine of $4.
SELECT near.of_id, n.*
FROM (
    SELECT m.id AS of_id, n.id, n.distance
    FROM memory.memory m
    CROSS JOIN LATERAL (
        -- Vectors have length 1: the negative inner product orders as the cosine does.
        SELECT r.id, r.embedding <#> m.embedding AS distance
        FROM memory.memory r
        WHERE r.profile_id = $1 AND r.id <> m.id AND r.embedding_model = m.embedding_model
            AND r.superseded_by IS NULL
        ORDER BY r.embedding <#> m.embedding LIMIT $3
    ) n
    WHERE m.profile_id = $1 AND m.id = ANY ($2::uuid[]) AND n.distance <= -$4::float8
) near
CROSS JOIN LATERAL (
    SELECT o.id, o.version, o.position, o.occurred_at, o.content_sealed, o.summary_sealed, o.essence_sealed
    FROM memory.outline o WHERE o.profile_id = $1 AND o.id = near.id LIMIT 1
) n
ORDER BY near.of_id, near.distance;

-- name: counts
SELECT ring, stage, count(*) AS memories, sum(content_tokens)::bigint AS content_tokens,
       sum(secrets_removed)::bigint AS secrets_removed
FROM memory.memory WHERE profile_id = $1 GROUP BY ring, stage;

-- name: session_counts
SELECT count(*) AS sessions, count(*) FILTER (WHERE state = 1) AS open_sessions,
       (SELECT count(*) FROM memory.pending p WHERE p.profile_id = $1) AS pending
FROM memory.session WHERE profile_id = $1;

-- name: touch
SELECT memory.touch($1, $2, $3, $4);

-- name: await_model
-- Have memories that another model embedded embedded by this one, some at a time.
INSERT INTO memory.pending (profile_id, memory_id, next_at)
SELECT m.profile_id, m.id, $4 FROM memory.memory m
WHERE m.profile_id = $1 AND m.embedding_model <> $2
    AND NOT EXISTS (SELECT FROM memory.pending p WHERE p.profile_id = $1 AND p.memory_id = m.id)
LIMIT $3
ON CONFLICT DO NOTHING;

-- name: claim_pending
SELECT * FROM memory.claim_pending($1, $2, $3, $4);

-- name: texts
-- What there is to embed of some memories.
SELECT id, version, content_sealed,
       -- The whole text, where it was kept when the memory grew old.
       original_sealed,
       CASE WHEN content_sealed IS NULL THEN summary_sealed END AS summary_sealed,
       CASE WHEN content_sealed IS NULL AND summary_sealed IS NULL THEN essence_sealed END AS essence_sealed
FROM memory.memory WHERE profile_id = $1 AND id = ANY ($2::uuid[]);

-- name: keep_embeddings
SELECT memory.keep_embeddings($1, $2, $3);

-- name: forget_keys
SELECT memory.forget_keys($1, $2);
