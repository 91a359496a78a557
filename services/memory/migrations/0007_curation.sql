-- Which ring a memory belongs to is decided right after it was kept, beside the calls.

-- Memories that the curator has to look at. `turn` goes up whenever one is taken and whenever something was
-- recorded for it: a verdict counts only with the number it was taken with.
CREATE TABLE memory.uncurated (
    profile_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    turn integer NOT NULL DEFAULT 0 CHECK (turn >= 0),
    next_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, memory_id),
    FOREIGN KEY (profile_id, memory_id) REFERENCES memory.memory ON DELETE CASCADE
) WITH (fillfactor = 70);
CREATE INDEX uncurated_next ON memory.uncurated (next_at);
ALTER TABLE memory.uncurated ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory.uncurated FORCE ROW LEVEL SECURITY;
CREATE POLICY own_profile ON memory.uncurated
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
-- The chore passes over all profiles, in a function of the owner.
CREATE POLICY chores ON memory.uncurated TO CURRENT_USER USING (true) WITH CHECK (true);

-- What was kept before is looked at like what comes.
INSERT INTO memory.uncurated (profile_id, memory_id, next_at)
SELECT m.profile_id, m.id, m.updated_at FROM memory.memory m WHERE m.ring = 1 AND m.ring_set_by IS NULL;

-- Whatever brings a fresh memory in has it looked at.
CREATE FUNCTION memory.await_curation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory.uncurated AS u (profile_id, memory_id, next_at)
    SELECT k.profile_id, k.id, k.updated_at FROM kept k WHERE k.ring = 1
    ON CONFLICT (profile_id, memory_id) DO UPDATE SET turn = u.turn + 1, next_at = EXCLUDED.next_at;
    RETURN NULL;
END
$$;
CREATE TRIGGER await_curation AFTER INSERT ON memory.memory
    REFERENCING NEW TABLE AS kept FOR EACH STATEMENT EXECUTE FUNCTION memory.await_curation();

-- An outcome that was recorded may be what was missing; and other words may say something else.
CREATE FUNCTION memory.await_curation_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory.uncurated AS u (profile_id, memory_id, next_at)
    VALUES (NEW.profile_id, NEW.id, NEW.updated_at)
    ON CONFLICT (profile_id, memory_id) DO UPDATE SET turn = u.turn + 1, next_at = EXCLUDED.next_at;
    RETURN NULL;
END
$$;
CREATE TRIGGER await_curation_again AFTER UPDATE OF successes, failures, revision ON memory.memory FOR EACH ROW
    WHEN (NEW.ring = 1 AND NEW.ring_set_by IS DISTINCT FROM 2
        AND (NEW.successes, NEW.failures, NEW.revision) IS DISTINCT FROM (OLD.successes, OLD.failures, OLD.revision))
    EXECUTE FUNCTION memory.await_curation_again();

-- Take some memories of any profile to look at. Each comes again later if no verdict arrives, later each time.
CREATE FUNCTION memory.claim_uncurated(p_limit integer, p_now timestamptz, p_wait interval, p_wait_max interval)
RETURNS TABLE (profile_id uuid, memory_id uuid, turn integer)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE memory.uncurated u SET
        turn = u.turn + 1,
        next_at = p_now + least(p_wait * power(2, least(u.turn, 20)), p_wait_max) * (0.5 + random())
    WHERE u.ctid = ANY (ARRAY(
        SELECT w.ctid FROM memory.uncurated w WHERE w.next_at <= p_now
        ORDER BY w.next_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ))
    RETURNING u.profile_id, u.memory_id, u.turn;
$$;

-- What the curator says of a memory, and the turn in which it looked at it.
CREATE TYPE memory.verdict AS (id uuid, turn integer, ring smallint, confidence real, reason text);

