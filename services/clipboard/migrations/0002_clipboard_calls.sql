-- Each call is one function, so that it is one round trip and one commit. Each sets the profile first: row-level
-- security holds in them as everywhere.
--
-- All go by whole keys. A connection keeps the plan that it made while a table was small, and then a scan of
-- everything looks as cheap as a key: so sequential scans are off.

-- One entry on its way in.
CREATE TYPE clipboard.draft AS (
    id uuid,
    workspace_id uuid,
    -- NULL for the stack.
    name_mac bytea,
    version bigint,
    visibility smallint,
    encoding text,
    source smallint,
    size_bytes integer,
    ttl interval,
    labels_sealed bytea,
    value_sealed bytea
);

-- How much a profile may hold.
CREATE TYPE clipboard.quota AS (entries bigint, bytes bigint);

-- Take a profile's row until the transaction ends, with what it comes to at the time it is taken: what has
-- expired by then is deleted, so that every entry is paid for once.
CREATE FUNCTION clipboard.take(p_profile uuid, p_now timestamptz, OUT head clipboard.head, OUT now timestamptz)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    v_head clipboard.head;
    v_entries bigint;
    v_bytes bigint;
BEGIN
    SELECT * INTO v_head FROM clipboard.head h WHERE h.profile_id = p_profile FOR UPDATE;
    IF NOT FOUND THEN
        INSERT INTO clipboard.head (profile_id) VALUES (p_profile) ON CONFLICT DO NOTHING;
        SELECT * INTO v_head FROM clipboard.head h WHERE h.profile_id = p_profile FOR UPDATE;
    END IF;
    -- The caller's time, moved on by how long the call has waited here for others.
    now := p_now + (clock_timestamp() - statement_timestamp());
    WITH gone AS (
        DELETE FROM clipboard.entry e WHERE e.profile_id = p_profile AND e.expires_at <= now
        RETURNING e.size_bytes, e.popped_version
    )
    SELECT v_head.entries - count(*), v_head.bytes - coalesce(sum(g.size_bytes), 0)
    INTO v_entries, v_bytes FROM gone g WHERE g.popped_version IS NULL;
    IF v_entries <> v_head.entries THEN
        v_head.entries := v_entries;
        v_head.bytes := v_bytes;
        PERFORM clipboard.give_back(v_head);
    END IF;
    head := v_head;
END
$$;

-- Give a profile's row back as it is now.
CREATE FUNCTION clipboard.give_back(p_head clipboard.head) RETURNS void LANGUAGE sql
SET enable_seqscan = off AS $$
    UPDATE clipboard.head h SET
        version = p_head.version, last_position = p_head.last_position,
        entries = p_head.entries, bytes = p_head.bytes
    WHERE h.profile_id = p_head.profile_id
$$;

-- Which part of its quota a profile exceeds: 'entries', 'bytes', or NULL for none.
CREATE FUNCTION clipboard.exceeded(p_head clipboard.head, p_quota clipboard.quota) RETURNS text LANGUAGE sql
IMMUTABLE RETURN CASE
    WHEN (p_head).entries > (p_quota).entries THEN 'entries'
    WHEN (p_head).bytes > (p_quota).bytes THEN 'bytes'
END;

