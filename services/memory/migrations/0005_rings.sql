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
    -- Of its reinforcements, those that were no observations.
    ADD COLUMN helped_count integer NOT NULL DEFAULT 0 CHECK (helped_count BETWEEN 0 AND reinforcement_count),
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
    IF OLD.ring = 4 AND NOT v_earned THEN
        NEW.ring := 3;
    ELSIF OLD.ring = 3 AND v_fails THEN
        NEW.ring := 1;
    ELSIF OLD.ring = 1 AND NEW.reinforcement_count > OLD.reinforcement_count AND v_repeated AND NOT v_fails
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
        helped_count = m.helped_count + (p_outcome <> 2)::integer,
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

-- Versions go when their memory is gone for good: neither kept nor among those that can be brought back.
CREATE FUNCTION memory.forget_history() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM memory.memory m WHERE m.profile_id = OLD.profile_id AND m.id = OLD.id)
        AND NOT EXISTS (SELECT FROM memory.deleted d WHERE d.profile_id = OLD.profile_id AND d.id = OLD.id)
    THEN
        DELETE FROM memory.version v WHERE v.profile_id = OLD.profile_id AND v.memory_id = OLD.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER forget_history AFTER DELETE ON memory.memory
    FOR EACH ROW EXECUTE FUNCTION memory.forget_history();
CREATE TRIGGER forget_history AFTER DELETE ON memory.deleted
    FOR EACH ROW EXECUTE FUNCTION memory.forget_history();

DROP FUNCTION memory.forget(uuid, uuid);
-- Take a memory out of every read, with everything that could find it. Until `p_purge_at` it can be brought back;
-- NULL: it is gone. Answers whether there was one.
CREATE FUNCTION memory.forget(p_profile uuid, p_id uuid, p_purge_at timestamptz) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_session uuid;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    -- The session first, as in observe.
    SELECT m.session_id INTO v_session FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM FROM memory.session s WHERE s.profile_id = p_profile AND s.id = v_session FOR UPDATE;
    IF p_purge_at IS NOT NULL THEN
        INSERT INTO memory.deleted (profile_id, id, session_id, purge_at, body, terms, tfs, tags, aliases)
        SELECT p_profile, p_id, m.session_id, p_purge_at, to_jsonb(m),
            ARRAY(SELECT t.term FROM memory.posting t
                WHERE t.profile_id = p_profile AND t.memory_id = p_id ORDER BY t.term),
            ARRAY(SELECT t.tf FROM memory.posting t
                WHERE t.profile_id = p_profile AND t.memory_id = p_id ORDER BY t.term),
            ARRAY(SELECT t.mac FROM memory.tag t WHERE t.profile_id = p_profile AND t.memory_id = p_id),
            ARRAY(SELECT t.mac FROM memory.alias t WHERE t.profile_id = p_profile AND t.memory_id = p_id)
        FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id FOR UPDATE;
    END IF;
    DELETE FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    UPDATE memory.session s SET observation_count = s.observation_count - 1
    WHERE s.profile_id = p_profile AND s.id = v_session;
    RETURN true;
END
$$;

-- Whether a profile may keep one memory more. Holds its count until the commit, so that two do not take one place.
CREATE FUNCTION memory.takes_another(p_profile uuid, p_memories_max bigint) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_memories bigint;
BEGIN
    SELECT u.memories INTO v_memories FROM memory.usage u WHERE u.profile_id = p_profile FOR UPDATE;
    RETURN coalesce(v_memories, 0) < p_memories_max;
END
$$;

