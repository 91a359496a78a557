-- name: runs
-- The newest first, after a position.
SELECT * FROM results.run
WHERE profile_id = $1 AND body_sealed IS NOT NULL AND expires_at > $5
    AND (created_at, id) < (
        coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY created_at DESC, id DESC
LIMIT $4;

-- name: results
-- Part by part, run by run.
SELECT t.*, coalesce(p.number, 0) AS part, p.content_sealed AS part_sealed,
       r.workflow_mac, r.body_version, r.body_sealed
FROM results.result t
JOIN results.run r ON r.profile_id = t.profile_id AND r.id = t.run_id
LEFT JOIN results.part p ON p.profile_id = t.profile_id AND p.result_id = t.id
WHERE t.profile_id = $1 AND t.expires_at > $6 AND r.body_sealed IS NOT NULL
    AND (t.run_id, t.position, coalesce(p.number, 0)) > ($2::uuid, $3::bigint, $4::integer)
ORDER BY t.run_id, t.position, coalesce(p.number, 0)
LIMIT $5;

-- name: turns
SELECT * FROM results.turn
WHERE profile_id = $1 AND expires_at > $5 AND (run_id, number) > ($2::uuid, $3::integer)
ORDER BY run_id, number
LIMIT $4;

-- name: episodes
SELECT * FROM results.episode
WHERE profile_id = $1 AND run_id > $2
ORDER BY run_id
LIMIT $3;