-- Put an entry under its name.
CREATE FUNCTION clipboard.put(
    p_profile uuid, p_draft clipboard.draft, p_quota clipboard.quota, p_now timestamptz
) RETURNS TABLE (verdict text, id uuid, created_at timestamptz, updated_at timestamptz, expires_at timestamptz)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head clipboard.head;
    v_now timestamptz;
    v_size integer;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM clipboard.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;
    SELECT e.size_bytes INTO v_size FROM clipboard.entry e
    WHERE e.profile_id = p_profile AND e.name_mac = p_draft.name_mac;
    v_head.entries := v_head.entries + CASE WHEN v_size IS NULL THEN 1 ELSE 0 END;
    v_head.bytes := v_head.bytes + p_draft.size_bytes - coalesce(v_size, 0);
    verdict := clipboard.exceeded(v_head, p_quota);
    IF verdict IS NOT NULL THEN
        RETURN NEXT;
        RETURN;
    END IF;

    PERFORM clipboard.give_back(v_head);
    RETURN QUERY INSERT INTO clipboard.entry AS e (
        profile_id, id, workspace_id, name_mac, version, visibility, encoding, source, size_bytes,
        created_at, updated_at, expires_at, labels_sealed, value_sealed
    ) VALUES (
        p_profile, p_draft.id, p_draft.workspace_id, p_draft.name_mac, p_draft.version, p_draft.visibility,
        p_draft.encoding, p_draft.source, p_draft.size_bytes,
        v_now, v_now, v_now + p_draft.ttl, p_draft.labels_sealed, p_draft.value_sealed
    )
    ON CONFLICT (profile_id, name_mac) DO UPDATE SET
        workspace_id = EXCLUDED.workspace_id, version = EXCLUDED.version, visibility = EXCLUDED.visibility,
        encoding = EXCLUDED.encoding, source = EXCLUDED.source, size_bytes = EXCLUDED.size_bytes,
        updated_at = EXCLUDED.updated_at, expires_at = EXCLUDED.expires_at,
        labels_sealed = EXCLUDED.labels_sealed, value_sealed = EXCLUDED.value_sealed
    RETURNING 'kept', e.id, e.created_at, e.updated_at, e.expires_at;
END
$$;

