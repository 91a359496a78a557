-- What is observed again in other words reinforces what said it first; what only looks alike is reported.

ALTER TABLE memory.memory
    -- It was not superseded by something newer: it said again what `superseded_by` says, which was reinforced for it.
    ADD COLUMN repeats boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT repeats_something CHECK (NOT repeats OR superseded_by IS NOT NULL);
-- What was deleted before comes back with it as well.
UPDATE memory.deleted d SET body = d.body || jsonb_build_object('repeats', false);

CREATE OR REPLACE VIEW memory.shown WITH (security_invoker = true) AS
SELECT profile_id, id, session_id, position, ring, stage, type, outcome, source, version,
       occurred_at, created_at, updated_at, touched_at, content_mac,
       content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count, access_count,
       secrets_removed, embedding_model, content_sealed, summary_sealed, essence_sealed, labels_sealed,
       metadata_sealed, ring_set_by, ring_confidence, ring_reason, ring_note_sealed, revision, valid_until,
       superseded_by, repeats
FROM memory.memory;

CREATE OR REPLACE VIEW memory.outline WITH (security_invoker = true) AS
SELECT profile_id, id, session_id, position, ring, stage, type, outcome, source, version,
       occurred_at, created_at, updated_at, touched_at,
       content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count, access_count,
       secrets_removed, embedding_model,
       CASE WHEN summary_sealed IS NULL THEN content_sealed END AS content_sealed,
       summary_sealed, essence_sealed, labels_sealed, metadata_sealed, ring_set_by, ring_confidence, ring_reason,
       ring_note_sealed, revision, valid_until, superseded_by, repeats
FROM memory.memory;

-- Pairs that are close in meaning and differ in a number, a negation, a name: perhaps one contradicts the other.
CREATE TABLE memory.conflict (
    profile_id uuid NOT NULL,
    newer uuid NOT NULL,
    older uuid NOT NULL,
    -- As `ConflictKind` has them.
    kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 5),
    -- NaN is above 1.
    cosine real NOT NULL CHECK (cosine >= -1 AND cosine <= 1.001),
    found_at timestamptz NOT NULL,
    dismissed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (profile_id, newer, older),
    FOREIGN KEY (profile_id, newer) REFERENCES memory.memory ON DELETE CASCADE,
    FOREIGN KEY (profile_id, older) REFERENCES memory.memory ON DELETE CASCADE,
    CHECK (newer <> older)
);
CREATE INDEX conflict_of_older ON memory.conflict (profile_id, older);
CREATE INDEX conflict_newest ON memory.conflict (profile_id, found_at DESC, newer, older) WHERE NOT dismissed;
ALTER TABLE memory.conflict ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory.conflict FORCE ROW LEVEL SECURITY;
CREATE POLICY own_profile ON memory.conflict
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
-- Chores that delete memories of all profiles delete these with them.
CREATE POLICY chores ON memory.conflict TO CURRENT_USER USING (true) WITH CHECK (true);

-- A text that is changed may contradict something else, and may not contradict what it did.
CREATE FUNCTION memory.settle_conflicts() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    DELETE FROM memory.conflict c
    WHERE c.profile_id = NEW.profile_id AND (c.newer = NEW.id OR c.older = NEW.id);
    RETURN NULL;
END
$$;
CREATE TRIGGER settle_conflicts AFTER UPDATE OF revision, superseded_by ON memory.memory FOR EACH ROW
    WHEN (NEW.revision <> OLD.revision OR NEW.superseded_by IS DISTINCT FROM OLD.superseded_by)
    EXECUTE FUNCTION memory.settle_conflicts();

-- What was kept without a vector is looked at once more when it has one.
CREATE TRIGGER await_curation_embedded AFTER UPDATE OF embedding ON memory.memory FOR EACH ROW
    WHEN (OLD.embedding IS NULL AND NEW.embedding IS NOT NULL AND NEW.ring = 1
        AND NEW.ring_set_by IS DISTINCT FROM 2 AND NEW.superseded_by IS NULL)
    EXECUTE FUNCTION memory.await_curation_again();

-- Let a memory be a repetition of an earlier one, or of what that repeats itself: it leaves every search, and what was
-- recorded for it counts for the other. Answers whether it is so: not if one of them has changed since they were compared,
-- is a shock, or holds no more, nor if the caller has put the later one into a ring.
--
-- Its row stays where it was observed, until it fades: who said it, when and in which words.
CREATE FUNCTION memory.repeat(
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

-- What is recorded for a repetition from then on counts for what it repeats.
CREATE FUNCTION memory.pass_on() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off AS $$
BEGIN
    UPDATE memory.memory m SET
        reinforcement_count = m.reinforcement_count + NEW.reinforcement_count - OLD.reinforcement_count,
        helped_count = m.helped_count + NEW.reinforcement_count - OLD.reinforcement_count,
        successes = m.successes + NEW.successes - OLD.successes,
        failures = m.failures + NEW.failures - OLD.failures,
        updated_at = greatest(m.updated_at, NEW.updated_at),
        touched_at = greatest(m.touched_at, NEW.touched_at)
    WHERE m.profile_id = NEW.profile_id AND m.id = NEW.superseded_by;
    RETURN NULL;
END
$$;
CREATE TRIGGER pass_on AFTER UPDATE OF successes, failures, reinforcement_count ON memory.memory FOR EACH ROW
    WHEN (OLD.repeats AND NEW.repeats)
    EXECUTE FUNCTION memory.pass_on();

-- A repetition stays where it is, to fade: what it repeats is moved.
DROP TRIGGER settle_ring ON memory.memory;
CREATE TRIGGER settle_ring BEFORE UPDATE OF successes, failures, reinforcement_count ON memory.memory
    FOR EACH ROW WHEN (NOT NEW.repeats) EXECUTE FUNCTION memory.settle_ring();

REVOKE ALL ON ALL ROUTINES IN SCHEMA memory FROM PUBLIC;