-- Keep verdicts: each for a memory that holds and is still FRESH because nobody or the curator left it there. Answers
-- the ids of those that were kept. A verdict that came too late is dropped; another look is under way.
--
-- The memory is locked before its place in the queue, as in whatever records an outcome.
CREATE FUNCTION memory.curate(p_profile uuid, p_verdicts memory.verdict[], p_now timestamptz)
RETURNS SETOF uuid LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_ids CONSTANT uuid[] := ARRAY(SELECT v.id FROM unnest(p_verdicts) v);
    v_mine uuid[];
BEGIN
    -- What a crash undoes is looked at once more.
    PERFORM set_config('app.profile_id', p_profile::text, true), set_config('synchronous_commit', 'off', true);
    PERFORM FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = ANY (v_ids) ORDER BY m.id FOR UPDATE;
    WITH mine AS (
        DELETE FROM memory.uncurated u
        WHERE u.profile_id = p_profile AND u.memory_id = ANY (v_ids)
            AND u.turn = (SELECT v.turn FROM unnest(p_verdicts) v WHERE v.id = u.memory_id)
        RETURNING u.memory_id
    )
    SELECT coalesce(array_agg(mine.memory_id), '{}') INTO v_mine FROM mine;
    RETURN QUERY UPDATE memory.memory m SET
        (ring, ring_set_by, ring_confidence, ring_reason, updated_at) = (
            SELECT v.ring, 1::smallint, v.confidence, v.reason,
                CASE WHEN v.ring = m.ring THEN m.updated_at ELSE greatest(m.updated_at, p_now) END
            FROM unnest(p_verdicts) v WHERE v.id = m.id
        )
    WHERE m.profile_id = p_profile AND m.id = ANY (v_mine)
        AND m.ring = 1 AND coalesce(m.ring_set_by, 1) = 1 AND m.superseded_by IS NULL
        AND ((SELECT v.ring FROM unnest(p_verdicts) v WHERE v.id = m.id) <> 4
            -- As the constraint has it: what a verdict took for earned may not be so any more.
            OR 10 * (m.successes + 1) >= 7 * (m.successes + m.failures + 2))
    RETURNING m.id;
END
$$;

-- A session is ended first and reported then, so that nothing is held while the report is written. Until it is
-- there the session is not reported: whoever ends it again, or the chore, writes it.
ALTER TABLE memory.session
    ADD COLUMN reported boolean NOT NULL DEFAULT false,
    -- When the chore last took it.
    ADD COLUMN swept_at timestamptz;
CREATE POLICY chores ON memory.session TO CURRENT_USER USING (true) WITH CHECK (true);
UPDATE memory.session SET reported = true WHERE state = 2;
-- By a time that never changes, so that observing stays cheap.
CREATE INDEX session_unreported ON memory.session (started_at) WHERE NOT reported;

ALTER TABLE memory.z_report
    -- The memory that it was promoted to. It may be deleted and come back, so nothing holds it there.
    ADD COLUMN memory_id uuid;
CREATE INDEX z_report_promoted ON memory.z_report (profile_id, memory_id) WHERE memory_id IS NOT NULL;
CREATE POLICY chores ON memory.z_report TO CURRENT_USER USING (true) WITH CHECK (true);

-- Once a memory is gone for good, its report does not name it any more.
CREATE FUNCTION memory.forget_promotion() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM memory.memory m WHERE m.profile_id = OLD.profile_id AND m.id = OLD.id)
        AND NOT EXISTS (SELECT FROM memory.deleted d WHERE d.profile_id = OLD.profile_id AND d.id = OLD.id)
    THEN
        UPDATE memory.z_report r SET memory_id = NULL WHERE r.profile_id = OLD.profile_id AND r.memory_id = OLD.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER forget_promotion AFTER DELETE ON memory.memory
    FOR EACH ROW EXECUTE FUNCTION memory.forget_promotion();
CREATE TRIGGER forget_promotion AFTER DELETE ON memory.deleted
    FOR EACH ROW EXECUTE FUNCTION memory.forget_promotion();