-- Bring back what was deleted: 'kept' and the memory as it was, or the verdict that refuses. What was never
-- deleted is answered as it is.
CREATE FUNCTION memory.restore(p_profile uuid, p_id uuid, p_memories_max bigint, p_now timestamptz)
RETURNS TABLE (verdict text, shown memory.shown) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_session uuid;
    v_deleted memory.deleted;
    v_memory memory.memory;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT d.session_id INTO v_session FROM memory.deleted d WHERE d.profile_id = p_profile AND d.id = p_id;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'kept', s FROM memory.shown s WHERE s.profile_id = p_profile AND s.id = p_id;
        RETURN;
    END IF;
    PERFORM FROM memory.session s WHERE s.profile_id = p_profile AND s.id = v_session FOR UPDATE;
    SELECT * INTO v_deleted FROM memory.deleted d
    WHERE d.profile_id = p_profile AND d.id = p_id AND d.purge_at > p_now FOR UPDATE;
    IF FOUND THEN
        v_memory := jsonb_populate_record(NULL::memory.memory, v_deleted.body);
        IF EXISTS (
            SELECT FROM memory.memory m WHERE m.profile_id = p_profile
                AND m.content_mac = v_memory.content_mac AND m.session_id = v_memory.session_id
        ) THEN
            RETURN QUERY SELECT 'content_kept', s FROM memory.shown s WHERE s.profile_id = p_profile
                AND s.content_mac = v_memory.content_mac AND s.session_id = v_memory.session_id;
            RETURN;
        END IF;
        IF NOT memory.takes_another(p_profile, p_memories_max) THEN
            RETURN QUERY SELECT 'quota_exceeded', NULL::memory.shown;
            RETURN;
        END IF;
        INSERT INTO memory.memory SELECT v_memory.*;
        INSERT INTO memory.posting (profile_id, term, memory_id, tf, length)
        SELECT p_profile, t.term, p_id, t.tf, v_memory.length
        FROM unnest(v_deleted.terms, v_deleted.tfs) t (term, tf);
        INSERT INTO memory.tag (profile_id, mac, memory_id)
        SELECT p_profile, t.mac, p_id FROM unnest(v_deleted.tags) t (mac);
        INSERT INTO memory.alias (profile_id, mac, memory_id)
        SELECT p_profile, t.mac, p_id FROM unnest(v_deleted.aliases) t (mac);
        IF v_memory.embedding IS NULL THEN
            INSERT INTO memory.pending (profile_id, memory_id, next_at) VALUES (p_profile, p_id, p_now);
        END IF;
        UPDATE memory.session s SET observation_count = s.observation_count + 1
        WHERE s.profile_id = p_profile AND s.id = v_session;
        -- Last, so that its versions stay.
        DELETE FROM memory.deleted d WHERE d.profile_id = p_profile AND d.id = p_id;
    END IF;
    RETURN QUERY SELECT 'kept', s FROM memory.shown s WHERE s.profile_id = p_profile AND s.id = p_id;
END
$$;