-- Put an entry on the stack, unless a call with this key did so before.
CREATE FUNCTION clipboard.push(
    p_profile uuid, p_draft clipboard.draft, p_key_mac bytea, p_request_mac bytea, p_key_kept interval,
    p_quota clipboard.quota, p_now timestamptz
) RETURNS TABLE (
    verdict text, stack_version bigint, id uuid, "position" bigint, created_at timestamptz, expires_at timestamptz
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head clipboard.head;
    v_answer clipboard.answer;
    v_now timestamptz;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM clipboard.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;

    v_answer := clipboard.answered(p_profile, p_key_mac, v_now);
    IF v_answer.key_mac IS NULL THEN
        v_head.version := v_head.version + 1;
        v_head.last_position := v_head.last_position + 1;
        v_head.entries := v_head.entries + 1;
        v_head.bytes := v_head.bytes + p_draft.size_bytes;
        verdict := clipboard.exceeded(v_head, p_quota);
        IF verdict IS NOT NULL THEN
            RETURN NEXT;
            RETURN;
        END IF;
        v_answer := ROW(
            p_profile, p_key_mac, p_request_mac, v_head.version, p_draft.id, v_head.last_position,
            v_now, v_now + p_draft.ttl, v_now + p_key_kept
        );
        PERFORM clipboard.give_back(v_head);
        INSERT INTO clipboard.entry (
            profile_id, id, workspace_id, position, version, visibility, encoding, source, size_bytes,
            created_at, updated_at, expires_at, labels_sealed, value_sealed
        ) VALUES (
            p_profile, p_draft.id, p_draft.workspace_id, v_answer.position, p_draft.version, p_draft.visibility,
            p_draft.encoding, p_draft.source, p_draft.size_bytes,
            v_now, v_now, v_answer.entry_expires_at, p_draft.labels_sealed, p_draft.value_sealed
        );
        PERFORM clipboard.remember(v_answer);
    END IF;

    RETURN QUERY SELECT
        CASE WHEN v_answer.request_mac IS DISTINCT FROM p_request_mac THEN 'key_reused' ELSE 'pushed' END,
        v_answer.stack_version, v_answer.entry_id, v_answer.position, v_answer.created_at,
        v_answer.entry_expires_at;
END
$$;

-- Take the newest entry off the stack, or answer again what a call with this key took.
--
-- With a key it stays for a while, hidden from everything but a repeated call. Verdicts: 'popped', 'empty',
-- 'key_reused', and 'gone' when what such a call took has expired or is kept no longer.
CREATE FUNCTION clipboard.pop(
    p_profile uuid, p_key_mac bytea, p_request_mac bytea, p_key_kept interval, p_popped_kept_max bigint,
    p_now timestamptz
) RETURNS TABLE (verdict text, stack_version bigint, entry clipboard.entry) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    v_taken record;
    v_head clipboard.head;
    v_answer clipboard.answer;
    v_entry clipboard.entry;
    v_now timestamptz;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM clipboard.take(p_profile, p_now);
    v_head := v_taken.head;
    v_now := v_taken.now;

    v_answer := clipboard.answered(p_profile, p_key_mac, v_now);
    IF v_answer.key_mac IS NOT NULL THEN
        SELECT e.* INTO v_entry FROM clipboard.entry e
        WHERE e.profile_id = p_profile AND e.id = v_answer.entry_id AND e.expires_at > v_now
            AND e.popped_version = v_answer.stack_version;
        RETURN QUERY SELECT
            CASE
                WHEN v_answer.request_mac IS DISTINCT FROM p_request_mac THEN 'key_reused'
                WHEN v_entry.id IS NULL THEN 'gone'
                ELSE 'popped'
            END,
            v_answer.stack_version, v_entry;
        RETURN;
    END IF;

    SELECT e.* INTO v_entry FROM clipboard.entry e
    WHERE e.profile_id = p_profile AND e.position IS NOT NULL AND e.popped_version IS NULL
        AND e.expires_at > v_now
    ORDER BY e.position DESC LIMIT 1;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'empty', v_head.version, NULL::clipboard.entry;
        RETURN;
    END IF;

    v_head.version := v_head.version + 1;
    v_head.entries := v_head.entries - 1;
    v_head.bytes := v_head.bytes - v_entry.size_bytes;
    PERFORM clipboard.give_back(v_head);
    IF p_key_mac IS NULL THEN
        DELETE FROM clipboard.entry e WHERE e.profile_id = p_profile AND e.id = v_entry.id;
    ELSE
        UPDATE clipboard.entry e SET popped_version = v_head.version, popped_at = v_now
        WHERE e.profile_id = p_profile AND e.id = v_entry.id;
        DELETE FROM clipboard.entry e
        WHERE e.profile_id = p_profile AND e.popped_version <= v_head.version - p_popped_kept_max;
        PERFORM clipboard.remember(ROW(
            p_profile, p_key_mac, p_request_mac, v_head.version, v_entry.id, v_entry.position,
            v_entry.created_at, v_entry.expires_at, v_now + p_key_kept
        ));
    END IF;
    RETURN QUERY SELECT 'popped', v_head.version, v_entry;
END
$$;

-- What a call with this key was answered, while it is remembered. For calls whose profile's row is taken.
CREATE FUNCTION clipboard.answered(p_profile uuid, p_key_mac bytea, p_now timestamptz)
RETURNS clipboard.answer LANGUAGE sql
SET enable_seqscan = off AS $$
    SELECT a FROM clipboard.answer a
    WHERE a.profile_id = p_profile AND a.key_mac = p_key_mac AND a.expires_at > p_now
$$;

-- Remember an answer, if its call had a key.
CREATE FUNCTION clipboard.remember(p_answer clipboard.answer) RETURNS void LANGUAGE sql
SET enable_seqscan = off AS $$
    INSERT INTO clipboard.answer SELECT p_answer.* WHERE p_answer.key_mac IS NOT NULL
    ON CONFLICT (profile_id, key_mac) DO UPDATE SET
        request_mac = EXCLUDED.request_mac, stack_version = EXCLUDED.stack_version,
        entry_id = EXCLUDED.entry_id, position = EXCLUDED.position, created_at = EXCLUDED.created_at,
        entry_expires_at = EXCLUDED.entry_expires_at, expires_at = EXCLUDED.expires_at
$$;

-- The entry of a name in anybody's clipboard, if the caller may read it.
CREATE FUNCTION clipboard.get(
    p_caller uuid, p_workspace uuid, p_profile uuid, p_name_mac bytea, p_now timestamptz
) RETURNS SETOF clipboard.entry LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_caller::text, true),
            set_config('app.workspace_id', p_workspace::text, true);
    RETURN QUERY SELECT e.* FROM clipboard.entry e
    WHERE e.profile_id = p_profile AND e.name_mac = p_name_mac AND e.expires_at > p_now;
