-- name: reinforce
SELECT * FROM memory.reinforce($1, $2, $3, $4, $5, $6, $7);

-- name: promote
SELECT * FROM memory.promote($1, $2, $3, $4, $5, $6);

-- name: forget
SELECT memory.forget($1, $2, $3);

-- name: restore
SELECT * FROM memory.restore($1, $2, $3, $4);

-- name: purge_deleted
SELECT memory.purge_deleted($1, $2);

-- name: revise
SELECT * FROM memory.revise($1, $2, $3, $4, $5, $6, $7, $8);

-- name: supersede
SELECT * FROM memory.supersede_in($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: versions
-- What a memory says and said, the newest first, before a version if one is given.
SELECT $2::uuid AS id, every.* FROM (
    SELECT m.revision, m.version, coalesce(m.revised_at, m.created_at) AS created_at, m.content_tokens,
        m.content_sealed, m.summary_sealed, m.essence_sealed, true AS current
    FROM memory.memory m WHERE m.profile_id = $1 AND m.id = $2
    UNION ALL
    SELECT v.revision, v.version, v.created_at, v.content_tokens,
        v.content_sealed, v.summary_sealed, v.essence_sealed, false
    FROM memory.version v WHERE v.profile_id = $1 AND v.memory_id = $2
        AND EXISTS (SELECT FROM memory.memory m WHERE m.profile_id = $1 AND m.id = $2)
) every
WHERE every.revision < coalesce($3::integer, 2147483647)
ORDER BY every.revision DESC LIMIT $4;
