-- What is done beside the calls: counting reads, embedding late, forgetting idempotency keys.

-- Count reads. Losing the last half second of them in a crash is fine, so nobody waits for the disk.
CREATE FUNCTION memory.touch(p_profile uuid, p_ids uuid[], p_times integer[], p_now timestamptz)
RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true), set_config('synchronous_commit', 'off', true);
    -- Locked in one order, so that two replicas do not wait for each other.
    PERFORM FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = ANY (p_ids) ORDER BY m.id FOR UPDATE;
    UPDATE memory.memory m SET
        access_count = m.access_count + p_times[array_position(p_ids, m.id)],
        touched_at = greatest(m.touched_at, p_now)
    WHERE m.profile_id = p_profile AND m.id = ANY (p_ids);
END
$$;

-- A vector that came late, and the text that it was made of.
CREATE TYPE memory.late AS (id uuid, version integer, embedding halfvec);

-- Keep vectors that came late. A memory whose text has changed since waits for another turn.
CREATE FUNCTION memory.keep_embeddings(p_profile uuid, p_model text, p_late memory.late[])
RETURNS void LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    WITH kept AS (
        UPDATE memory.memory m SET
            embedding = (SELECT l.embedding FROM unnest(p_late) l WHERE l.id = m.id), embedding_model = p_model
        WHERE m.profile_id = p_profile AND m.id = ANY (ARRAY(SELECT l.id FROM unnest(p_late) l))
            AND m.version = (SELECT l.version FROM unnest(p_late) l WHERE l.id = m.id)
        RETURNING m.id
    )
    DELETE FROM memory.pending p
    WHERE p.profile_id = p_profile AND p.memory_id = ANY (ARRAY(SELECT k.id FROM kept k));
END
$$;

-- Two chores pass over all profiles. They run in functions of the owner, who alone sees these two tables
-- whole: ids, hashes and times. The service's role can call the functions and sees nothing more.
CREATE POLICY chores ON memory.pending TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY chores ON memory.idempotency TO CURRENT_USER USING (true) WITH CHECK (true);

-- Take some memories of any profile to embed. Each waits longer after every attempt, and by chance differently
-- long, so that one that cannot be embedded holds up neither the queue nor for ever those it was taken with.
CREATE FUNCTION memory.claim_pending(p_limit integer, p_now timestamptz, p_wait interval, p_wait_max interval)
RETURNS TABLE (profile_id uuid, memory_id uuid)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE memory.pending p SET
        attempts = p.attempts + 1,
        next_at = p_now + least(p_wait * power(2, least(p.attempts, 20)), p_wait_max) * (0.5 + random())
    WHERE p.ctid = ANY (ARRAY(
        SELECT w.ctid FROM memory.pending w WHERE w.next_at <= p_now
        ORDER BY w.next_at LIMIT p_limit FOR UPDATE SKIP LOCKED
    ))
    RETURNING p.profile_id, p.memory_id;
$$;

-- Delete idempotency keys whose time is over.
CREATE FUNCTION memory.forget_keys(p_limit integer, p_now timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM memory.idempotency k WHERE k.ctid = ANY (ARRAY(
            SELECT w.ctid FROM memory.idempotency w WHERE w.expires_at <= p_now
            ORDER BY w.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone;
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
