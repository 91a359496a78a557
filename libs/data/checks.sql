-- name: server
SELECT current_setting('server_version_num')::int AS number,
       current_setting('server_version') AS version,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('data_checksums') AS data_checksums;

-- name: role
-- What a service's role could do that it must not.
SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication AS mighty,
       EXISTS (
           SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
           WHERE n.nspname = $2 AND c.relowner = r.oid
       ) AS owner
FROM pg_roles r WHERE rolname = $1;

-- name: privileges
-- Whether a role can use every table of a schema, save the list of migrations, which it reads.
SELECT has_schema_privilege($1, $2, 'USAGE') AND coalesce(bool_and(
           has_table_privilege($1, c.oid, 'SELECT')
           AND (c.relname = 'schema_migration' OR (
               has_table_privilege($1, c.oid, 'INSERT') AND has_table_privilege($1, c.oid, 'UPDATE')
               AND has_table_privilege($1, c.oid, 'DELETE')))
       ), true)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $2 AND c.relkind IN ('r', 'p');

-- name: profile_tables
-- Every table that holds rows of profiles, and whether row-level security guards it.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
       c.relrowsecurity AND c.relforcerowsecurity
           AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid) AS guarded
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'profile_id' AND NOT a.attisdropped
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
ORDER BY 1;
