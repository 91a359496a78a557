-- A quota may be set below what a profile holds. Then it refuses only what would add to the part that is over it.

-- Which part of its quota a profile would exceed with more than it holds now: 'runs', 'results', 'bytes', or NULL for
-- none. For calls whose profile's row is taken and not given back since it was changed.
CREATE OR REPLACE FUNCTION results.exceeded(p_head results.head, p_quota results.quota) RETURNS text LANGUAGE sql
STABLE SET enable_seqscan = off AS $$
    SELECT CASE
        WHEN (p_head).runs > greatest((p_quota).runs, h.runs) THEN 'runs'
        WHEN (p_head).results > greatest((p_quota).results, h.results) THEN 'results'
        WHEN (p_head).bytes > greatest((p_quota).bytes, h.bytes) THEN 'bytes'
    END
    FROM results.head h WHERE h.profile_id = (p_head).profile_id
$$;
