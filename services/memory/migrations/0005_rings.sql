-- Memories that change: outcomes move them between rings, their content is revised or superseded, and what was
-- deleted can be brought back for a while.

ALTER TABLE memory.memory
    -- Who set the ring: 1 the curator, 2 the caller, 3 repetition, 4 an outcome. NULL: it stands where it began.
    ADD COLUMN ring_set_by smallint CHECK (ring_set_by BETWEEN 1 AND 4),
    -- NaN is above 1.
    ADD COLUMN ring_confidence real CHECK (ring_confidence >= 0 AND ring_confidence <= 1),
    -- A code such as type:error_pattern or cue:always. Never words of the content.
    ADD COLUMN ring_reason text CHECK (length(ring_reason) BETWEEN 1 AND 64),
    -- What the caller said about it.
    ADD COLUMN ring_note_sealed bytea,
    -- Which version of its content this is. `version` binds what is sealed, and goes up more often.
    ADD COLUMN revision integer NOT NULL DEFAULT 1 CHECK (revision > 0),
    ADD COLUMN revised_at timestamptz,
    ADD COLUMN valid_until timestamptz,
    ADD COLUMN superseded_by uuid,
    ADD CONSTRAINT superseded_as_a_whole CHECK ((valid_until IS NULL) = (superseded_by IS NULL));
ALTER TABLE memory.memory ALTER COLUMN ring_note_sealed SET STORAGE EXTERNAL;

CREATE OR REPLACE VIEW memory.shown WITH (security_invoker = true) AS
SELECT profile_id, id, session_id, position, ring, stage, type, outcome, source, version,
       occurred_at, created_at, updated_at, touched_at, content_mac,
       content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count, access_count,
       secrets_removed, embedding_model, content_sealed, summary_sealed, essence_sealed, labels_sealed,
       metadata_sealed, ring_set_by, ring_confidence, ring_reason, ring_note_sealed, revision, valid_until,
       superseded_by
FROM memory.memory;

CREATE OR REPLACE VIEW memory.outline WITH (security_invoker = true) AS
SELECT profile_id, id, session_id, position, ring, stage, type, outcome, source, version,
       occurred_at, created_at, updated_at, touched_at,
       content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count, access_count,
       secrets_removed, embedding_model,
       CASE WHEN summary_sealed IS NULL THEN content_sealed END AS content_sealed,
       summary_sealed, essence_sealed, labels_sealed, metadata_sealed, ring_set_by, ring_confidence, ring_reason,
       ring_note_sealed, revision, valid_until, superseded_by
FROM memory.memory;

-- What a memory said before it was revised, sealed as it was: bound to the memory's `version` of then.
CREATE TABLE memory.version (
    profile_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    revision integer NOT NULL CHECK (revision > 0),
    version integer NOT NULL CHECK (version > 0),
    created_at timestamptz NOT NULL,
    content_tokens integer NOT NULL CHECK (content_tokens >= 0),
    content_sealed bytea,
    summary_sealed bytea,
    essence_sealed bytea,
    PRIMARY KEY (profile_id, memory_id, revision),
    CHECK (num_nonnulls(content_sealed, summary_sealed, essence_sealed) > 0)
);

-- Deleted memories that can still be brought back. They stand apart, so that no read can meet them.
-- Who adds a column without a default to memory.memory fills it in `body` too.
CREATE TABLE memory.deleted (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    purge_at timestamptz NOT NULL,
    body jsonb NOT NULL,
    terms bigint[] NOT NULL,
    tfs smallint[] NOT NULL,
    tags bytea[] NOT NULL,
    aliases bytea[] NOT NULL,
    PRIMARY KEY (profile_id, id)
);
CREATE INDEX deleted_due ON memory.deleted (purge_at);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['version', 'deleted'] LOOP
        EXECUTE format('ALTER TABLE memory.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE memory.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            $policy$CREATE POLICY own_profile ON memory.%I
                USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
                WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)$policy$,
            name
        );
    END LOOP;
END
$$;
-- The chore that purges runs as the owner, who alone sees these whole.
CREATE POLICY chores ON memory.deleted TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY chores ON memory.version TO CURRENT_USER USING (true) WITH CHECK (true);

-- Outcomes and repetition move a memory, whatever records them, in the statement that records them.
CREATE FUNCTION memory.settle_ring() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- LONG_TERM takes a mean of 0.7 and more, as its constraint says.
    v_earned CONSTANT boolean := 10 * (NEW.successes + 1) >= 7 * (NEW.successes + NEW.failures + 2);
    -- It keeps failing: a mean below 0.3, from where on memories also decay faster, out of at least 3 failures,
    -- since one or two may be chance.
    v_fails CONSTANT boolean :=
        NEW.failures >= 3 AND 10 * (NEW.successes + 1) < 3 * (NEW.successes + NEW.failures + 2);
    -- Seen at least 3 times in all: from there on a memory counts as a pattern, here as for the collective.
    v_repeated CONSTANT boolean := NEW.reinforcement_count >= 2;
