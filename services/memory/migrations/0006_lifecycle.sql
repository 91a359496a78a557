-- How memories age. Every moment here is by the database's clock: no service's clock decides what is due.
--
-- There is no date on which a memory is due: that depends on a policy, and a policy may change. A row says from
-- when its age counts and what makes it age slower or faster; with these three an index leads to what is due
-- under any policy, and to nothing else.

-- The present, as ageing sees it. Whoever wants to see a year pass puts another in its place.
CREATE FUNCTION memory.present() RETURNS timestamptz LANGUAGE sql STABLE RETURN now();

ALTER TABLE memory.memory
    -- Whose policy it falls under. Nil for what was kept before workspaces were noted.
    ADD COLUMN workspace_id uuid NOT NULL DEFAULT coalesce(
        NULLIF(current_setting('app.workspace_id', true), ''), '00000000-0000-0000-0000-000000000000')::uuid,
    -- When it was last read or observed again, and when it entered its stage.
    ADD COLUMN used_at timestamptz NOT NULL DEFAULT memory.present(),
    ADD COLUMN staged_at timestamptz NOT NULL DEFAULT memory.present(),
    -- The whole text, where the policy keeps it.
    ADD COLUMN original_sealed bytea;
ALTER TABLE memory.memory ALTER COLUMN original_sealed SET STORAGE EXTERNAL;
-- What was deleted before comes back with them as well.
UPDATE memory.deleted d SET body = d.body || jsonb_build_object(
    'workspace_id', '00000000-0000-0000-0000-000000000000', 'used_at', memory.present(),
    'staged_at', memory.present());

-- What makes a memory age slower or faster, as bits: 1 read often, 2 observed often, 4 of little success, which is a
-- mean below 0.3, in whole numbers.
CREATE FUNCTION memory.pace(p_access integer, p_reinforcement integer, p_successes integer, p_failures integer)
RETURNS smallint LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
    (p_access > 20)::integer + 2 * (p_reinforcement > 5)::integer
    + 4 * (p_successes + p_failures > 0 AND 10 * (p_successes + 1) < 3 * (p_successes + p_failures + 2))::integer
)::smallint;

CREATE INDEX memory_ageing ON memory.memory (
    workspace_id, stage, memory.pace(access_count, reinforcement_count, successes, failures),
    greatest(used_at, staged_at)
) WHERE ring <> 5;
CREATE INDEX memory_fresh ON memory.memory (workspace_id, used_at) WHERE ring = 1;

-- Whoever counts a read or a repetition need not know that it makes a memory young again.
CREATE FUNCTION memory.renew() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.used_at := greatest(OLD.used_at, memory.present());
    RETURN NEW;
END
$$;
CREATE TRIGGER renew BEFORE UPDATE ON memory.memory FOR EACH ROW
    WHEN ((OLD.access_count, OLD.reinforcement_count, OLD.touched_at)
        IS DISTINCT FROM (NEW.access_count, NEW.reinforcement_count, NEW.touched_at))
    EXECUTE FUNCTION memory.renew();

-- A shock never moves, whoever asks.
CREATE FUNCTION memory.refuse_restaging() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a shock keeps its stage' USING ERRCODE = 'check_violation';
END
$$;
CREATE TRIGGER shock_keeps_stage BEFORE UPDATE OF stage ON memory.memory FOR EACH ROW
    WHEN (OLD.ring = 5 AND NEW.stage <> OLD.stage)
    EXECUTE FUNCTION memory.refuse_restaging();

-- Observe for a caller of a workspace.
CREATE FUNCTION memory.observe_in(
    p_workspace uuid, p_profile uuid, p_session uuid, p_source smallint, p_items memory.item[],
    p_model text, p_preferred_model text, p_now timestamptz, p_keys_expire_at timestamptz, p_memories_max bigint
) RETURNS TABLE (number bigint, verdict text, reinforced boolean, shown memory.shown) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.workspace_id', p_workspace::text, true);
    RETURN QUERY SELECT * FROM memory.observe(
        p_profile, p_session, p_source, p_items, p_model, p_preferred_model, p_now, p_keys_expire_at,
        p_memories_max);
END
$$;

