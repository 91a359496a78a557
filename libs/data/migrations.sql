-- name: make_schema
-- A schema and its list of what was applied.
CREATE SCHEMA IF NOT EXISTS {schema};
CREATE TABLE IF NOT EXISTS {schema}.schema_migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    ms integer NOT NULL
);

-- name: is_there
SELECT to_regclass('{schema}.schema_migration') IS NOT NULL;

-- name: applied
SELECT version, name, sha256 FROM {schema}.schema_migration ORDER BY version;

-- name: record
INSERT INTO {schema}.schema_migration (version, name, sha256, ms) VALUES ($1, $2, $3, $4);
