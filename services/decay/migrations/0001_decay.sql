-- Policies, and what sweeps did. The memories themselves are memory's.

-- How the memories of a workspace age. Says nothing about any profile.
CREATE TABLE decay.policy (
    workspace_id uuid PRIMARY KEY,
    full_tokens integer NOT NULL CHECK (full_tokens <= 16000),
    full_duration interval NOT NULL,
    compressed_tokens integer NOT NULL CHECK (compressed_tokens < full_tokens),
    compressed_duration interval NOT NULL,
    summary_tokens integer NOT NULL CHECK (summary_tokens < compressed_tokens),
    summary_duration interval NOT NULL,
    essence_tokens integer NOT NULL CHECK (essence_tokens > 0 AND essence_tokens < summary_tokens),
    essence_duration interval NOT NULL,
    fresh_duration interval NOT NULL,
    -- Bounds on both sides, so that no NaN passes.
    accessed double precision NOT NULL CHECK (accessed BETWEEN 1 AND 10),
    reinforced double precision NOT NULL CHECK (reinforced BETWEEN 1 AND 10),
    failing double precision NOT NULL CHECK (failing BETWEEN 0.1 AND 1),
    keep_originals boolean NOT NULL,
    updated_at timestamptz NOT NULL,
    CHECK (least(full_duration, compressed_duration, summary_duration, essence_duration, fresh_duration) > interval '0')
);

-- What one sweep did to the memories of a profile. A sweep over all profiles has a row for each of those it found
-- something to do for.
CREATE TABLE decay.sweep (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    -- 1 somebody asked for it, 2 it was time.
    trigger smallint NOT NULL CHECK (trigger IN (1, 2)),
    started_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz NOT NULL DEFAULT now(),
    compressed bigint NOT NULL DEFAULT 0,
    summary bigint NOT NULL DEFAULT 0,
    essence bigint NOT NULL DEFAULT 0,
    forgotten bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,
    set_aside bigint NOT NULL DEFAULT 0,
    tokens_freed bigint NOT NULL DEFAULT 0,
    complete boolean NOT NULL DEFAULT false,
    PRIMARY KEY (profile_id, id)
);
CREATE INDEX sweep_newest ON decay.sweep (profile_id, started_at DESC, id DESC);
CREATE INDEX sweep_started ON decay.sweep (started_at);

ALTER TABLE decay.sweep ENABLE ROW LEVEL SECURITY;
ALTER TABLE decay.sweep FORCE ROW LEVEL SECURITY;
CREATE POLICY own_profile ON decay.sweep
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
-- A sweep passes over all profiles. It adds its numbers through functions of the owner.
CREATE POLICY chores ON decay.sweep TO CURRENT_USER USING (true) WITH CHECK (true);

-- What was done to a profile in one step of a sweep.
CREATE TYPE decay.tally AS (
    profile_id uuid,
    compressed bigint,
    summary bigint,
    essence bigint,
    forgotten bigint,
    failed bigint,
    set_aside bigint,
    tokens_freed bigint
);

-- Add what a sweep did.
CREATE FUNCTION decay.note_sweep(p_id uuid, p_trigger smallint, p_complete boolean, p_tallies decay.tally[])
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO decay.sweep AS s (
        profile_id, id, trigger, compressed, summary, essence, forgotten, failed, set_aside, tokens_freed, complete)
    SELECT t.profile_id, p_id, p_trigger, t.compressed, t.summary, t.essence, t.forgotten, t.failed, t.set_aside,
           t.tokens_freed, p_complete
    FROM unnest(p_tallies) t ORDER BY t.profile_id
    ON CONFLICT (profile_id, id) DO UPDATE SET
        ended_at = now(),
        compressed = s.compressed + EXCLUDED.compressed,
        summary = s.summary + EXCLUDED.summary,
        essence = s.essence + EXCLUDED.essence,
        forgotten = s.forgotten + EXCLUDED.forgotten,
        failed = s.failed + EXCLUDED.failed,
        set_aside = s.set_aside + EXCLUDED.set_aside,
        tokens_freed = s.tokens_freed + EXCLUDED.tokens_freed,
        complete = EXCLUDED.complete;
$$;

-- Delete what is remembered of sweeps long ago.
CREATE FUNCTION decay.forget_sweeps(p_limit integer, p_kept interval) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH gone AS (
        DELETE FROM decay.sweep s WHERE s.ctid = ANY (ARRAY(
            SELECT w.ctid FROM decay.sweep w WHERE w.started_at <= now() - p_kept
            ORDER BY w.started_at LIMIT p_limit FOR UPDATE SKIP LOCKED
        ))
        RETURNING 1
    )
    SELECT count(*) FROM gone;
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA decay FROM PUBLIC;
