-- name: policies
SELECT * FROM decay.policy WHERE workspace_id = ANY ($1::uuid[]);

-- name: set_policy
INSERT INTO decay.policy VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, now())
ON CONFLICT (workspace_id) DO UPDATE SET
    full_tokens = EXCLUDED.full_tokens, full_duration = EXCLUDED.full_duration,
    compressed_tokens = EXCLUDED.compressed_tokens, compressed_duration = EXCLUDED.compressed_duration,
    summary_tokens = EXCLUDED.summary_tokens, summary_duration = EXCLUDED.summary_duration,
    essence_tokens = EXCLUDED.essence_tokens, essence_duration = EXCLUDED.essence_duration,
    fresh_duration = EXCLUDED.fresh_duration, accessed = EXCLUDED.accessed, reinforced = EXCLUDED.reinforced,
    failing = EXCLUDED.failing, keep_originals = EXCLUDED.keep_originals, updated_at = EXCLUDED.updated_at
RETURNING *;

-- name: note_sweep
SELECT decay.note_sweep($1, $2, $3, $4);

-- name: sweep
SELECT * FROM decay.sweep WHERE profile_id = $1 AND id = $2;

-- name: sweeps
SELECT * FROM decay.sweep
WHERE profile_id = $1
    AND (started_at, id) < (
        coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
ORDER BY started_at DESC, id DESC
LIMIT $4;

-- name: forget_sweeps
SELECT decay.forget_sweeps($1, $2);