-- Delete for good what can no longer be brought back, of any profile. Answers how many.
CREATE FUNCTION memory.purge_deleted(p_limit integer, p_now timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM memory.deleted d WHERE d.ctid = ANY (ARRAY(
            SELECT w.ctid FROM memory.deleted w WHERE w.purge_at <= p_now
            ORDER BY w.purge_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone;
$$;

-- Lay what finds a memory by its words and, where it is not embedded as it should be, have it embedded.
CREATE FUNCTION memory.lay_terms(
    p_profile uuid, p_id uuid, p_item memory.item, p_model text, p_preferred_model text, p_now timestamptz
) RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM memory.posting t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    INSERT INTO memory.posting (profile_id, term, memory_id, tf, length)
    SELECT p_profile, t.term, p_id, t.tf, p_item.length FROM unnest(p_item.terms, p_item.tfs) t (term, tf);
    IF p_item.embedding IS NULL OR p_model IS DISTINCT FROM p_preferred_model THEN
        INSERT INTO memory.pending (profile_id, memory_id, next_at) VALUES (p_profile, p_id, p_now)
        ON CONFLICT (profile_id, memory_id) DO UPDATE SET attempts = 0, next_at = EXCLUDED.next_at;
    ELSE
        DELETE FROM memory.pending t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    END IF;
END
$$;

-- Give a memory new content, if it is still at `p_version`; what it said is kept as a version. 'kept', or the
-- verdict that refuses.
CREATE FUNCTION memory.revise(
    p_profile uuid, p_id uuid, p_version integer, p_item memory.item, p_model text, p_preferred_model text,
    p_versions_max integer, p_now timestamptz
) RETURNS TABLE (verdict text, shown memory.shown) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_session uuid;
    v_memory memory.memory;
    v_verdict text := 'kept';
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    -- The session first, as in observe.
    SELECT m.session_id INTO v_session FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id;
    PERFORM FROM memory.session s WHERE s.profile_id = p_profile AND s.id = v_session FOR UPDATE;
    SELECT * INTO v_memory FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id FOR UPDATE;
    IF NOT FOUND OR v_session IS NULL THEN
        v_verdict := 'memory_not_found';
    ELSIF v_memory.superseded_by IS NOT NULL THEN
        v_verdict := 'superseded';
    ELSIF v_memory.version <> p_version THEN
        v_verdict := 'changed';
    ELSIF EXISTS (
        SELECT FROM memory.memory m WHERE m.profile_id = p_profile AND m.content_mac = p_item.content_mac
            AND m.session_id = v_session AND m.id <> p_id
    ) THEN
        v_verdict := 'content_kept';
    ELSE
        INSERT INTO memory.version (profile_id, memory_id, revision, version, created_at, content_tokens,
            content_sealed, summary_sealed, essence_sealed)
        VALUES (p_profile, p_id, v_memory.revision, v_memory.version,
            coalesce(v_memory.revised_at, v_memory.created_at), v_memory.content_tokens,
            v_memory.content_sealed, v_memory.summary_sealed, v_memory.essence_sealed);
        DELETE FROM memory.version v WHERE v.profile_id = p_profile AND v.memory_id = p_id
            AND v.revision <= v_memory.revision - p_versions_max;
        UPDATE memory.memory m SET
            version = v_memory.version + 1, revision = v_memory.revision + 1, revised_at = p_now, stage = 1,
            content_mac = p_item.content_mac, length = p_item.length, asks = p_item.asks,
            content_tokens = p_item.content_tokens, summary_tokens = p_item.summary_tokens,
            essence_tokens = p_item.essence_tokens,
            secrets_removed = v_memory.secrets_removed + p_item.secrets_removed,
            embedding_model = CASE WHEN p_item.embedding IS NOT NULL THEN p_model END, embedding = p_item.embedding,
            content_sealed = p_item.content_sealed, summary_sealed = p_item.summary_sealed,
            essence_sealed = p_item.essence_sealed, labels_sealed = p_item.labels_sealed,
            metadata_sealed = p_item.metadata_sealed,
            updated_at = greatest(m.updated_at, p_now), touched_at = greatest(m.touched_at, p_now)
        WHERE m.profile_id = p_profile AND m.id = p_id;
        PERFORM memory.lay_terms(p_profile, p_id, p_item, p_model, p_preferred_model, p_now);
    END IF;
    RETURN QUERY SELECT v_verdict, s
    FROM (SELECT) one LEFT JOIN memory.shown s ON s.profile_id = p_profile AND s.id = p_id;
END
$$;

-- Close a memory with a newer one in its session: 'kept' with the older and the newer one, or the verdict that
-- refuses. What has no terms, no aliases and a `superseded_by` is found by no arm of a search.
CREATE FUNCTION memory.supersede(
    p_profile uuid, p_id uuid, p_source smallint, p_item memory.item, p_model text, p_preferred_model text,
    p_memories_max bigint, p_now timestamptz
) RETURNS TABLE (verdict text, shown memory.shown, successor memory.shown) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_session memory.session;
    v_memory memory.memory;
    v_next uuid;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT s.* INTO v_session FROM memory.memory m
    JOIN memory.session s ON s.profile_id = m.profile_id AND s.id = m.session_id
    WHERE m.profile_id = p_profile AND m.id = p_id FOR UPDATE OF s;
    SELECT * INTO v_memory FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id FOR UPDATE;
    IF NOT FOUND OR v_session.id IS NULL THEN
        RETURN QUERY SELECT 'memory_not_found', NULL::memory.shown, NULL::memory.shown;
        RETURN;
    ELSIF v_memory.superseded_by IS NOT NULL OR v_memory.content_mac = p_item.content_mac THEN
        RETURN QUERY SELECT CASE WHEN v_memory.superseded_by IS NULL THEN 'same_content' ELSE 'superseded' END,
            s, NULL::memory.shown
        FROM memory.shown s WHERE s.profile_id = p_profile AND s.id = p_id;
        RETURN;
    END IF;

    SELECT m.id INTO v_next FROM memory.memory m
    WHERE m.profile_id = p_profile AND m.content_mac = p_item.content_mac AND m.session_id = v_session.id;
    IF v_next IS NULL THEN
        IF NOT memory.takes_another(p_profile, p_memories_max) THEN
            RETURN QUERY SELECT 'quota_exceeded', s, NULL::memory.shown
            FROM memory.shown s WHERE s.profile_id = p_profile AND s.id = p_id;
            RETURN;
        END IF;
        v_next := p_item.id;
        INSERT INTO memory.memory (
            profile_id, id, session_id, position, type, outcome, source, occurred_at, created_at, updated_at,
            touched_at, content_mac, actor_mac, length, asks, content_tokens, summary_tokens, essence_tokens,
            secrets_removed, embedding_model, embedding,
            content_sealed, summary_sealed, essence_sealed, labels_sealed, metadata_sealed
        ) VALUES (
            p_profile, v_next, v_session.id, v_session.last_position + 1, p_item.type, p_item.outcome, p_source,
            p_now, p_now, p_now, p_now, p_item.content_mac, p_item.actor_mac, p_item.length, p_item.asks,
            p_item.content_tokens, p_item.summary_tokens, p_item.essence_tokens, p_item.secrets_removed,
            CASE WHEN p_item.embedding IS NOT NULL THEN p_model END, p_item.embedding,
            p_item.content_sealed, p_item.summary_sealed, p_item.essence_sealed, p_item.labels_sealed,
            p_item.metadata_sealed
        );
        PERFORM memory.lay_terms(p_profile, v_next, p_item, p_model, p_preferred_model, p_now);
        INSERT INTO memory.tag (profile_id, mac, memory_id)
        SELECT p_profile, t.mac, v_next FROM unnest(p_item.tags) t (mac);
        INSERT INTO memory.alias (profile_id, mac, memory_id)
        SELECT p_profile, t.mac, v_next FROM unnest(p_item.aliases) t (mac);
        UPDATE memory.session s SET
            last_position = s.last_position + 1, observation_count = s.observation_count + 1,
            total_tokens = s.total_tokens + p_item.content_tokens, active_at = greatest(s.active_at, p_now)
        WHERE s.profile_id = p_profile AND s.id = v_session.id;
    END IF;
    -- What kind of thing it is passes on: a procedure or a shock. PRACTICE and LONG_TERM have to be earned anew.
    UPDATE memory.memory m SET
        ring = v_memory.ring, ring_set_by = v_memory.ring_set_by, ring_confidence = v_memory.ring_confidence,
        ring_reason = v_memory.ring_reason
    WHERE m.profile_id = p_profile AND m.id = v_next AND v_memory.ring IN (2, 5) AND m.ring <> v_memory.ring;

    DELETE FROM memory.posting t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    DELETE FROM memory.alias t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    DELETE FROM memory.pending t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    UPDATE memory.memory m SET
        valid_until = p_now, superseded_by = v_next, updated_at = greatest(m.updated_at, p_now),
        -- No longer what stands for its text: observed again, that is a new memory.
        content_mac = substring(sha256(m.content_mac || uuid_send(m.id)) FOR 16)
    WHERE m.profile_id = p_profile AND m.id = p_id;
    RETURN QUERY SELECT 'kept', o, n FROM memory.shown o, memory.shown n
    WHERE o.profile_id = p_profile AND o.id = p_id AND n.profile_id = p_profile AND n.id = v_next;
END
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
