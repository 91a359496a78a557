-- name: reinforce
SELECT * FROM memory.reinforce($1, $2, $3, $4, $5, $6, $7);
