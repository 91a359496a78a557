-- name: profile_tables
-- Every table of a schema that holds rows of profiles, partitions one by one; which of these its rows point at, so
-- that they have to go first; and whether deleting from it deletes elsewhere.
WITH listed AS (
    SELECT c.oid, format('%I.%I', n.nspname, c.relname) AS name
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'profile_id' AND NOT a.attisdropped
    WHERE n.nspname = $1 AND c.relkind = 'r'
)
SELECT l.name,
       ARRAY(
           SELECT DISTINCT p.name FROM pg_constraint f JOIN listed p ON p.oid = f.confrelid
           WHERE f.contype = 'f' AND f.conrelid = l.oid AND p.oid <> l.oid
       ) AS points_at,
       -- 8: for DELETE.
       EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = l.oid AND NOT t.tgisinternal AND t.tgtype & 8 > 0) AS cascades
FROM listed l
ORDER BY l.name;

-- name: by_keys_only
-- A plan is kept from when a table was small, and then a scan of everything looks as cheap as a key.
SELECT set_config('enable_seqscan', 'off', true);

-- name: delete_some
DELETE FROM {table} WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM {table} t WHERE t.profile_id = $1 LIMIT $2));

-- name: count_some
SELECT count(*) FROM (SELECT FROM {table} t WHERE t.profile_id = $1 LIMIT $2) counted;
