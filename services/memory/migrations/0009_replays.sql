-- A repeated Observe is answered with the memory that its key kept, whatever that says by now: it may have been revised,
-- superseded or be a repetition of another.

ALTER TABLE memory.idempotency ADD COLUMN memory_id uuid;
CREATE INDEX idempotency_of ON memory.idempotency (profile_id, memory_id) WHERE memory_id IS NOT NULL;

-- Versions go when their memory is gone for good, and so does what keys know of it: neither kept nor among those that can
-- be brought back.
CREATE OR REPLACE FUNCTION memory.forget_history() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM memory.memory m WHERE m.profile_id = OLD.profile_id AND m.id = OLD.id)
        AND NOT EXISTS (SELECT FROM memory.deleted d WHERE d.profile_id = OLD.profile_id AND d.id = OLD.id)
    THEN
        DELETE FROM memory.version v WHERE v.profile_id = OLD.profile_id AND v.memory_id = OLD.id;
        UPDATE memory.idempotency k SET memory_id = NULL WHERE k.profile_id = OLD.profile_id AND k.memory_id = OLD.id;
    END IF;
    RETURN NULL;
END
$$;

-- Keep observations, all or none. Answers a row for each in its order: verdict 'kept' and the memory as it is
-- now; or a single row with the verdict that refuses them all. With 'quota_exceeded' its number says how many new
-- ones there is room for.
--
-- The session's row is locked first, so that positions and repetitions within it have one order.
-- Idempotency keys are claimed in the order of their hashes, and before names, so that no two calls wait
-- for each other.
CREATE OR REPLACE FUNCTION memory.observe(
    p_profile uuid, p_session uuid, p_source smallint, p_items memory.item[],
    p_model text, p_preferred_model text, p_now timestamptz, p_keys_expire_at timestamptz, p_memories_max bigint
) RETURNS TABLE (number bigint, verdict text, reinforced boolean, shown memory.shown) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_session memory.session;
    v_claimed bytea[] := '{}';
    v_fresh bigint[];
    v_room bigint;
    v_new bigint;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);

    SELECT * INTO v_session FROM memory.session s WHERE s.profile_id = p_profile AND s.id = p_session FOR UPDATE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 0::bigint, 'session_not_found', false, NULL::memory.shown;
        RETURN;
    END IF;

    IF EXISTS (SELECT FROM unnest(p_items) i WHERE i.key_mac IS NOT NULL) THEN
        WITH claimed AS (
            INSERT INTO memory.idempotency AS k
                (profile_id, key_mac, request_mac, session_id, content_mac, memory_id, expires_at)
            SELECT DISTINCT ON (i.key_mac)
                p_profile, i.key_mac, i.request_mac, p_session, i.content_mac, i.id, p_keys_expire_at
            FROM unnest(p_items) WITH ORDINALITY i
            WHERE i.key_mac IS NOT NULL
            ORDER BY i.key_mac, i.ordinality
            ON CONFLICT (profile_id, key_mac) DO UPDATE SET
                request_mac = EXCLUDED.request_mac, session_id = EXCLUDED.session_id,
                content_mac = EXCLUDED.content_mac, memory_id = EXCLUDED.memory_id, reinforced = false,
                expires_at = EXCLUDED.expires_at
            WHERE k.expires_at <= p_now
            RETURNING k.key_mac
        )
        SELECT coalesce(array_agg(c.key_mac), '{}') INTO v_claimed FROM claimed c;
        IF EXISTS (
            SELECT FROM unnest(p_items) i
            CROSS JOIN LATERAL (
                SELECT o.request_mac FROM memory.idempotency o
                WHERE o.profile_id = p_profile AND o.key_mac = i.key_mac LIMIT 1
            ) k
            WHERE k.request_mac <> i.request_mac
        ) THEN
            DELETE FROM memory.idempotency k WHERE k.profile_id = p_profile AND k.key_mac = ANY (v_claimed);
            RETURN QUERY SELECT 0::bigint, 'key_reused', false, NULL::memory.shown;
            RETURN;
        END IF;
    END IF;

    -- What is not a replay: without a key, or the first under a key that was free.
    SELECT coalesce(array_agg(f.ordinality), '{}') INTO v_fresh FROM (
        SELECT i.ordinality FROM unnest(p_items) WITH ORDINALITY i WHERE i.key_mac IS NULL
        UNION ALL
        SELECT min(i.ordinality) FROM unnest(p_items) WITH ORDINALITY i
        WHERE i.key_mac = ANY (v_claimed) GROUP BY i.key_mac
    ) f;
    IF v_session.state <> 1 AND cardinality(v_fresh) > 0 THEN
        DELETE FROM memory.idempotency k WHERE k.profile_id = p_profile AND k.key_mac = ANY (v_claimed);
        RETURN QUERY SELECT 0::bigint, 'session_closed', false, NULL::memory.shown;
        RETURN;
    END IF;
    -- A replay has nothing to answer when its memory was deleted since, unless the same is kept again now.
    IF cardinality(v_fresh) < cardinality(p_items) AND EXISTS (
        SELECT FROM unnest(p_items) i
        WHERE i.content_mac <> ALL (ARRAY(
                SELECT f.content_mac FROM unnest(p_items) WITH ORDINALITY f WHERE f.ordinality = ANY (v_fresh)))
            AND NOT EXISTS (
                SELECT FROM memory.memory o
                WHERE o.profile_id = p_profile AND o.content_mac = i.content_mac AND o.session_id = p_session)
            AND NOT EXISTS (
                SELECT FROM memory.idempotency k
                JOIN memory.memory o ON o.profile_id = k.profile_id AND o.id = k.memory_id
                WHERE k.profile_id = p_profile AND k.key_mac = i.key_mac)
    ) THEN
        DELETE FROM memory.idempotency k WHERE k.profile_id = p_profile AND k.key_mac = ANY (v_claimed);
        RETURN QUERY SELECT 0::bigint, 'memory_deleted', false, NULL::memory.shown;
        RETURN;
    END IF;

    -- Looked at without waiting for anybody: who is refused here has written nothing.
    v_room := greatest(0, p_memories_max - coalesce(
        (SELECT u.memories FROM memory.usage u WHERE u.profile_id = p_profile), 0));
    IF cardinality(v_fresh) > v_room THEN
        SELECT count(DISTINCT i.content_mac) INTO v_new
        FROM unnest(p_items) WITH ORDINALITY i
        LEFT JOIN LATERAL (
            SELECT o.id FROM memory.memory o
            WHERE o.profile_id = p_profile AND o.content_mac = i.content_mac AND o.session_id = p_session LIMIT 1
        ) m ON true
        WHERE i.ordinality = ANY (v_fresh) AND m.id IS NULL;
        IF v_new > v_room THEN
            DELETE FROM memory.idempotency k WHERE k.profile_id = p_profile AND k.key_mac = ANY (v_claimed);
            RETURN QUERY SELECT v_room, 'quota_exceeded', false, NULL::memory.shown;
            RETURN;
        END IF;
    END IF;

    WITH fresh AS (
        SELECT i.* FROM unnest(p_items) WITH ORDINALITY i WHERE i.ordinality = ANY (v_fresh)
    ), distinct_ones AS (
        SELECT content_mac, min(ordinality) AS first, count(*) - 1 AS repeated,
               count(*) FILTER (WHERE outcome = 1) AS successes, count(*) FILTER (WHERE outcome = 2) AS failures,
               (array_agg(outcome ORDER BY ordinality DESC) FILTER (WHERE outcome > 0))[1] AS last_outcome
        FROM fresh GROUP BY content_mac
    ), placed AS (
        -- What is there already comes last, so that positions have no holes.
        SELECT i.*, d.repeated, d.successes, d.failures, coalesce(d.last_outcome, 0) AS last_outcome,
               v_session.last_position + row_number() OVER (ORDER BY m.id IS NOT NULL, i.ordinality) AS position,
               -- Apart by what a clock can tell, so that sorting by time keeps their order.
               p_now + (i.ordinality - 1) * interval '1 microsecond' AS kept_at
        FROM distinct_ones d
        JOIN fresh i ON i.ordinality = d.first
        LEFT JOIN LATERAL (
            SELECT o.id FROM memory.memory o
            WHERE o.profile_id = p_profile AND o.content_mac = d.content_mac AND o.session_id = p_session LIMIT 1
        ) m ON true
    ), kept AS (
        INSERT INTO memory.memory AS m (
            profile_id, id, session_id, position, type, outcome, source,
            occurred_at, created_at, updated_at, touched_at, content_mac, actor_mac, length, asks,
            content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count,
            secrets_removed, embedding_model, embedding,
            content_sealed, summary_sealed, essence_sealed, labels_sealed, metadata_sealed
        )
        SELECT p_profile, id, p_session, position, type, last_outcome, p_source,
               coalesce(occurred_at, kept_at), kept_at, kept_at, kept_at, content_mac, actor_mac, length, asks,
               content_tokens, summary_tokens, essence_tokens, successes, failures, repeated,
               secrets_removed, CASE WHEN embedding IS NOT NULL THEN p_model END, embedding,
               content_sealed, summary_sealed, essence_sealed, labels_sealed, metadata_sealed
        FROM placed ORDER BY position
        ON CONFLICT (profile_id, content_mac, session_id) DO UPDATE SET
            reinforcement_count = m.reinforcement_count + EXCLUDED.reinforcement_count + 1,
            successes = m.successes + EXCLUDED.successes,
            failures = m.failures + EXCLUDED.failures,
            outcome = CASE WHEN EXCLUDED.outcome = 0 THEN m.outcome ELSE EXCLUDED.outcome END,
            -- What is no longer earned goes back to what repetition makes: PRACTICE.
            ring = CASE
                WHEN m.ring = 4 AND 10 * (m.successes + EXCLUDED.successes + 1)
                    < 7 * (m.successes + EXCLUDED.successes + m.failures + EXCLUDED.failures + 2) THEN 3
                ELSE m.ring END,
            updated_at = greatest(m.updated_at, p_now),
            touched_at = greatest(m.touched_at, p_now)
        RETURNING m.id, m.position
    ), new AS (
        SELECT p.*, k.position AS kept_position FROM placed p JOIN kept k ON k.id = p.id
    ), postings AS (
        INSERT INTO memory.posting (profile_id, term, memory_id, tf, length)
        SELECT p_profile, t.term, n.id, t.tf, n.length FROM new n, unnest(n.terms, n.tfs) t (term, tf)
    ), tags AS (
        INSERT INTO memory.tag (profile_id, mac, memory_id)
        SELECT p_profile, t.mac, n.id FROM new n, unnest(n.tags) t (mac)
    ), aliases AS (
        INSERT INTO memory.alias (profile_id, mac, memory_id)
        SELECT p_profile, t.mac, n.id FROM new n, unnest(n.aliases) t (mac)
    ), actors AS (
        INSERT INTO memory.actor (profile_id, mac, actor_mac)
        SELECT DISTINCT p_profile, t.mac, n.actor_mac FROM new n, unnest(n.names) t (mac) ORDER BY t.mac, n.actor_mac
        ON CONFLICT DO NOTHING
    ), waiting AS (
        INSERT INTO memory.pending (profile_id, memory_id, next_at)
        SELECT p_profile, n.id, p_now FROM new n
        WHERE n.embedding IS NULL OR p_model IS DISTINCT FROM p_preferred_model
    )
    UPDATE memory.session s SET
        last_position = greatest(s.last_position, (SELECT max(n.kept_position) FROM new n)),
        observation_count = s.observation_count + (SELECT count(*) FROM new n),
        total_tokens = s.total_tokens + (SELECT coalesce(sum(f.content_tokens), 0) FROM fresh f),
        active_at = greatest(s.active_at, p_now)
    WHERE s.profile_id = p_profile AND s.id = p_session AND cardinality(v_fresh) > 0
    RETURNING (SELECT count(*) FROM new) INTO v_new;
    -- The profile's count is ours now until we commit. Had others filled it meanwhile, nothing of this stays, and the
    -- next try is refused above.
    IF v_new > 0 AND p_memories_max < (SELECT u.memories FROM memory.usage u WHERE u.profile_id = p_profile) THEN
        RAISE EXCEPTION 'others took the room' USING ERRCODE = 'serialization_failure';
    END IF;

    IF cardinality(v_claimed) > 0 THEN
        UPDATE memory.idempotency k SET reinforced = true, memory_id = r.id
        FROM (
            SELECT i.key_mac, m.id FROM unnest(p_items) WITH ORDINALITY i
            CROSS JOIN LATERAL (
                SELECT o.id FROM memory.memory o
                WHERE o.profile_id = p_profile AND o.content_mac = i.content_mac AND o.session_id = p_session
                LIMIT 1
            ) m
            WHERE i.key_mac = ANY (v_claimed) AND i.ordinality = ANY (v_fresh) AND m.id <> i.id
        ) r
        WHERE k.profile_id = p_profile AND k.key_mac = r.key_mac;
    END IF;

    RETURN QUERY
    SELECT i.ordinality, 'kept', coalesce(k.reinforced, (m.whole).id <> i.id, false), m.whole
    FROM unnest(p_items) WITH ORDINALITY i
    LEFT JOIN LATERAL (
        SELECT o.reinforced, o.memory_id FROM memory.idempotency o
        WHERE o.profile_id = p_profile AND o.key_mac = i.key_mac LIMIT 1
    ) k ON true
    LEFT JOIN LATERAL (
        SELECT o AS whole FROM memory.shown o WHERE o.profile_id = p_profile AND o.id = k.memory_id LIMIT 1
    ) n ON true
    LEFT JOIN LATERAL (
        SELECT o AS whole FROM memory.shown o
        WHERE (n.whole).id IS NULL
            AND o.profile_id = p_profile AND o.content_mac = i.content_mac AND o.session_id = p_session LIMIT 1
    ) c ON true
    CROSS JOIN LATERAL (SELECT coalesce(n.whole, c.whole) AS whole OFFSET 0) m
    ORDER BY i.ordinality;
END
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
