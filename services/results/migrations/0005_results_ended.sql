-- Of a run that ended a minute ago, a task without a result is unknown: whoever polls for it must come to an end. The
-- minute is for workers that are a little behind their run; a result that comes later still is kept and found.

-- What a task came to, with one part of its content. Verdicts: 'found', 'not_ready', 'cancelled', 'expired', 'unknown'.
CREATE OR REPLACE FUNCTION results.get(
    p_profile uuid, p_workflow bytea, p_task bytea, p_part integer, p_known interval, p_now timestamptz
) RETURNS TABLE (verdict text, result results.result, part_sealed bytea) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT
        CASE
            WHEN l.verdict <> 'live' THEN l.verdict
            WHEN e.id IS NOT NULL THEN 'found'
            WHEN (l.run).state = 4 THEN 'cancelled'
            WHEN (l.run).ended_at <= p_now - interval '1 minute' THEN 'unknown'
            ELSE 'not_ready'
        END,
        e, c.content_sealed
    FROM results.look(p_profile, p_workflow, p_known, p_now) l
    LEFT JOIN results.result e
        ON l.verdict = 'live' AND e.profile_id = p_profile AND e.run_id = (l.run).id AND e.task_mac = p_task
    LEFT JOIN results.part c ON c.profile_id = p_profile AND c.result_id = e.id AND c.number = p_part;
END
$$;
