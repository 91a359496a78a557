-- name: claim_uncurated
SELECT * FROM memory.claim_uncurated($1, $2, $3, $4);

-- name: subjects
-- What the curator reads of memories that are still fresh. A vector of another model tells it nothing.
SELECT id, version, type, outcome, successes, failures, asks,
       CASE WHEN embedding_model = $3 THEN embedding END AS embedding,
       content_sealed,
       CASE WHEN content_sealed IS NULL THEN summary_sealed END AS summary_sealed,
       CASE WHEN content_sealed IS NULL AND summary_sealed IS NULL THEN essence_sealed END AS essence_sealed
FROM memory.memory WHERE profile_id = $1 AND id = ANY ($2::uuid[]) AND ring = 1
    AND superseded_by IS NULL;

-- name: curate
SELECT memory.curate($1, $2, $3);
