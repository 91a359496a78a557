-- name: data_keys
-- Oldest first: the first key of a profile also makes its blind indexes.
SELECT id, master_key_id, wrapped FROM {schema}.data_key ORDER BY generation;

-- name: add_first_data_key
-- Two that race for a profile's first key: one wins, both read the winner's.
INSERT INTO {schema}.data_key (profile_id, generation, id, master_key_id, wrapped)
VALUES ($1, 1, $2, $3, $4)
ON CONFLICT (profile_id, generation) DO NOTHING;

-- name: destroy_data_keys
DELETE FROM {schema}.data_key RETURNING id;

-- name: is_set_up
SELECT to_regclass('treering.installation') IS NOT NULL;

-- name: installation
SELECT master_key_id FROM treering.installation;

-- name: found_installation
INSERT INTO treering.installation (master_key_id) VALUES ($1) ON CONFLICT DO NOTHING;
