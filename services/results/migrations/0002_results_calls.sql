-- Each call is one function, so that it is one round trip and one commit. Each sets the profile first: row-level
-- security holds in them as everywhere.
--
-- All go by whole keys. A connection keeps the plan that it made while a table was small, and then a scan of
-- everything looks as cheap as a key: so sequential scans are off.

-- A run on its way in.
CREATE TYPE results.run_draft AS (
    id uuid,
    workflow_mac bytea,
    kind smallint,
    parent_run_id uuid,
    -- NULL for one that a first result begins.
    start_mac bytea,
    ttl interval,
    body_version bigint,
    body_sealed bytea
);

-- A result on its way in.
CREATE TYPE results.draft AS (
    id uuid,
    task_mac bytea,
    attempt integer,
    status smallint,
    encoding text,
    source smallint,
    size_bytes bigint,
    parts integer,
    same_mac bytea,
    labels_sealed bytea,
    -- NULL: its parts are there already.
    content_sealed bytea
);

-- A turn on its way in.
CREATE TYPE results.turn_draft AS (
    id uuid,
    -- NULL: the next one.
    number integer,
    same_mac bytea,
    size_bytes bigint,
    body_sealed bytea
);

-- How a run is finished.
CREATE TYPE results.finishing AS (
    state smallint,
    finish_mac bytea,
    -- The task whose result is the final one, or NULL.
    final_mac bytea,
    outcome_sealed bytea,
    -- Which goal the episode speaks of.
    body_version bigint,
    episode_sealed bytea
);

-- How much a profile may hold.
CREATE TYPE results.quota AS (runs bigint, results bigint, bytes bigint);

-- Take a profile's row until the transaction ends, with what it comes to at the time it is taken: what has
-- expired by then counts no more.
CREATE FUNCTION results.take(p_profile uuid, p_now timestamptz, OUT head results.head, OUT now timestamptz)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_head results.head;
    v_gone record;
BEGIN
    SELECT * INTO v_head FROM results.head h WHERE h.profile_id = p_profile FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO results.head (profile_id) VALUES (p_profile) ON CONFLICT DO NOTHING;
        SELECT * INTO v_head FROM results.head h WHERE h.profile_id = p_profile FOR UPDATE;
    END IF;
    -- The caller's time, moved on by how long the call has waited here for others.
    now := p_now + (clock_timestamp() - statement_timestamp());
    WITH gone AS (
        UPDATE results.run r SET counted = false
        WHERE r.profile_id = p_profile AND r.counted AND r.expires_at <= now
        RETURNING r.results, r.bytes
    )
    SELECT count(*) AS runs, coalesce(sum(g.results), 0) AS results, coalesce(sum(g.bytes), 0) AS bytes
    INTO v_gone FROM gone g;
    IF v_gone.runs > 0 THEN
        v_head.runs := v_head.runs - v_gone.runs;
        v_head.results := v_head.results - v_gone.results;
        v_head.bytes := v_head.bytes - v_gone.bytes;
        PERFORM results.give_back(v_head);
    END IF;
    head := v_head;
END
$$;

-- Give a profile's row back as it is now.
CREATE FUNCTION results.give_back(p_head results.head) RETURNS void LANGUAGE sql
SET enable_seqscan = off AS $$
    UPDATE results.head h SET runs = p_head.runs, results = p_head.results, bytes = p_head.bytes
    WHERE h.profile_id = p_head.profile_id
$$;

-- Which part of its quota a profile exceeds: 'runs', 'results', 'bytes', or NULL for none.
CREATE FUNCTION results.exceeded(p_head results.head, p_quota results.quota) RETURNS text LANGUAGE sql
IMMUTABLE RETURN CASE
    WHEN (p_head).runs > (p_quota).runs THEN 'runs'
    WHEN (p_head).results > (p_quota).results THEN 'results'
    WHEN (p_head).bytes > (p_quota).bytes THEN 'bytes'
END;

-- The run of a workflow id, or nothing. One that has expired makes room for the next: its results are swept, and nobody
-- finds them before. For calls whose profile's row is taken.
CREATE FUNCTION results.live(p_profile uuid, p_workflow bytea, p_now timestamptz) RETURNS results.run
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_run results.run;
BEGIN
    DELETE FROM results.run r
    WHERE r.profile_id = p_profile AND r.workflow_mac = p_workflow AND r.expires_at <= p_now;
    SELECT * INTO v_run FROM results.run r WHERE r.profile_id = p_profile AND r.workflow_mac = p_workflow;
    RETURN v_run;