BEGIN
    IF NEW.ring = 4 AND NOT v_earned THEN
        NEW.ring := 3;
    ELSIF NEW.ring = 3 AND v_fails THEN
        NEW.ring := 1;
    ELSIF NEW.ring = 1 AND NEW.reinforcement_count > OLD.reinforcement_count AND v_repeated AND NOT v_fails
        AND NEW.ring_set_by IS DISTINCT FROM 2
    THEN
        NEW.ring := 3;
    END IF;
    IF NEW.ring <> OLD.ring THEN
        NEW.ring_set_by := CASE WHEN NEW.ring > OLD.ring THEN 3 ELSE 4 END;
        NEW.ring_reason := CASE
            WHEN NEW.ring > OLD.ring THEN 'repetition'
            WHEN NEW.ring = 3 THEN 'outcome:unearned'
            ELSE 'outcome:failing' END;
        NEW.ring_confidence := NULL;
        NEW.ring_note_sealed := NULL;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER settle_ring BEFORE UPDATE OF successes, failures, reinforcement_count ON memory.memory
    FOR EACH ROW EXECUTE FUNCTION memory.settle_ring();

-- A shock leaves its ring only in a statement that also says why: no other path can do it by accident.
CREATE FUNCTION memory.guard_shock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a shock leaves its ring only with a note' USING ERRCODE = 'check_violation';
END
$$;
CREATE TRIGGER guard_shock BEFORE UPDATE ON memory.memory FOR EACH ROW
    WHEN (OLD.ring = 5 AND NEW.ring <> 5 AND (
        NEW.ring_note_sealed IS NULL OR NEW.ring_note_sealed IS NOT DISTINCT FROM OLD.ring_note_sealed))
    EXECUTE FUNCTION memory.guard_shock();

-- Record that a memory helped (1), failed (2) or was used without a verdict (3): 'kept' and the memory as it is
-- now, or the verdict that refuses. A failure does not strengthen, so it is not counted as a reinforcement.
CREATE FUNCTION memory.reinforce(
    p_profile uuid, p_id uuid, p_outcome smallint, p_key_mac bytea, p_request_mac bytea,
    p_now timestamptz, p_keys_expire_at timestamptz
) RETURNS TABLE (verdict text, shown memory.shown) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_memory memory.memory;
    v_request bytea;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_memory FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'memory_not_found', NULL::memory.shown;
        RETURN;
    END IF;
    IF p_key_mac IS NOT NULL THEN
        INSERT INTO memory.idempotency AS k (profile_id, key_mac, request_mac, session_id, content_mac, expires_at)
        VALUES (p_profile, p_key_mac, p_request_mac, v_memory.session_id, v_memory.content_mac, p_keys_expire_at)
        ON CONFLICT (profile_id, key_mac) DO UPDATE SET
            request_mac = EXCLUDED.request_mac, session_id = EXCLUDED.session_id,
            content_mac = EXCLUDED.content_mac, reinforced = false, expires_at = EXCLUDED.expires_at
        WHERE k.expires_at <= p_now;
        IF NOT FOUND THEN
            SELECT k.request_mac INTO v_request FROM memory.idempotency k
            WHERE k.profile_id = p_profile AND k.key_mac = p_key_mac;
            RETURN QUERY SELECT CASE WHEN v_request = p_request_mac THEN 'kept' ELSE 'key_reused' END, s
            FROM memory.shown s WHERE s.profile_id = p_profile AND s.id = p_id;
            RETURN;
        END IF;
    END IF;
    UPDATE memory.memory m SET
        reinforcement_count = m.reinforcement_count + (p_outcome <> 2)::integer,
        successes = m.successes + (p_outcome = 1)::integer,
        failures = m.failures + (p_outcome = 2)::integer,
        updated_at = greatest(m.updated_at, p_now),
        touched_at = greatest(m.touched_at, p_now)
    WHERE m.profile_id = p_profile AND m.id = p_id;
    RETURN QUERY SELECT 'kept', s FROM memory.shown s WHERE s.profile_id = p_profile AND s.id = p_id;
END
$$;

-- Set a memory's ring because the caller says so: 'kept', or the verdict that refuses.
CREATE FUNCTION memory.promote(
    p_profile uuid, p_id uuid, p_ring smallint, p_note_sealed bytea, p_demote_shock boolean, p_now timestamptz
) RETURNS TABLE (verdict text, shown memory.shown) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_memory memory.memory;
    v_verdict text := 'kept';
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_memory FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id FOR UPDATE;
    IF NOT FOUND THEN
        v_verdict := 'memory_not_found';
    ELSIF v_memory.superseded_by IS NOT NULL THEN
        v_verdict := 'superseded';
    ELSIF p_ring = 4 AND 10 * (v_memory.successes + 1) < 7 * (v_memory.successes + v_memory.failures + 2) THEN
        v_verdict := 'not_earned';
    ELSIF v_memory.ring = 5 AND p_ring <> 5 AND (p_note_sealed IS NULL OR NOT p_demote_shock) THEN
        v_verdict := 'shock_stays';
    ELSE
        UPDATE memory.memory m SET
            ring = p_ring, ring_set_by = 2, ring_confidence = NULL, ring_reason = 'caller',
            ring_note_sealed = p_note_sealed, updated_at = greatest(m.updated_at, p_now)
        WHERE m.profile_id = p_profile AND m.id = p_id;
    END IF;
    RETURN QUERY SELECT v_verdict, s
    FROM (SELECT) one LEFT JOIN memory.shown s ON s.profile_id = p_profile AND s.id = p_id;
END
$$;
