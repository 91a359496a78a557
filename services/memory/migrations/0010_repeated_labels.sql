-- A repetition is found by its tags and other names, can come to stand for itself, and is counted in its own session.

-- What repeats a memory.
CREATE INDEX memory_repeats ON memory.memory (profile_id, superseded_by) WHERE repeats;

-- Let a memory be a repetition of an earlier one, or of what that repeats itself: it leaves every search, and what was
-- recorded for it counts for the other. Answers whether it is so: not if one of them has changed since they were compared,
-- is a shock, or holds no more, nor if the caller has put the later one into a ring.
--
-- Its row stays where it was observed, until it fades: who said it, when and in which words.
CREATE OR REPLACE FUNCTION memory.repeat(
    p_profile uuid, p_id uuid, p_version integer, p_other uuid, p_other_version integer, p_now timestamptz
) RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_memory memory.memory;
    v_other memory.memory;
    v_root uuid := p_other;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_other FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_other;
    IF v_other.version IS DISTINCT FROM p_other_version THEN
        RETURN false;
    END IF;
    -- Each stands for what is later than itself, so this comes to an end.
    WHILE v_other.repeats LOOP
        v_root := v_other.superseded_by;
        SELECT * INTO v_other FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = v_root;
    END LOOP;
    PERFORM FROM memory.memory m WHERE m.profile_id = p_profile AND m.id IN (p_id, v_root) ORDER BY m.id FOR UPDATE;
    SELECT * INTO v_memory FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = p_id;
    SELECT * INTO v_other FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = v_root;
    IF v_memory.id IS NULL OR v_other.id IS NULL OR v_memory.version <> p_version
        OR (v_root = p_other AND v_other.version <> p_other_version)
        OR v_memory.superseded_by IS NOT NULL OR v_other.superseded_by IS NOT NULL
        OR v_memory.ring = 5 OR v_other.ring = 5 OR v_memory.ring_set_by = 2
        OR (v_other.created_at, v_other.id) >= (v_memory.created_at, v_memory.id)
    THEN
        RETURN false;
    END IF;
    -- Who looks for it by a tag or by another name finds what it repeats.
    INSERT INTO memory.tag (profile_id, mac, memory_id)
    SELECT p_profile, t.mac, v_root FROM memory.tag t WHERE t.profile_id = p_profile AND t.memory_id = p_id
    ON CONFLICT DO NOTHING;
    INSERT INTO memory.alias (profile_id, mac, memory_id)
    SELECT p_profile, t.mac, v_root FROM memory.alias t WHERE t.profile_id = p_profile AND t.memory_id = p_id
    ON CONFLICT DO NOTHING;
    DELETE FROM memory.posting t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    DELETE FROM memory.alias t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    DELETE FROM memory.pending t WHERE t.profile_id = p_profile AND t.memory_id = p_id;
    UPDATE memory.memory m SET
        repeats = true, superseded_by = v_root, valid_until = p_now, updated_at = greatest(m.updated_at, p_now)
    WHERE m.profile_id = p_profile AND m.id = p_id;
    UPDATE memory.memory m SET
        reinforcement_count = m.reinforcement_count + 1 + v_memory.reinforcement_count,
        -- They were no observations of its own session.
        helped_count = m.helped_count + 1 + v_memory.reinforcement_count,
        successes = m.successes + v_memory.successes,
        failures = m.failures + v_memory.failures,
        outcome = CASE WHEN v_memory.outcome = 0 THEN m.outcome ELSE v_memory.outcome END,
        updated_at = greatest(m.updated_at, p_now),
        touched_at = greatest(m.touched_at, p_now)
    WHERE m.profile_id = p_profile AND m.id = v_root;
    RETURN true;
END
$$;

-- Close a memory with a newer one in its session: 'kept' with the older and the newer one, or the verdict that
-- refuses. What has no terms, no aliases and a `superseded_by` is found by no arm of a search.
CREATE OR REPLACE FUNCTION memory.supersede(
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
    ELSE
        -- What only repeated another one stands for itself from now on: it may repeat the one that is closed here.
        UPDATE memory.memory m SET repeats = false, superseded_by = NULL, valid_until = NULL
        WHERE m.profile_id = p_profile AND m.id = v_next AND m.repeats;
        IF FOUND THEN
            PERFORM memory.lay_terms(p_profile, v_next, p_item, p_model, p_preferred_model, p_now);
            INSERT INTO memory.alias (profile_id, mac, memory_id)
            SELECT p_profile, t.mac, v_next FROM unnest(p_item.aliases) t (mac) ON CONFLICT DO NOTHING;
        END IF;
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
