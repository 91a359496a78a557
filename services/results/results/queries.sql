-- name: put
SELECT * FROM results.put($1, $2, $3, $4, $5);

-- name: upload
SELECT results.upload($1, $2, $3, $4, $5, $6, $7, $8);

-- name: put_uploaded
SELECT * FROM results.put_uploaded($1, $2, $3, $4, $5);

-- name: get
SELECT * FROM results.get($1, $2, $3, $4, $5, $6);

-- name: final
SELECT * FROM results.final($1, $2, $3, $4, $5);

-- name: steps
SELECT * FROM results.steps($1, $2, $3, $4, $5, $6);

-- name: next
SELECT * FROM results.next($1, $2, $3, $4, $5);

-- name: several
SELECT * FROM results.several($1, $2, $3, $4, $5, $6);

-- name: append_turn
SELECT * FROM results.append_turn($1, $2, $3, $4, $5);

-- name: turns
SELECT * FROM results.turns($1, $2, $3, $4, $5, $6, $7);

-- name: arrived
SELECT * FROM results.arrived($1, $2, $3, $4, $5);
