-- name: put
SELECT * FROM clipboard.put($1, $2, $3, $4);

-- name: push
SELECT * FROM clipboard.push($1, $2, $3, $4, $5, $6, $7);

-- name: pop
SELECT * FROM clipboard.pop($1, $2, $3, $4, $5, $6);

-- name: get
SELECT * FROM clipboard.get($1, $2, $3, $4, $5);

-- name: peek
SELECT * FROM clipboard.peek($1, $2, $3, $4, $5);

-- name: newest
SELECT * FROM clipboard.newest($1, $2, $3, $4, $5, $6, $7, $8);

-- name: remove
SELECT clipboard.remove($1, $2, $3);

-- name: clear
SELECT * FROM clipboard.clear($1, $2);

-- name: usage
SELECT * FROM clipboard.usage($1, $2);

-- name: sweep
SELECT clipboard.sweep($1, $2, $3);

-- name: entry
-- One of a profile's own.
SELECT * FROM clipboard.entry
WHERE profile_id = $1 AND id = $2 AND popped_version IS NULL AND expires_at > $3;