END
$$;

-- Begin a run. For calls whose profile's row is taken.
CREATE FUNCTION results.begin_run(p_profile uuid, p_run results.run_draft, p_now timestamptz) RETURNS results.run
LANGUAGE sql SET enable_seqscan = off AS $$
    INSERT INTO results.run (
        profile_id, id, workflow_mac, implicit, kind, parent_run_id, start_mac, created_at, expires_at,
        body_version, body_sealed
    ) VALUES (
        p_profile, p_run.id, p_run.workflow_mac, p_run.start_mac IS NULL, p_run.kind, p_run.parent_run_id,
        p_run.start_mac, p_now, p_now + p_run.ttl, p_run.body_version, p_run.body_sealed
    )
    RETURNING *
$$;

-- Put what a task came to, into a run that begins with it if there is none.
--
-- Verdicts: 'put', 'same' for what is there already, 'conflict', 'cancelled', or the part of the quota that is exceeded.
CREATE FUNCTION results.put(
    p_profile uuid, p_run results.run_draft, p_draft results.draft, p_quota results.quota, p_now timestamptz
) RETURNS TABLE (
    verdict text, run_id uuid, attempt integer, "position" bigint, created_at timestamptz, expires_at timestamptz
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head results.head;
    v_now timestamptz;
    v_run results.run;
    v_there uuid;
    v_same bytea;
    v_size bigint;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM results.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;
    v_run := results.live(p_profile, p_run.workflow_mac, v_now);
    SELECT e.id, e.same_mac, e.size_bytes, e.attempt, e.position, e.created_at
    INTO v_there, v_same, v_size, attempt, "position", created_at
    FROM results.result e
    WHERE e.profile_id = p_profile AND e.run_id = v_run.id AND e.task_mac = p_draft.task_mac;
    run_id := v_run.id;
    expires_at := v_run.expires_at;
    verdict := CASE
        WHEN attempt = p_draft.attempt AND v_same = p_draft.same_mac THEN 'same'
        WHEN v_run.state = 4 THEN 'cancelled'
        WHEN attempt >= p_draft.attempt THEN 'conflict'
    END;
    IF verdict IS NULL THEN
        v_head.runs := v_head.runs + CASE WHEN v_run.id IS NULL THEN 1 ELSE 0 END;
        v_head.results := v_head.results + CASE WHEN v_there IS NULL THEN 1 ELSE 0 END;
        v_head.bytes := v_head.bytes + p_draft.size_bytes - coalesce(v_size, 0);
        verdict := results.exceeded(v_head, p_quota);
    END IF;
    IF verdict IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;

    PERFORM results.give_back(v_head);
    IF v_run.id IS NULL THEN
        v_run := results.begin_run(p_profile, p_run, v_now);
    ELSE
        DELETE FROM results.part c WHERE c.profile_id = p_profile AND c.result_id = v_there;
        DELETE FROM results.result e WHERE e.profile_id = p_profile AND e.id = v_there;
    END IF;
    RETURN QUERY INSERT INTO results.result AS e (
        profile_id, id, run_id, task_mac, position, attempt, status, encoding, source, size_bytes, parts, same_mac,
        created_at, expires_at, labels_sealed, content_sealed
    ) VALUES (
        p_profile, p_draft.id, v_run.id, p_draft.task_mac, v_run.last_position + 1, p_draft.attempt, p_draft.status,
        p_draft.encoding, p_draft.source, p_draft.size_bytes, p_draft.parts, p_draft.same_mac,
        v_now, v_run.expires_at, p_draft.labels_sealed, p_draft.content_sealed
    )
    RETURNING 'put', e.run_id, e.attempt, e.position, e.created_at, e.expires_at;
    UPDATE results.run r SET
        version = r.version + 1, last_position = r.last_position + 1,
        results = r.results + CASE WHEN v_there IS NULL THEN 1 ELSE 0 END,
        bytes = r.bytes + p_draft.size_bytes - coalesce(v_size, 0)
    WHERE r.profile_id = p_profile AND r.id = v_run.id;
END
$$;

-- Keep the next part of a stream, which nobody sees yet. Verdicts: 'kept', or the part of the quota that is exceeded.
CREATE FUNCTION results.upload(
    p_profile uuid, p_result uuid, p_number integer, p_size bigint, p_sealed bytea, p_kept interval,
    p_quota results.quota, p_now timestamptz
) RETURNS text LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_taken record;
    v_head results.head;
    v_now timestamptz;
    v_verdict text;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM results.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;
    v_head.bytes := v_head.bytes + p_size;
    v_verdict := results.exceeded(v_head, p_quota);
    IF v_verdict IS NOT NULL THEN
        RETURN v_verdict;
    END IF;
    PERFORM results.give_back(v_head);
    INSERT INTO results.upload AS u (profile_id, result_id, size_bytes, expires_at)
    VALUES (p_profile, p_result, p_size, v_now + p_kept)
    ON CONFLICT (profile_id, result_id) DO UPDATE SET
        size_bytes = u.size_bytes + EXCLUDED.size_bytes, expires_at = EXCLUDED.expires_at;
    INSERT INTO results.part (profile_id, result_id, number, expires_at, content_sealed)
    VALUES (p_profile, p_result, p_number, v_now + p_kept, p_sealed);
    RETURN 'kept';
END
$$;

-- Put a result whose parts have come. Verdicts as of `put`, and 'gone' if the parts were swept meanwhile.
CREATE FUNCTION results.put_uploaded(
    p_profile uuid, p_run results.run_draft, p_draft results.draft, p_quota results.quota, p_now timestamptz
) RETURNS TABLE (
    verdict text, run_id uuid, attempt integer, "position" bigint, created_at timestamptz, expires_at timestamptz
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head results.head;
    v_size bigint;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM results.take(p_profile, p_now);
    v_head := v_taken.head;
    DELETE FROM results.upload u WHERE u.profile_id = p_profile AND u.result_id = p_draft.id
    RETURNING u.size_bytes INTO v_size;
    IF NOT FOUND THEN
        verdict := 'gone';
        RETURN NEXT;
        RETURN;
    END IF;
    v_head.bytes := v_head.bytes - v_size;
    PERFORM results.give_back(v_head);
    SELECT a.verdict, a.run_id, a.attempt, a.position, a.created_at, a.expires_at
    INTO verdict, run_id, attempt, "position", created_at, expires_at
    FROM results.put(p_profile, p_run, p_draft, p_quota, p_now) a;
    IF verdict = 'put' THEN
        UPDATE results.part c SET expires_at = put_uploaded.expires_at
        WHERE c.profile_id = p_profile AND c.result_id = p_draft.id;
    ELSE
        DELETE FROM results.part c WHERE c.profile_id = p_profile AND c.result_id = p_draft.id;
    END IF;
    RETURN NEXT;
END
$$;

-- Append a turn, to a run that begins with it if there is none.
--
-- Verdicts: 'put', 'same' for what is there already, 'conflict', 'early' for a number after the next one (which is
-- answered), 'cancelled', or the part of the quota that is exceeded.
CREATE FUNCTION results.append_turn(
    p_profile uuid, p_run results.run_draft, p_turn results.turn_draft, p_quota results.quota, p_now timestamptz
) RETURNS TABLE (verdict text, run_id uuid, number integer, created_at timestamptz)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head results.head;
    v_now timestamptz;
    v_run results.run;
    v_same bytea;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM results.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;
    v_run := results.live(p_profile, p_run.workflow_mac, v_now);
    run_id := v_run.id;
    number := coalesce(v_run.turns, 0) + 1;
    IF p_turn.number < number THEN
        number := p_turn.number;
        SELECT t.same_mac, t.created_at INTO v_same, created_at FROM results.turn t
        WHERE t.profile_id = p_profile AND t.run_id = v_run.id AND t.number = p_turn.number;
        verdict := CASE WHEN v_same = p_turn.same_mac THEN 'same' ELSE 'conflict' END;
    ELSIF v_run.state = 4 THEN
        verdict := 'cancelled';
    ELSIF p_turn.number > number THEN
        verdict := 'early';
    ELSE
        v_head.runs := v_head.runs + CASE WHEN v_run.id IS NULL THEN 1 ELSE 0 END;
        v_head.results := v_head.results + 1;
        v_head.bytes := v_head.bytes + p_turn.size_bytes;
        verdict := results.exceeded(v_head, p_quota);
    END IF;
    IF verdict IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;

    PERFORM results.give_back(v_head);
    IF v_run.id IS NULL THEN
        v_run := results.begin_run(p_profile, p_run, v_now);
    END IF;
    INSERT INTO results.turn (
        profile_id, run_id, number, id, same_mac, size_bytes, created_at, expires_at, body_sealed
    ) VALUES (
        p_profile, v_run.id, append_turn.number, p_turn.id, p_turn.same_mac, p_turn.size_bytes, v_now,
        v_run.expires_at, p_turn.body_sealed
    );
    UPDATE results.run r SET
        version = r.version + 1, turns = r.turns + 1, results = r.results + 1, bytes = r.bytes + p_turn.size_bytes
    WHERE r.profile_id = p_profile AND r.id = v_run.id;
    verdict := 'put';
    run_id := v_run.id;
    created_at := v_now;
    RETURN NEXT;
END
$$;

-- The run of a workflow id as a reader sees it: 'live', 'expired' for so long after its end, or 'unknown'.
CREATE FUNCTION results.look(
    p_profile uuid, p_workflow bytea, p_known interval, p_now timestamptz, OUT verdict text, OUT run results.run
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO run FROM results.run r WHERE r.profile_id = p_profile AND r.workflow_mac = p_workflow;
    verdict := CASE
        WHEN run.expires_at > p_now THEN 'live'
        WHEN run.expires_at > p_now - p_known THEN 'expired'
        ELSE 'unknown'
    END;
END
$$;

-- What a task came to, with one part of its content. Verdicts: 'found', 'not_ready', 'cancelled', 'expired', 'unknown'.
CREATE FUNCTION results.get(
    p_profile uuid, p_workflow bytea, p_task bytea, p_part integer, p_known interval, p_now timestamptz
) RETURNS TABLE (verdict text, result results.result, part_sealed bytea) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    RETURN QUERY SELECT
        CASE
            WHEN l.verdict <> 'live' THEN l.verdict
            WHEN e.id IS NOT NULL THEN 'found'
            WHEN (l.run).state = 4 THEN 'cancelled'
            ELSE 'not_ready'
        END,
        e, c.content_sealed
    FROM results.look(p_profile, p_workflow, p_known, p_now) l
    LEFT JOIN results.result e
        ON l.verdict = 'live' AND e.profile_id = p_profile AND e.run_id = (l.run).id AND e.task_mac = p_task
    LEFT JOIN results.part c ON c.profile_id = p_profile AND c.result_id = e.id AND c.number = p_part;
END
$$;

-- The final result of a run, with one part of its content. Verdicts as of `get`, and 'thread' and 'outcome' where no
-- task's result is the final one: then that of the run which tells it is there instead.
CREATE FUNCTION results.final(
    p_profile uuid, p_workflow bytea, p_part integer, p_known interval, p_now timestamptz
) RETURNS TABLE (
    verdict text, run_id uuid, state smallint, turns integer, created_at timestamptz, expires_at timestamptz,
    outcome_sealed bytea, result results.result, part_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_look record;
    v_run results.run;
    v_position bigint;
BEGIN
    SELECT * INTO v_look FROM results.look(p_profile, p_workflow, p_known, p_now);
    v_run := v_look.run;
    SELECT coalesce(max(e.position), v_run.last_position) INTO v_position FROM results.result e
    WHERE e.profile_id = p_profile AND e.run_id = v_run.id AND e.task_mac = v_run.final_mac;
    verdict := CASE
        WHEN v_look.verdict <> 'live' THEN v_look.verdict
        WHEN v_run.state = 4 THEN 'cancelled'
        WHEN v_run.state = 1 AND NOT v_run.implicit THEN 'not_ready'
        WHEN v_run.final_mac IS NULL AND v_run.turns > 0 THEN 'thread'
        WHEN v_position > 0 THEN 'found'
        ELSE 'outcome'
    END;
    RETURN QUERY SELECT verdict, v_run.id, v_run.state, v_run.turns, coalesce(v_run.ended_at, v_run.created_at),
        v_run.expires_at, CASE WHEN verdict = 'outcome' THEN v_run.outcome_sealed END, e, c.content_sealed
    FROM (SELECT) one
    LEFT JOIN results.result e
        ON verdict = 'found' AND e.profile_id = p_profile AND e.run_id = v_run.id AND e.position = v_position
    LEFT JOIN results.part c ON c.profile_id = p_profile AND c.result_id = e.id AND c.number = p_part;
END
$$;

-- Steps of a run in the order in which they were put, after a position; one row without a step if there is none.
CREATE FUNCTION results.steps(
    p_profile uuid, p_workflow bytea, p_after bigint, p_limit integer, p_known interval, p_now timestamptz
) RETURNS TABLE (
    verdict text, id uuid, run_id uuid, attempt integer, "position" bigint, status smallint, size_bytes bigint,
    parts integer, created_at timestamptz, expires_at timestamptz, labels_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT l.verdict, e.*
    FROM results.look(p_profile, p_workflow, p_known, p_now) l
    LEFT JOIN LATERAL (
        SELECT s.id, s.run_id, s.attempt, s.position, s.status, s.size_bytes, s.parts, s.created_at, s.expires_at,
               s.labels_sealed
        FROM results.result s
        WHERE l.verdict = 'live' AND s.profile_id = p_profile AND s.run_id = (l.run).id AND s.position > p_after
        ORDER BY s.position LIMIT p_limit
    ) e ON true
    ORDER BY e.position;
END
$$;

-- The next result of a run after a position, with its first part, and where the run stands; one row without a result if
-- there is none.
CREATE FUNCTION results.next(
    p_profile uuid, p_workflow bytea, p_after bigint, p_known interval, p_now timestamptz
) RETURNS TABLE (verdict text, state smallint, result results.result, part_sealed bytea) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT l.verdict, (l.run).state, e, c.content_sealed
    FROM results.look(p_profile, p_workflow, p_known, p_now) l
    LEFT JOIN results.result e ON l.verdict = 'live' AND e.profile_id = p_profile AND e.run_id = (l.run).id
        AND e.position = (
            SELECT min(s.position) FROM results.result s
            WHERE s.profile_id = p_profile AND s.run_id = (l.run).id AND s.position > p_after
        )
    LEFT JOIN results.part c ON c.profile_id = p_profile AND c.result_id = e.id AND c.number = 0;
END
$$;

-- Results of several tasks of a run, in the order in which they were put, or without tasks the last one; one row without
-- a result if there is none. Contents are NULL where they have several parts, or where those up to there have more bytes
-- than that as they are written.
CREATE FUNCTION results.several(
    p_profile uuid, p_workflow bytea, p_tasks bytea[], p_bytes_max bigint, p_known interval, p_now timestamptz
) RETURNS TABLE (
    verdict text, id uuid, run_id uuid, task_mac bytea, "position" bigint, attempt integer, status smallint,
    encoding text, size_bytes bigint, parts integer, created_at timestamptz, expires_at timestamptz,
    labels_sealed bytea, content_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT l.verdict, e.id, e.run_id, e.task_mac, e.position, e.attempt, e.status, e.encoding, e.size_bytes,
        e.parts, e.created_at, e.expires_at, e.labels_sealed,
        CASE WHEN e.written <= p_bytes_max THEN e.content_sealed END
    FROM results.look(p_profile, p_workflow, p_known, p_now) l
    LEFT JOIN LATERAL (
        SELECT s.*, sum(
            CASE
                WHEN s.content_sealed IS NULL THEN 0
                WHEN s.encoding = 'base64' THEN (s.size_bytes + 2) / 3 * 4
                ELSE s.size_bytes
            END + octet_length(s.labels_sealed)
        ) OVER (ORDER BY s.position) AS written
        FROM results.result s
        WHERE l.verdict = 'live' AND s.profile_id = p_profile AND s.run_id = (l.run).id
            AND (s.task_mac = ANY (p_tasks) OR (p_tasks IS NULL AND s.position = (l.run).last_position))
    ) e ON true
    ORDER BY e.position;
END
$$;

-- Turns of a run in order, after one, with at most so many bytes before the last of them; one row without a turn if
-- there is none.
CREATE FUNCTION results.turns(
    p_profile uuid, p_workflow bytea, p_after integer, p_limit integer, p_bytes_max bigint, p_known interval,
    p_now timestamptz
) RETURNS TABLE (
    verdict text, number integer, id uuid, created_at timestamptz, body_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT l.verdict, t.number, t.id, t.created_at, t.body_sealed
    FROM results.look(p_profile, p_workflow, p_known, p_now) l
    LEFT JOIN LATERAL (
        SELECT s.number, s.id, s.created_at, s.body_sealed,
               sum(s.size_bytes) OVER (ORDER BY s.number) - s.size_bytes AS before
        FROM (
            SELECT * FROM results.turn o
            WHERE l.verdict = 'live' AND o.profile_id = p_profile AND o.run_id = (l.run).id AND o.number > p_after
            ORDER BY o.number LIMIT p_limit
        ) s
    ) t ON t.before <= p_bytes_max
    ORDER BY t.number;
END
$$;

-- Begin a run, or answer the one that is there.
--
-- Verdicts: 'started', 'same', 'exists' for one that was started otherwise, 'no_parent', or the part of the quota that
-- is exceeded.
CREATE FUNCTION results.start(p_profile uuid, p_run results.run_draft, p_quota results.quota, p_now timestamptz)
RETURNS TABLE (verdict text, run results.run) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head results.head;
    v_now timestamptz;
    v_run results.run;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM results.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;
    v_run := results.live(p_profile, p_run.workflow_mac, v_now);
    verdict := CASE
        WHEN v_run.start_mac = p_run.start_mac THEN 'same'
        WHEN p_run.parent_run_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM results.run r
            WHERE r.profile_id = p_profile AND r.id = p_run.parent_run_id AND r.expires_at > v_now
                AND r.id IS DISTINCT FROM v_run.id
        ) THEN 'no_parent'
        WHEN v_run.id IS NOT NULL AND NOT (v_run.implicit AND v_run.state = 1) THEN 'exists'
    END;
    IF verdict IS NULL AND v_run.id IS NULL THEN
        v_head.runs := v_head.runs + 1;
        verdict := results.exceeded(v_head, p_quota);
    END IF;
    IF verdict IS NOT NULL THEN
        RETURN QUERY SELECT verdict, v_run;
        RETURN;
    END IF;

    IF v_run.id IS NULL THEN
        PERFORM results.give_back(v_head);
        v_run := results.begin_run(p_profile, p_run, v_now);
    ELSE
        UPDATE results.run r SET
            implicit = false, kind = p_run.kind, parent_run_id = p_run.parent_run_id, start_mac = p_run.start_mac,
            version = r.version + 1, body_version = p_run.body_version, body_sealed = p_run.body_sealed
        WHERE r.profile_id = p_profile AND r.id = v_run.id RETURNING r.* INTO v_run;
    END IF;
    RETURN QUERY SELECT 'started', v_run;
END
$$;

-- Append the episode of a run that has just been finished. For calls whose profile's row is taken.
CREATE FUNCTION results.append_episode(p_run results.run, p_episode_sealed bytea) RETURNS void LANGUAGE sql
SET enable_seqscan = off AS $$
    INSERT INTO results.episode (profile_id, run_id, kind, created_at, body_sealed)
    VALUES (p_run.profile_id, p_run.id, p_run.kind, p_run.ended_at, p_episode_sealed)
    ON CONFLICT (profile_id, run_id) DO NOTHING
$$;

-- Finish a run, and append its episode in the same transaction.
--
-- Verdicts: 'finished', 'same' for what was asked before, 'unknown', 'cancelled', 'closed' for one that was finished
-- otherwise, 'not_ready' where the final task has no result, 'moved' if the run's goal has changed meanwhile.
CREATE FUNCTION results.finish(p_profile uuid, p_run uuid, p_finishing results.finishing, p_now timestamptz)
RETURNS TABLE (verdict text, run results.run) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
    v_run results.run;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT t.now INTO v_now FROM results.take(p_profile, p_now) t;
    SELECT * INTO v_run FROM results.run r
    WHERE r.profile_id = p_profile AND r.id = p_run AND r.expires_at > v_now;
    verdict := CASE
        WHEN v_run.id IS NULL THEN 'unknown'
        WHEN v_run.finish_mac = p_finishing.finish_mac THEN 'same'
        WHEN v_run.state = 4 THEN 'cancelled'
        WHEN v_run.state <> 1 THEN 'closed'
        WHEN v_run.body_version <> p_finishing.body_version THEN 'moved'
        WHEN p_finishing.final_mac IS NOT NULL AND NOT EXISTS (
            SELECT FROM results.result e
            WHERE e.profile_id = p_profile AND e.run_id = p_run AND e.task_mac = p_finishing.final_mac
        ) THEN 'not_ready'
    END;
    IF verdict IS NULL THEN
        UPDATE results.run r SET
            state = p_finishing.state, finish_mac = p_finishing.finish_mac, final_mac = p_finishing.final_mac,
            outcome_sealed = p_finishing.outcome_sealed, ended_at = v_now, version = r.version + 1
        WHERE r.profile_id = p_profile AND r.id = p_run RETURNING r.* INTO v_run;
        PERFORM results.append_episode(v_run, p_finishing.episode_sealed);
        verdict := 'finished';
    END IF;
    RETURN QUERY SELECT verdict, v_run;
END
$$;

-- Call a run off. Verdicts: 'ended', 'same' for one that was cancelled before, 'unknown', 'closed'.
CREATE FUNCTION results.cancel(p_profile uuid, p_run uuid, p_now timestamptz)
RETURNS TABLE (verdict text, run results.run) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_now timestamptz;
    v_run results.run;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT t.now INTO v_now FROM results.take(p_profile, p_now) t;
    SELECT * INTO v_run FROM results.run r
    WHERE r.profile_id = p_profile AND r.id = p_run AND r.expires_at > v_now;
    verdict := CASE
        WHEN v_run.id IS NULL THEN 'unknown'
        WHEN v_run.state = 4 THEN 'same'
        WHEN v_run.state <> 1 THEN 'closed'
    END;
    IF verdict IS NULL THEN
        UPDATE results.run r SET state = 4, ended_at = v_now, version = r.version + 1
        WHERE r.profile_id = p_profile AND r.id = p_run RETURNING r.* INTO v_run;
        verdict := 'ended';
    END IF;
    RETURN QUERY SELECT verdict, v_run;
END
$$;

-- A run that has not expired, and how many of its tasks came out how.
CREATE FUNCTION results.status(p_profile uuid, p_run uuid, p_now timestamptz)
RETURNS TABLE (run results.run, succeeded bigint, failed bigint) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    RETURN QUERY SELECT r, count(e.id) FILTER (WHERE e.status = 1), count(e.id) FILTER (WHERE e.status = 2)
    FROM results.run r
    LEFT JOIN results.result e ON e.profile_id = p_profile AND e.run_id = r.id
    WHERE r.profile_id = p_profile AND r.id = p_run AND r.expires_at > p_now
    GROUP BY r.profile_id, r.id;
END
$$;

-- Runs, the newest first, after one if its place is given, without what they came to.
CREATE FUNCTION results.newest(
    p_profile uuid, p_kind smallint, p_state smallint, p_created_at timestamptz, p_id uuid, p_limit integer,
    p_now timestamptz
) RETURNS TABLE (
    id uuid, workflow_mac bytea, implicit boolean, kind smallint, state smallint, parent_run_id uuid,
    created_at timestamptz, ended_at timestamptz, expires_at timestamptz, body_version bigint, body_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    RETURN QUERY SELECT r.id, r.workflow_mac, r.implicit, r.kind, r.state, r.parent_run_id, r.created_at, r.ended_at,
        r.expires_at, r.body_version, r.body_sealed
    FROM results.run r
    WHERE r.profile_id = p_profile AND r.expires_at > p_now
        AND r.kind = coalesce(p_kind, r.kind) AND r.state = coalesce(p_state, r.state)
        AND (r.created_at, r.id) < (
            coalesce(p_created_at, 'infinity'), coalesce(p_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
    ORDER BY r.created_at DESC, r.id DESC
    LIMIT p_limit;
END
$$;

-- Which of those that wait, each by its number from 1, have something to look at: a result of their task or, without a
-- task, one after a position; or a run that goes on no more. It passes over all profiles and tells nothing else.
CREATE FUNCTION results.arrived(
    p_profiles uuid[], p_workflows bytea[], p_tasks bytea[], p_after bigint[], p_now timestamptz
) RETURNS SETOF bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
    SELECT w.at
    FROM unnest(p_profiles, p_workflows, p_tasks, p_after) WITH ORDINALITY
        AS w(profile_id, workflow_mac, task_mac, after, at)
    LEFT JOIN results.run r ON r.profile_id = w.profile_id AND r.workflow_mac = w.workflow_mac AND r.expires_at > p_now
    WHERE r.id IS NULL OR r.state <> 1 OR r.last_position > w.after OR EXISTS (
        SELECT FROM results.result e
        WHERE e.profile_id = w.profile_id AND e.run_id = r.id AND e.task_mac = w.task_mac
    )
$$;

-- Empty runs that have expired, delete what was theirs and what senders left, and forget runs that were known to have
-- expired for long enough; at most so much of each kind. Answers whether there may be more. Profiles whose row somebody
-- holds are passed over.
CREATE FUNCTION results.sweep(p_limit integer, p_known interval, p_now timestamptz) RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH due AS MATERIALIZED (
        SELECT w.ctid AS place, w.profile_id, w.counted, w.results, w.bytes FROM results.run w
        WHERE w.body_sealed IS NOT NULL AND w.expires_at <= p_now ORDER BY w.expires_at LIMIT p_limit
    ), left_behind AS MATERIALIZED (
        SELECT w.ctid AS place, w.profile_id, w.size_bytes FROM results.upload w
        WHERE w.expires_at <= p_now ORDER BY w.expires_at LIMIT p_limit
    ), taken AS MATERIALIZED (
        SELECT h.profile_id FROM results.head h
        WHERE h.profile_id = ANY (ARRAY(SELECT d.profile_id FROM due d UNION SELECT l.profile_id FROM left_behind l))
        FOR UPDATE SKIP LOCKED
    ), emptied AS (
        UPDATE results.run r SET counted = false, body_sealed = NULL, outcome_sealed = NULL
        FROM due d
        WHERE r.ctid = d.place AND d.profile_id = ANY (ARRAY(SELECT t.profile_id FROM taken t))
        RETURNING d.profile_id, d.counted, d.results, d.bytes
    ), uploads AS (
        DELETE FROM results.upload u USING left_behind l
        WHERE u.ctid = l.place AND l.profile_id = ANY (ARRAY(SELECT t.profile_id FROM taken t))
        RETURNING l.profile_id, l.size_bytes
    ), less AS (
        UPDATE results.head h SET
            runs = h.runs - g.runs, results = h.results - g.results, bytes = h.bytes - g.bytes
        FROM (
            SELECT x.profile_id, sum(x.runs) AS runs, sum(x.results) AS results, sum(x.bytes) AS bytes
            FROM (
                SELECT e.profile_id, 1 AS runs, e.results, e.bytes FROM emptied e WHERE e.counted
                UNION ALL
                SELECT u.profile_id, 0, 0, u.size_bytes FROM uploads u
            ) x
            GROUP BY x.profile_id
        ) g
        WHERE h.profile_id = g.profile_id
    ), gone AS (
        DELETE FROM results.result e WHERE e.ctid = ANY (ARRAY(
            SELECT w.ctid FROM results.result w WHERE w.expires_at <= p_now
            ORDER BY w.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    ), parts AS (
        DELETE FROM results.part e WHERE e.ctid = ANY (ARRAY(
            SELECT w.ctid FROM results.part w WHERE w.expires_at <= p_now
            ORDER BY w.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    ), turns AS (
        DELETE FROM results.turn e WHERE e.ctid = ANY (ARRAY(
            SELECT w.ctid FROM results.turn w WHERE w.expires_at <= p_now
            ORDER BY w.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    ), forgotten AS (
        DELETE FROM results.run e WHERE e.ctid = ANY (ARRAY(
            SELECT w.ctid FROM results.run w WHERE w.body_sealed IS NULL AND w.expires_at <= p_now - p_known
            ORDER BY w.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT p_limit <= greatest(
        (SELECT count(*) FROM emptied), (SELECT count(*) FROM uploads), (SELECT count(*) FROM gone),
        (SELECT count(*) FROM parts), (SELECT count(*) FROM turns), (SELECT count(*) FROM forgotten)
    );
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA results FROM PUBLIC;
