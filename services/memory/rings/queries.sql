-- name: reinforce
SELECT * FROM memory.reinforce($1, $2, $3, $4, $5, $6, $7);

-- name: promote
SELECT * FROM memory.promote($1, $2, $3, $4, $5, $6);
