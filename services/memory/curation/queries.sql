-- name: claim_uncurated
SELECT * FROM memory.claim_uncurated($1, $2, $3, $4);

-- name: subjects
-- What the curator reads of memories that are still fresh, or that only repetition has moved. A vector of another model tells it nothing.
SELECT id, version, type, outcome, successes, failures, asks,
       CASE WHEN embedding_model = $3 THEN embedding END AS embedding,
       content_sealed,
       CASE WHEN content_sealed IS NULL THEN summary_sealed END AS summary_sealed,
       CASE WHEN content_sealed IS NULL AND summary_sealed IS NULL THEN essence_sealed END AS essence_sealed
FROM memory.memory WHERE profile_id = $1 AND id = ANY ($2::uuid[])
    -- What others were found to repeat before its own turn came may repeat something itself.
    AND (ring = 1 OR (ring = 3 AND ring_set_by = 3)) AND superseded_by IS NULL;

-- name: curate
SELECT memory.curate($1, $2, $3);