-- The same for what supersedes another.
CREATE FUNCTION memory.supersede_in(
    p_workspace uuid, p_profile uuid, p_id uuid, p_source smallint, p_item memory.item, p_model text,
    p_preferred_model text, p_memories_max bigint, p_now timestamptz
) RETURNS TABLE (verdict text, shown memory.shown, successor memory.shown) LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('app.workspace_id', p_workspace::text, true);
    RETURN QUERY SELECT * FROM memory.supersede(
        p_profile, p_id, p_source, p_item, p_model, p_preferred_model, p_memories_max, p_now);
END
$$;

-- Who is working on which memory, as it was when it was taken. A row that outlives its time tells of a try that
-- failed.
CREATE TABLE memory.lease (
    profile_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    token bigint NOT NULL,
    attempts integer NOT NULL DEFAULT 1 CHECK (attempts > 0),
    until timestamptz NOT NULL,
    stage smallint NOT NULL,
    version integer NOT NULL,
    aged_from timestamptz NOT NULL,
    PRIMARY KEY (profile_id, memory_id),
    FOREIGN KEY (profile_id, memory_id) REFERENCES memory.memory ON DELETE CASCADE
);
CREATE INDEX lease_until ON memory.lease (until);
CREATE SEQUENCE memory.lease_token;

-- What is left of a memory that was forgotten: that there was one.
CREATE TABLE memory.tombstone (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    forgotten_at timestamptz NOT NULL,
    -- It grew old, or it stayed in ring FRESH and nobody touched it.
    reason text NOT NULL CHECK (reason IN ('aged', 'untouched')),
    PRIMARY KEY (profile_id, id)
);
CREATE INDEX tombstone_forgotten ON memory.tombstone (forgotten_at);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['lease', 'tombstone']
    LOOP
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

-- Ages are looked at across profiles, by functions of the owner. They answer ids, numbers and times; of the
-- memories themselves the owner reads no more than that, and writes nothing.
CREATE POLICY chores ON memory.memory FOR SELECT TO CURRENT_USER USING (true);
CREATE POLICY chores ON memory.lease TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY chores ON memory.tombstone TO CURRENT_USER USING (true) WITH CHECK (true);

-- Workspaces with memories that can age, by one look into the index for each.
CREATE FUNCTION memory.list_workspaces(p_after uuid, p_limit integer) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_last uuid := p_after;
BEGIN
    FOR round IN 1..p_limit LOOP
        SELECT m.workspace_id INTO v_last FROM memory.memory m
        WHERE m.ring <> 5 AND m.workspace_id > v_last ORDER BY m.workspace_id LIMIT 1;
        EXIT WHEN NOT FOUND;
        RETURN NEXT v_last;
    END LOOP;
END
$$;

-- How long memories of a workspace wait at a stage and a pace; without them, in ring FRESH.
CREATE TYPE memory.wait AS (workspace_id uuid, stage smallint, pace smallint, wait interval);

