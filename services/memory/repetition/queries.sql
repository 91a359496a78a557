-- name: near
-- For some memories, at most $6 others that are close in meaning, said by the same one, and no shock. Of two that are
-- both asked about, the later one finds the earlier. $2 the ids, $3 the model of the vectors, $4 the cosine from which on,
-- $5 how many of the newest are looked at.
WITH asked AS MATERIALIZED (
    SELECT m.id, m.created_at, m.actor_mac, m.asks, m.embedding
    FROM memory.memory m
    WHERE m.profile_id = $1 AND m.id = ANY ($2::uuid[]) AND m.embedding_model = $3 AND m.superseded_by IS NULL
),
-- Each memory is read once and compared with all that are asked about.
close AS (
    SELECT a.id, o.id AS other, -(o.embedding <#> a.embedding) AS cosine,
        (o.created_at, o.id) > (a.created_at, a.id) AS later
    FROM (
        SELECT m.id, m.created_at, m.actor_mac, m.asks, m.embedding, m.embedding_model
        FROM memory.memory m
        WHERE m.profile_id = $1 AND m.superseded_by IS NULL AND m.ring <> 5
        ORDER BY m.created_at DESC, m.id DESC
        LIMIT $5
    ) o
    JOIN asked a ON o.id <> a.id AND o.actor_mac IS NOT DISTINCT FROM a.actor_mac AND o.asks = a.asks
        AND (o.id <> ALL ($2) OR (o.created_at, o.id) < (a.created_at, a.id))
    WHERE o.embedding_model = $3 AND -(o.embedding <#> a.embedding) >= $4
),
nearest AS (
    SELECT c.*, row_number() OVER (PARTITION BY c.id ORDER BY c.cosine DESC, c.other) AS number FROM close c
)
SELECT n.id AS asked, n.cosine, n.later, m.id, m.version,
       m.content_sealed,
       CASE WHEN m.content_sealed IS NULL THEN m.summary_sealed END AS summary_sealed,
       CASE WHEN m.content_sealed IS NULL AND m.summary_sealed IS NULL THEN m.essence_sealed END AS essence_sealed
FROM nearest n JOIN memory.memory m ON m.profile_id = $1 AND m.id = n.other
WHERE n.number <= $6
ORDER BY n.id, n.number;

-- name: repeat
SELECT memory.repeat($1, $2, $3, $4, $5, $6);

-- name: report
-- Pairs that were found; what was dismissed stays so.
INSERT INTO memory.conflict (profile_id, newer, older, kind, cosine, found_at)
SELECT $1, t.newer, t.older, t.kind, t.cosine, $6
FROM unnest($2::uuid[], $3::uuid[], $4::smallint[], $5::real[]) t (newer, older, kind, cosine)
WHERE (
    SELECT count(*) FROM memory.memory m
    WHERE m.profile_id = $1 AND m.id IN (t.newer, t.older) AND m.superseded_by IS NULL
) = 2
ON CONFLICT DO NOTHING;

-- name: conflicts
-- The newest first, after one if its place is given.
SELECT n AS newer, o AS older, c.kind, c.cosine, c.found_at
FROM memory.conflict c
JOIN memory.outline n ON n.profile_id = c.profile_id AND n.id = c.newer
JOIN memory.outline o ON o.profile_id = c.profile_id AND o.id = c.older
WHERE c.profile_id = $1 AND NOT c.dismissed AND (
    $2::timestamptz IS NULL OR c.found_at < $2 OR (c.found_at = $2 AND (c.newer, c.older) > ($3::uuid, $4::uuid)))
ORDER BY c.found_at DESC, c.newer, c.older
LIMIT $5;

-- name: dismiss
-- Whichever of the two is named first.
UPDATE memory.conflict c SET dismissed = true
WHERE c.profile_id = $1 AND ((c.newer = $2 AND c.older = $3) OR (c.newer = $3 AND c.older = $2))
RETURNING true;
