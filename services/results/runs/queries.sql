-- name: start
SELECT * FROM results.start($1, $2, $3, $4);

-- name: finish
SELECT * FROM results.finish($1, $2, $3, $4);

-- name: cancel
SELECT * FROM results.cancel($1, $2, $3);

-- name: status
SELECT * FROM results.status($1, $2, $3);

-- name: newest
SELECT * FROM results.newest($1, $2, $3, $4, $5, $6, $7);

-- name: sweep
SELECT results.sweep($1, $2, $3);