-- Reports as they are read: what is not there they do not lead to.
CREATE VIEW memory.reported WITH (security_invoker = true) AS
SELECT r.profile_id, r.session_id, r.created_at, r.body_sealed,
       (SELECT m.id FROM memory.memory m WHERE m.profile_id = r.profile_id AND m.id = r.memory_id) AS memory_id
FROM memory.z_report r;

-- Keep the report of an ended session, unless it has one; and with it the memory that it is promoted to, if there is
-- one and the profile may hold one more. Answers whether it was kept.
CREATE FUNCTION memory.keep_report(
    p_profile uuid, p_session uuid, p_body_sealed bytea, p_successes integer, p_failures integer,
    p_item memory.item, p_model text, p_preferred_model text, p_memories_max bigint, p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_position integer;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT s.last_position + 1 INTO v_position FROM memory.session s
    WHERE s.profile_id = p_profile AND s.id = p_session AND s.state = 2 FOR UPDATE;
    INSERT INTO memory.z_report (profile_id, session_id, created_at, body_sealed)
    SELECT p_profile, p_session, p_now, p_body_sealed WHERE v_position IS NOT NULL
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE memory.session s SET reported = true WHERE s.profile_id = p_profile AND s.id = p_session;
    IF p_item.id IS NULL OR NOT memory.takes_another(p_profile, p_memories_max) THEN
        RETURN true;
    END IF;
    -- LONG_TERM by the session's own outcomes, as the constraint asks. An observation of just these words stays.
    INSERT INTO memory.memory (
        profile_id, id, session_id, position, ring, ring_set_by, ring_reason, type, outcome, source,
        occurred_at, created_at, updated_at, touched_at, content_mac, length, asks,
        content_tokens, summary_tokens, essence_tokens, successes, failures, secrets_removed,
        embedding_model, embedding, content_sealed, summary_sealed, essence_sealed, workspace_id
    ) VALUES (
        p_profile, p_item.id, p_session, v_position, 4, 4, 'z_report', p_item.type, p_item.outcome, 0,
        p_now, p_now, p_now, p_now, p_item.content_mac, p_item.length, p_item.asks,
        p_item.content_tokens, p_item.summary_tokens, p_item.essence_tokens, p_successes, p_failures,
        p_item.secrets_removed, CASE WHEN p_item.embedding IS NOT NULL THEN p_model END, p_item.embedding,
        p_item.content_sealed, p_item.summary_sealed, p_item.essence_sealed,
        -- It ages as what it tells of does, also where the chore writes it, which has no caller.
        coalesce((
            SELECT m.workspace_id FROM memory.memory m
            WHERE m.profile_id = p_profile AND m.session_id = p_session ORDER BY m.position DESC LIMIT 1
        ), '00000000-0000-0000-0000-000000000000')
    ) ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM memory.lay_terms(p_profile, p_item.id, p_item, p_model, p_preferred_model, p_now);
        UPDATE memory.z_report r SET memory_id = p_item.id
        WHERE r.profile_id = p_profile AND r.session_id = p_session;
        UPDATE memory.session s SET last_position = v_position, observation_count = s.observation_count + 1
        WHERE s.profile_id = p_profile AND s.id = p_session;
    END IF;
    RETURN true;
END
$$;

-- Take some sessions of any profile that nobody uses any more, or whose report was never written. Each comes again
-- after a while if that fails.
CREATE FUNCTION memory.claim_idle(p_limit integer, p_idle_before timestamptz, p_now timestamptz, p_wait interval)
RETURNS TABLE (profile_id uuid, session_id uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE memory.session s SET swept_at = p_now
    WHERE s.ctid = ANY (ARRAY(
        SELECT w.ctid FROM memory.session w
        WHERE NOT w.reported
            AND CASE WHEN w.state = 1 THEN w.active_at <= p_idle_before ELSE w.ended_at <= p_now - p_wait END
            AND (w.swept_at IS NULL OR w.swept_at <= p_now - p_wait)
        ORDER BY w.started_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ))
    RETURNING s.profile_id, s.id;
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
