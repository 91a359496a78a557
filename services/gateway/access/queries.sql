-- name: create_profile
SELECT * FROM access.create_profile($1, $2, $3, $4);

-- name: find_profile
SELECT * FROM access.named_profile WHERE id = $1;

-- name: list_profiles
-- The newest first, after a position.
SELECT * FROM access.named_profile
WHERE (created_at, id) < (coalesce($1, 'infinity'::timestamptz), coalesce($2, '00000000-0000-0000-0000-000000000000'::uuid))
ORDER BY created_at DESC, id DESC
LIMIT $3;

-- name: quota
SELECT memories_max, clipboard_entries_max, clipboard_bytes_max, keys_max, runs_max, results_max, results_bytes_max
FROM access.profile
WHERE id = $1 AND erasing_since IS NULL;

-- name: set_quota
-- No row: there is no such profile.
UPDATE access.profile SET
    memories_max = $2, clipboard_entries_max = $3, clipboard_bytes_max = $4, keys_max = $5,
    runs_max = $6, results_max = $7, results_bytes_max = $8
WHERE id = $1 AND erasing_since IS NULL
RETURNING id;

-- name: add_key
SELECT * FROM access.add_key($1, $2, $3, $4, $5, $6, $7, $8);

-- name: add_first_key
SELECT access.add_first_key($1, $2, $3, $4, $5, $6);

-- name: has_admin_key
-- Whether one was ever made.
SELECT access.was_administered();

-- name: list_keys
SELECT * FROM access.shown_key
WHERE (created_at, id) < (coalesce($1, 'infinity'::timestamptz), coalesce($2, ''))
ORDER BY created_at DESC, id DESC
LIMIT $3;

-- name: list_keys_of
-- One profile's. A query of its own, so that it walks that profile's keys only.
SELECT * FROM access.shown_key
WHERE profile = $4
  AND (created_at, id) < (coalesce($1, 'infinity'::timestamptz), coalesce($2, ''))
ORDER BY created_at DESC, id DESC
LIMIT $3;

-- name: revoke_key
-- The moment of the first revocation stays.
UPDATE access.api_key k SET revoked_at = coalesce(revoked_at, $2)
WHERE id = $1 AND EXISTS (SELECT FROM access.shown_key s WHERE s.id = k.id)
RETURNING id, profile, name_sealed, scopes, created_at, expires_at, revoked_at;

-- name: find_grant
SELECT k.id, w.owner, p.workspace, k.profile, k.scopes, k.expires_at, k.revoked_at, p.erasing_since, k.secret_sha256,
       p.memories_max, p.clipboard_entries_max, p.clipboard_bytes_max, p.keys_max,
       p.runs_max, p.results_max, p.results_bytes_max
FROM access.api_key k
JOIN access.profile p ON p.id = k.profile
JOIN access.workspace w ON w.id = p.workspace
WHERE k.id = $1;
