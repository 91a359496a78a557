-- Which ring a memory belongs to is decided right after it was kept, beside the calls.

-- Memories that the curator has to look at. `turn` goes up whenever one is taken and whenever something was
-- recorded for it: a verdict counts only with the number it was taken with.
CREATE TABLE memory.uncurated (
    profile_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    turn integer NOT NULL DEFAULT 0 CHECK (turn >= 0),
    next_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, memory_id)
) WITH (fillfactor = 70);
CREATE INDEX uncurated_next ON memory.uncurated (next_at);
ALTER TABLE memory.uncurated ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory.uncurated FORCE ROW LEVEL SECURITY;
CREATE POLICY own_profile ON memory.uncurated
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
-- The chore passes over all profiles, in a function of the owner.
CREATE POLICY chores ON memory.uncurated TO CURRENT_USER USING (true) WITH CHECK (true);

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

-- An outcome that was recorded may be what was missing.
CREATE FUNCTION memory.await_curation_again() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO memory.uncurated AS u (profile_id, memory_id, next_at)
    VALUES (NEW.profile_id, NEW.id, NEW.updated_at)
    ON CONFLICT (profile_id, memory_id) DO UPDATE SET turn = u.turn + 1, next_at = EXCLUDED.next_at;
    RETURN NULL;
END
$$;
CREATE TRIGGER await_curation_again AFTER UPDATE OF successes, failures ON memory.memory FOR EACH ROW
    WHEN (NEW.ring = 1 AND NEW.ring_set_by IS DISTINCT FROM 2
        AND (NEW.successes > OLD.successes OR NEW.failures > OLD.failures))
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

-- Keep verdicts: each for a memory that is still FRESH because nobody or the curator left it there. Answers the
-- ids of those that were kept. A verdict that came too late is dropped; another look is under way.
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
        AND m.ring = 1 AND coalesce(m.ring_set_by, 1) = 1
        AND ((SELECT v.ring FROM unnest(p_verdicts) v WHERE v.id = m.id) <> 4
            -- As the constraint has it: what a verdict took for earned may not be so any more.
            OR 10 * (m.successes + 1) >= 7 * (m.successes + m.failures + 2))
    RETURNING m.id;
END
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
