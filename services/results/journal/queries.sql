-- name: search
SELECT * FROM results.search_episodes($1, $2, $3, $4, $5);

-- name: episode
SELECT * FROM results.episode_of($1, $2);
