-- name: erase_profile
SELECT * FROM access.erase_profile($1, $2);

-- name: erasure
SELECT * FROM access.erasure WHERE profile = $1;

-- name: erasures
-- The newest first, after a position.
SELECT * FROM access.erasure
WHERE (requested_at, profile) < (
    coalesce($1, 'infinity'::timestamptz), coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid))
ORDER BY requested_at DESC, profile DESC
LIMIT $3;

-- name: receipts
SELECT profile, service, passes, rows_deleted, keys_destroyed, remaining, completed_at
FROM access.erasure_receipt WHERE profile = ANY ($1::uuid[])
ORDER BY profile, service;

-- name: claim_erasure
-- The one that waits longest. SKIP LOCKED: two workers take two.
UPDATE access.erasure e SET next_at = $2
WHERE e.profile = (
    SELECT w.profile FROM access.erasure w WHERE w.completed_at IS NULL AND w.next_at <= $1
    ORDER BY w.next_at LIMIT 1 FOR UPDATE SKIP LOCKED
)
RETURNING e.*;

-- name: keep_receipt
SELECT access.keep_receipt($1, $2, $3, $4, $5, $6, $7, $8);

-- name: postpone_erasure
UPDATE access.erasure SET next_at = $2, failures = CASE WHEN $3 THEN failures + 1 ELSE 0 END
WHERE profile = $1 AND completed_at IS NULL;

-- name: finish_erasure
SELECT access.finish_erasure($1, $2);
