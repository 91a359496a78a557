-- name: list_workspaces
SELECT memory.list_workspaces($1, $2);

-- name: present
SELECT memory.present();

-- name: list_due
SELECT * FROM memory.list_due($1, $2, $3, $4, $5, $6, $7);

-- name: leased
-- What was taken and has not changed since, with all its texts.
SELECT m.id, m.version, m.stage, m.content_tokens, m.summary_tokens, m.essence_tokens, m.content_sealed,
       m.summary_sealed, m.essence_sealed, m.labels_sealed, m.metadata_sealed, m.original_sealed
FROM memory.lease l
JOIN memory.memory m ON m.profile_id = l.profile_id AND m.id = l.memory_id
WHERE l.profile_id = $1 AND l.memory_id = ANY ($2::uuid[]) AND l.token = $3
    AND (m.stage, m.version, greatest(m.used_at, m.staged_at)) = (l.stage, l.version, l.aged_from);

-- name: restage
SELECT memory.restage($1, $2, $3);

-- name: give_back
SELECT memory.give_back($1, $2, $3, $4, $5, $6, $7);

-- name: ages
SELECT id, ring, stage, memory.pace(access_count, reinforcement_count, successes, failures) AS pace,
       greatest(used_at, staged_at) AS aged_from, used_at, content_tokens, summary_tokens, essence_tokens,
       memory.present() AS present
FROM memory.memory
WHERE profile_id = $1 AND ($2::uuid IS NULL OR id = $2) AND id > $3
ORDER BY id LIMIT $4;

-- name: forget_tombstones
SELECT memory.forget_tombstones($1, $2, $3);
