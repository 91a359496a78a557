-- The journal is searched by words. Terms are keyed hashes of stems that only the profile's own key can make.

ALTER TABLE results.episode
    -- Its terms, with repetition.
    ADD COLUMN length integer NOT NULL DEFAULT 1 CHECK (length > 0);
-- What a search has to know of all episodes, without reading their rows.
CREATE INDEX episode_counts ON results.episode (profile_id, kind) INCLUDE (length);

-- Which episode has which term how often. Kind and length stand here, too, so that a search ranks without a look at the
-- episodes.
CREATE TABLE results.episode_posting (
    profile_id uuid NOT NULL,
    term bigint NOT NULL,
    run_id uuid NOT NULL,
    tf smallint NOT NULL CHECK (tf > 0),
    length integer NOT NULL CHECK (length > 0),
    kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 5),
    PRIMARY KEY (profile_id, term, run_id) INCLUDE (tf, length, kind)
);

ALTER TABLE results.episode_posting ENABLE ROW LEVEL SECURITY;
ALTER TABLE results.episode_posting FORCE ROW LEVEL SECURITY;
CREATE POLICY chores ON results.episode_posting TO CURRENT_USER USING (true) WITH CHECK (true);
-- As of episodes: read, added, and removed only when the profile has no keys any more.
CREATE POLICY own_profile ON results.episode_posting FOR SELECT
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
CREATE POLICY appended ON results.episode_posting FOR INSERT
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
CREATE POLICY erased ON results.episode_posting FOR DELETE USING (
    profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid
    AND NOT EXISTS (SELECT FROM results.data_key k WHERE k.profile_id = episode_posting.profile_id)
);

-- What the episode is found by. A term of `terms` comes as often as its number in `tfs` says.
ALTER TYPE results.finishing ADD ATTRIBUTE terms bigint[];
ALTER TYPE results.finishing ADD ATTRIBUTE tfs smallint[];
ALTER TYPE results.finishing ADD ATTRIBUTE length integer;

DROP FUNCTION results.append_episode(results.run, bytea);

-- Append the episode of a run that has just been finished. For calls whose profile's row is taken.
CREATE FUNCTION results.append_episode(p_run results.run, p_finishing results.finishing) RETURNS void LANGUAGE sql
SET enable_seqscan = off AS $$
    WITH appended AS (
        INSERT INTO results.episode (profile_id, run_id, kind, created_at, body_sealed, length)
        VALUES (p_run.profile_id, p_run.id, p_run.kind, p_run.ended_at, p_finishing.episode_sealed, p_finishing.length)
        ON CONFLICT (profile_id, run_id) DO NOTHING
        RETURNING profile_id, run_id, kind, length
    )
    INSERT INTO results.episode_posting (profile_id, term, run_id, tf, length, kind)
    SELECT a.profile_id, t.term, a.run_id, t.tf, a.length, a.kind
    FROM appended a, unnest(p_finishing.terms, p_finishing.tfs) t (term, tf)
$$;

-- Finish a run, and append its episode in the same transaction.
--
-- Verdicts: 'finished', 'same' for what was asked before, 'unknown', 'cancelled', 'closed' for one that was finished
-- otherwise, 'not_ready' where the final task has no result, 'moved' if the run's goal has changed meanwhile.
CREATE OR REPLACE FUNCTION results.finish(
    p_profile uuid, p_run uuid, p_finishing results.finishing, p_now timestamptz
) RETURNS TABLE (verdict text, run results.run) LANGUAGE plpgsql SET enable_seqscan = off AS $$
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
        PERFORM results.append_episode(v_run, p_finishing);
        verdict := 'finished';
    END IF;
    RETURN QUERY SELECT verdict, v_run;
END
$$;

-- Episodes of some kinds that have at least one of at most 64 different terms. p_order: 1 missions first and then by
-- relevance, 2 the newest first, 3 the oldest first.
--
-- Relevance is BM25 with the usual k1 1.2 and b 0.75: Robertson and Zaragoza, "The Probabilistic Relevance Framework:
-- BM25 and Beyond" (2009).
CREATE FUNCTION results.search_episodes(
    p_profile uuid, p_terms bigint[], p_kinds smallint[], p_order smallint, p_limit integer
) RETURNS TABLE (
    run_id uuid, kind smallint, created_at timestamptz, body_sealed bytea, score double precision
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    RETURN QUERY
    WITH usual AS MATERIALIZED (
        SELECT count(*) AS episodes, avg(e.length)::float8 AS length
        FROM results.episode e WHERE e.profile_id = p_profile AND e.kind = ANY (p_kinds)
    ), occurrence AS MATERIALIZED (
        SELECT p.term, p.run_id, p.tf, p.length
        FROM results.episode_posting p
        WHERE p.profile_id = p_profile AND p.term = ANY (p_terms) AND p.kind = ANY (p_kinds)
    ), weight AS MATERIALIZED (
        SELECT o.term, ln(1 + (u.episodes - count(*) + 0.5::float8) / (count(*) + 0.5::float8)) AS idf
        FROM occurrence o, usual u GROUP BY o.term, u.episodes
    ), ranked AS (
        SELECT o.run_id, sum(w.idf * o.tf * 2.2 / (o.tf + 1.2 * (0.25 + 0.75 * o.length / u.length))) AS score
        FROM occurrence o JOIN weight w ON w.term = o.term CROSS JOIN usual u
        GROUP BY o.run_id
    )
    SELECT e.run_id, e.kind, e.created_at, e.body_sealed, t.score
    FROM (
        SELECT r.run_id, r.score, n.position, p_order = 1 AND n.kind <> 1 AS after
        FROM ranked r
        CROSS JOIN LATERAL (
            SELECT e.position, e.kind FROM results.episode e
            WHERE e.profile_id = p_profile AND e.run_id = r.run_id OFFSET 0
        ) n
        ORDER BY
            4,
            CASE p_order WHEN 1 THEN -r.score END,
            CASE p_order WHEN 3 THEN n.position END,
            n.position DESC
        LIMIT p_limit
    ) t
    JOIN results.episode e ON e.profile_id = p_profile AND e.run_id = t.run_id
    ORDER BY
        t.after,
        CASE p_order WHEN 1 THEN -t.score END,
        CASE p_order WHEN 3 THEN t.position END,
        t.position DESC;
END
$$;

-- One episode.
CREATE FUNCTION results.episode_of(p_profile uuid, p_run uuid) RETURNS TABLE (
    run_id uuid, kind smallint, created_at timestamptz, body_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    RETURN QUERY SELECT e.run_id, e.kind, e.created_at, e.body_sealed
    FROM results.episode e WHERE e.profile_id = p_profile AND e.run_id = p_run;
END
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA results FROM PUBLIC;