END
$$;

-- The entry at a depth of anybody's stack, among those that the caller may read.
CREATE FUNCTION clipboard.peek(
    p_caller uuid, p_workspace uuid, p_profile uuid, p_depth bigint, p_now timestamptz
) RETURNS TABLE (stack_version bigint, entry clipboard.entry) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_caller::text, true),
            set_config('app.workspace_id', p_workspace::text, true);
    RETURN QUERY SELECT (SELECT h.version FROM clipboard.head h WHERE h.profile_id = p_profile), e
    FROM clipboard.entry e
    WHERE e.profile_id = p_profile AND e.position IS NOT NULL AND e.popped_version IS NULL
        AND e.expires_at > p_now
    ORDER BY e.position DESC OFFSET p_depth LIMIT 1;
END
$$;

-- Entries of anybody's clipboard that the caller may read, the newest first, after one if its place is given.
-- Values that are longer than so many bytes are NULL.
CREATE FUNCTION clipboard.newest(
    p_caller uuid, p_workspace uuid, p_profile uuid, p_created_at timestamptz, p_id uuid, p_limit integer,
    p_value_bytes_max integer, p_now timestamptz
) RETURNS TABLE (
    id uuid, name_mac bytea, "position" bigint, depth bigint, version bigint, visibility smallint, encoding text,
    source smallint, size_bytes integer, created_at timestamptz, updated_at timestamptz, expires_at timestamptz,
    labels_sealed bytea, value_sealed bytea
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.profile_id', p_caller::text, true),
            set_config('app.workspace_id', p_workspace::text, true);
    RETURN QUERY
    WITH page AS MATERIALIZED (
        SELECT e.id, e.name_mac, e.position, e.version, e.visibility, e.encoding, e.source, e.size_bytes,
               e.created_at, e.updated_at, e.expires_at, e.labels_sealed,
               CASE WHEN e.size_bytes <= p_value_bytes_max THEN e.value_sealed END AS value_sealed
        FROM clipboard.entry e
        WHERE e.profile_id = p_profile AND e.popped_version IS NULL AND e.expires_at > p_now
            AND (e.created_at, e.id) < (
                coalesce(p_created_at, 'infinity'), coalesce(p_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
        ORDER BY e.created_at DESC, e.id DESC
        LIMIT p_limit
    ), lowest AS (
        SELECT min(p.position) AS position FROM page p
    ), stack AS MATERIALIZED (
        -- No deeper than the page.
        SELECT e.id, row_number() OVER (ORDER BY e.position DESC) - 1 AS depth
        FROM clipboard.entry e
        WHERE e.profile_id = p_profile AND e.position IS NOT NULL AND e.popped_version IS NULL
            AND e.expires_at > p_now AND e.position >= (SELECT l.position FROM lowest l)
    )
    SELECT p.id, p.name_mac, p.position, s.depth, p.version, p.visibility, p.encoding, p.source, p.size_bytes,
           p.created_at, p.updated_at, p.expires_at, p.labels_sealed, p.value_sealed
    FROM page p
    LEFT JOIN stack s ON s.id = p.id
    ORDER BY p.created_at DESC, p.id DESC;
END
$$;

-- Remove the entry of a name. Answers whether there was one.
CREATE FUNCTION clipboard.remove(p_profile uuid, p_name_mac bytea, p_now timestamptz)
RETURNS boolean LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_taken record;
    v_head clipboard.head;
    v_size integer;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM clipboard.take(p_profile, p_now);
    v_head := v_taken.head;
    DELETE FROM clipboard.entry e WHERE e.profile_id = p_profile AND e.name_mac = p_name_mac
    RETURNING e.size_bytes INTO v_size;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    v_head.entries := v_head.entries - 1;
    v_head.bytes := v_head.bytes - v_size;
    PERFORM clipboard.give_back(v_head);
    RETURN true;
END
$$;

-- Remove everything, also what is kept for repeated calls. Answers how many could still be read.
CREATE FUNCTION clipboard.clear(p_profile uuid, p_now timestamptz)
RETURNS TABLE (stack_version bigint, cleared bigint) LANGUAGE plpgsql
SET enable_seqscan = off AS $$
DECLARE
    v_taken record;
    v_head clipboard.head;
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT * INTO v_taken FROM clipboard.take(p_profile, p_now);
    v_head := v_taken.head;
    stack_version := v_head.version + 1;
    cleared := v_head.entries;
    DELETE FROM clipboard.entry e WHERE e.profile_id = p_profile;
    v_head.version := stack_version;
    v_head.entries := 0;
    v_head.bytes := 0;
    PERFORM clipboard.give_back(v_head);
    RETURN NEXT;
END
$$;

-- One chore passes over all profiles. It runs in a function of the owner, who alone sees these tables whole.
-- The service's role can call the function and sees nothing more.
CREATE POLICY chores ON clipboard.head TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY chores ON clipboard.entry TO CURRENT_USER USING (true) WITH CHECK (true);
CREATE POLICY chores ON clipboard.answer TO CURRENT_USER USING (true) WITH CHECK (true);

-- Delete what nobody can be answered with any more, at most so much of each kind. Answers how much. Profiles whose
-- row somebody holds are passed over: whoever holds it does the same for it.
CREATE FUNCTION clipboard.sweep(p_limit integer, p_popped_kept interval, p_now timestamptz) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH due AS MATERIALIZED (
        SELECT w.ctid AS place, w.profile_id FROM clipboard.entry w WHERE w.expires_at <= p_now
        ORDER BY w.expires_at LIMIT p_limit
    ), taken AS MATERIALIZED (
        SELECT h.profile_id FROM clipboard.head h
        WHERE h.profile_id = ANY (ARRAY(SELECT d.profile_id FROM due d)) FOR UPDATE SKIP LOCKED
    ), expired AS (
        DELETE FROM clipboard.entry e
        WHERE e.ctid = ANY (ARRAY(
            SELECT d.place FROM due d WHERE d.profile_id = ANY (ARRAY(SELECT t.profile_id FROM taken t))))
        RETURNING e.profile_id, e.size_bytes, e.popped_version
    ), less AS (
        UPDATE clipboard.head h SET entries = h.entries - g.entries, bytes = h.bytes - g.bytes
        FROM (
            SELECT x.profile_id, count(*) AS entries, sum(x.size_bytes) AS bytes FROM expired x
            WHERE x.popped_version IS NULL GROUP BY x.profile_id
        ) g
        WHERE h.profile_id = g.profile_id
    ), popped AS (
        DELETE FROM clipboard.entry e WHERE e.ctid = ANY (ARRAY(
            SELECT w.ctid FROM clipboard.entry w WHERE w.popped_at <= p_now - p_popped_kept AND w.expires_at > p_now
            ORDER BY w.popped_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    ), answers AS (
        DELETE FROM clipboard.answer a WHERE a.ctid = ANY (ARRAY(
            SELECT w.ctid FROM clipboard.answer w WHERE w.expires_at <= p_now
            ORDER BY w.expires_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT (SELECT count(*) FROM expired) + (SELECT count(*) FROM popped) + (SELECT count(*) FROM answers);
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA clipboard FROM PUBLIC;