-- Take some memories that were due at a moment. Of those that are due twice, FRESH goes first: it ends them.
CREATE FUNCTION memory.list_due(
    p_waits memory.wait[], p_profile uuid, p_limit integer, p_as_of timestamptz,
    p_lease interval, p_attempts_max integer, p_set_aside interval
) RETURNS TABLE (
    profile_id uuid, memory_id uuid, workspace_id uuid, stage smallint, fresh boolean, token bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_token bigint := nextval('memory.lease_token');
BEGIN
    -- One at a time: this takes milliseconds, and so each gets others, not those that somebody is just taking.
    PERFORM pg_advisory_xact_lock(hashtext('memory.list_due'));
    RETURN QUERY
    WITH due AS MATERIALIZED (
        SELECT * FROM (
            SELECT d.*, true AS fresh FROM unnest(p_waits) w CROSS JOIN LATERAL (
                SELECT m.profile_id, m.id, m.workspace_id, m.stage, m.version,
                    greatest(m.used_at, m.staged_at) AS aged_from
                FROM memory.memory m
                WHERE m.ring = 1 AND m.workspace_id = w.workspace_id AND m.used_at <= p_as_of - w.wait
                    AND (p_profile IS NULL OR m.profile_id = p_profile)
                    AND NOT EXISTS (
                        SELECT FROM memory.lease l
                        WHERE l.profile_id = m.profile_id AND l.memory_id = m.id AND l.until > memory.present())
                ORDER BY m.used_at LIMIT p_limit
            ) d WHERE w.stage IS NULL
            UNION ALL
            SELECT d.*, false FROM unnest(p_waits) w CROSS JOIN LATERAL (
                SELECT m.profile_id, m.id, m.workspace_id, m.stage, m.version,
                    greatest(m.used_at, m.staged_at) AS aged_from
                FROM memory.memory m
                WHERE m.ring <> 5 AND m.workspace_id = w.workspace_id AND m.stage = w.stage
                    AND memory.pace(m.access_count, m.reinforcement_count, m.successes, m.failures) = w.pace
                    AND greatest(m.used_at, m.staged_at) <= p_as_of - w.wait
                    AND (p_profile IS NULL OR m.profile_id = p_profile)
                    AND NOT EXISTS (
                        SELECT FROM memory.lease l
                        WHERE l.profile_id = m.profile_id AND l.memory_id = m.id AND l.until > memory.present())
                ORDER BY greatest(m.used_at, m.staged_at) LIMIT p_limit
            ) d WHERE w.stage IS NOT NULL
        ) every LIMIT p_limit
    ), once AS (
        SELECT DISTINCT ON (d.profile_id, d.id) d.* FROM due d ORDER BY d.profile_id, d.id, d.fresh DESC
    ), taken AS (
        INSERT INTO memory.lease AS l (profile_id, memory_id, token, until, stage, version, aged_from)
        SELECT o.profile_id, o.id, v_token, memory.present() + p_lease, o.stage, o.version, o.aged_from FROM once o
        ORDER BY o.profile_id, o.id
        ON CONFLICT (profile_id, memory_id) DO UPDATE SET
            token = EXCLUDED.token, stage = EXCLUDED.stage, version = EXCLUDED.version,
            aged_from = EXCLUDED.aged_from,
            -- One that has changed since is tried as if for the first time.
            attempts = CASE WHEN (l.version, l.aged_from) = (EXCLUDED.version, EXCLUDED.aged_from)
                THEN l.attempts + 1 ELSE 1 END,
            -- One that ends whoever tries it rests as well.
            until = CASE WHEN l.attempts >= p_attempts_max THEN memory.present() + p_set_aside ELSE EXCLUDED.until END
        RETURNING l.profile_id, l.memory_id
    )
    SELECT o.profile_id, o.id, o.workspace_id, o.stage, o.fresh, v_token
    FROM once o JOIN taken t ON t.profile_id = o.profile_id AND t.memory_id = o.id;
END
$$;

-- What becomes of one memory: its next stage, and what is left of its texts, sealed for its next version.
CREATE TYPE memory.step AS (
    id uuid,
    -- 5: it is forgotten.
    stage smallint,
    content_sealed bytea,
    summary_sealed bytea,
    essence_sealed bytea,
    labels_sealed bytea,
    metadata_sealed bytea,
    original_sealed bytea,
    content_tokens integer,
    summary_tokens integer,
    essence_tokens integer
);

-- Move memories of a profile that are leased under this token and are still what they were. Answers which.
--
-- At most one stage, and none over: a step that is not the next one does not fit and is passed over.
CREATE FUNCTION memory.restage(p_profile uuid, p_token bigint, p_steps memory.step[]) RETURNS SETOF uuid
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_ids uuid[] := ARRAY(SELECT t.id FROM unnest(p_steps) t);
    v_moved uuid[];
    v_id uuid;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    -- The sessions of what is forgotten first, as in observe.
    PERFORM FROM memory.session s WHERE s.profile_id = p_profile AND s.id = ANY (ARRAY(
        SELECT m.session_id FROM memory.memory m WHERE m.profile_id = p_profile
            AND m.id = ANY (ARRAY(SELECT t.id FROM unnest(p_steps) t WHERE t.stage = 5))
    )) ORDER BY s.id FOR UPDATE;
    PERFORM FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = ANY (v_ids) ORDER BY m.id FOR UPDATE;
    v_moved := ARRAY(
        SELECT t.id FROM unnest(p_steps) t
        CROSS JOIN LATERAL (
            SELECT o.* FROM memory.lease o WHERE o.profile_id = p_profile AND o.memory_id = t.id LIMIT 1
        ) l
        CROSS JOIN LATERAL (
            SELECT o.* FROM memory.memory o WHERE o.profile_id = p_profile AND o.id = t.id LIMIT 1
        ) m
        WHERE l.token = p_token AND l.until > memory.present()
            AND (m.stage, m.version, greatest(m.used_at, m.staged_at)) = (l.stage, l.version, l.aged_from)
            AND m.ring <> 5 AND (t.stage = m.stage + 1 OR (t.stage = 5 AND m.ring = 1))
    );
    UPDATE memory.memory m SET
        stage = t.stage, version = m.version + 1, staged_at = memory.present(),
        updated_at = greatest(m.updated_at, memory.present()),
        content_sealed = t.content_sealed, summary_sealed = t.summary_sealed, essence_sealed = t.essence_sealed,
        labels_sealed = t.labels_sealed, metadata_sealed = t.metadata_sealed, original_sealed = t.original_sealed,
        content_tokens = t.content_tokens, summary_tokens = t.summary_tokens, essence_tokens = t.essence_tokens
    FROM unnest(p_steps) t
    WHERE m.profile_id = p_profile AND m.id = ANY (v_moved) AND m.id = t.id AND t.stage < 5;

    INSERT INTO memory.tombstone (profile_id, id, forgotten_at, reason)
    SELECT p_profile, m.id, memory.present(), CASE WHEN m.ring = 1 THEN 'untouched' ELSE 'aged' END
    FROM memory.memory m WHERE m.profile_id = p_profile AND m.id = ANY (v_moved)
        AND m.id = ANY (ARRAY(SELECT t.id FROM unnest(p_steps) t WHERE t.stage = 5));
    FOR v_id IN SELECT t.id FROM unnest(p_steps) t WHERE t.stage = 5 AND t.id = ANY (v_moved) ORDER BY t.id LOOP
        PERFORM memory.forget(p_profile, v_id, NULL);
    END LOOP;

    DELETE FROM memory.lease l WHERE l.profile_id = p_profile AND l.memory_id = ANY (v_moved);
    RETURN QUERY SELECT unnest(v_moved);
END
$$;

-- Give back what was leased and did not move. What has changed since is not due any more, or is taken anew; what
-- failed is tried again later. Answers which of these are set aside.
CREATE FUNCTION memory.give_back(
    p_profile uuid, p_token bigint, p_changed uuid[], p_failed uuid[],
    p_attempts_max integer, p_wait interval, p_set_aside interval
) RETURNS SETOF uuid LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    DELETE FROM memory.lease l
    WHERE l.profile_id = p_profile AND l.memory_id = ANY (p_changed) AND l.token = p_token;
    RETURN QUERY WITH failed AS (
        UPDATE memory.lease l SET
            until = memory.present()
                + CASE WHEN l.attempts >= p_attempts_max THEN p_set_aside ELSE p_wait * l.attempts END
        WHERE l.profile_id = p_profile AND l.memory_id = ANY (p_failed) AND l.token = p_token
        RETURNING l.memory_id, l.attempts
    )
    SELECT f.memory_id FROM failed f WHERE f.attempts >= p_attempts_max;
END
$$;

-- Delete tombstones whose time is over, and leases that nobody has taken up again.
CREATE FUNCTION memory.forget_tombstones(p_limit integer, p_kept interval, p_leases_kept interval) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH tombstones AS (
        DELETE FROM memory.tombstone t WHERE t.ctid = ANY (ARRAY(
            SELECT w.ctid FROM memory.tombstone w WHERE w.forgotten_at <= memory.present() - p_kept
            ORDER BY w.forgotten_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    ), leases AS (
        DELETE FROM memory.lease l WHERE l.ctid = ANY (ARRAY(
            SELECT w.ctid FROM memory.lease w WHERE w.until <= memory.present() - p_leases_kept
            ORDER BY w.until LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM tombstones) + (SELECT count(*) FROM leases);
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
