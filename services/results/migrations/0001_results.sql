-- Runs and what their tasks came to. What people wrote or chose is sealed; workflow and task ids are found by keyed
-- hashes that only the profile's own key can make. Numbers of kinds, states and statuses are those of
-- treering.results.v1, those of sources are those of the doors.
--
-- Whatever belongs to a run has the run's moment of expiry beside it, so that all of it is gone at once.

-- Whoever changes a profile's runs takes this row first: so results have one order, and a quota is exact.
CREATE TABLE results.head (
    profile_id uuid PRIMARY KEY,
    -- What its runs come to that are counted: those that have not expired, or not yet been looked at since.
    runs bigint NOT NULL DEFAULT 0 CHECK (runs >= 0),
    -- Results and turns.
    results bigint NOT NULL DEFAULT 0 CHECK (results >= 0),
    -- Of results, turns and uploads.
    bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
);

CREATE TABLE results.run (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    workflow_mac bytea NOT NULL CHECK (octet_length(workflow_mac) = 16),
    -- A first result began it.
    implicit boolean NOT NULL,
    kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 5),
    state smallint NOT NULL DEFAULT 1 CHECK (state BETWEEN 1 AND 4),
    parent_run_id uuid,
    -- What a repeated start, or a repeated finish, has to have alike.
    start_mac bytea,
    finish_mac bytea,
    -- Goes up with every change that somebody may wait for.
    version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
    last_position bigint NOT NULL DEFAULT 0 CHECK (last_position >= 0),
    turns integer NOT NULL DEFAULT 0 CHECK (turns >= 0),
    -- What it comes to in the profile's row, for as long as it is counted there.
    counted boolean NOT NULL DEFAULT true,
    results bigint NOT NULL DEFAULT 0 CHECK (results >= 0),
    bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0),
    -- The task whose result is the final one, as FinishRun named it.
    final_mac bytea CHECK (octet_length(final_mac) = 16),
    created_at timestamptz NOT NULL,
    ended_at timestamptz,
    expires_at timestamptz NOT NULL,
    -- What `body_sealed` is bound to besides the workflow id: no two writes have the same.
    body_version bigint NOT NULL CHECK (body_version >= 0),
    -- Workflow id and goal. NULL: the run has expired and was emptied, and only its hashes are still known.
    body_sealed bytea,
    -- What it came to, once it was finished.
    outcome_sealed bytea,
    PRIMARY KEY (profile_id, id),
    UNIQUE (profile_id, workflow_mac),
    CHECK ((state = 1) = (ended_at IS NULL)),
    CHECK ((kind = 5) = (parent_run_id IS NOT NULL))
);
CREATE INDEX run_newest ON results.run (profile_id, created_at DESC, id DESC);
CREATE INDEX run_counted ON results.run (profile_id, expires_at) WHERE counted;
CREATE INDEX run_full ON results.run (expires_at) WHERE body_sealed IS NOT NULL;
CREATE INDEX run_emptied ON results.run (expires_at) WHERE body_sealed IS NULL;

CREATE TABLE results.result (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    run_id uuid NOT NULL,
    task_mac bytea NOT NULL CHECK (octet_length(task_mac) = 16),
    position bigint NOT NULL CHECK (position > 0),
    attempt integer NOT NULL CHECK (attempt > 0),
    status smallint NOT NULL CHECK (status IN (1, 2)),
    encoding text NOT NULL CHECK (encoding IN ('utf-8', 'base64')),
    source smallint NOT NULL CHECK (source BETWEEN 1 AND 4),
    -- Decoded.
    size_bytes bigint NOT NULL CHECK (size_bytes BETWEEN 0 AND 67108864),
    parts integer NOT NULL CHECK (parts BETWEEN 1 AND 64),
    -- What a result put again has to have alike.
    same_mac bytea NOT NULL CHECK (octet_length(same_mac) = 16),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Task id, content type, digest and error.
    labels_sealed bytea NOT NULL,
    -- NULL: it stands in `part`.
    content_sealed bytea,
    PRIMARY KEY (profile_id, id),
    UNIQUE (profile_id, run_id, task_mac),
    UNIQUE (profile_id, run_id, position)
);
CREATE INDEX result_expires ON results.result (expires_at);

-- Content that came as a stream. Nobody reads a part before there is a result with its id.
CREATE TABLE results.part (
    profile_id uuid NOT NULL,
    result_id uuid NOT NULL,
    number integer NOT NULL CHECK (number BETWEEN 0 AND 63),
    expires_at timestamptz NOT NULL,
    content_sealed bytea NOT NULL,
    PRIMARY KEY (profile_id, result_id, number)
);
CREATE INDEX part_expires ON results.part (expires_at);

-- A stream that is under way, or was left by its sender.
CREATE TABLE results.upload (
    profile_id uuid NOT NULL,
    result_id uuid NOT NULL,
    size_bytes bigint NOT NULL CHECK (size_bytes BETWEEN 0 AND 67108864),
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, result_id)
);
CREATE INDEX upload_expires ON results.upload (expires_at);

CREATE TABLE results.turn (
    profile_id uuid NOT NULL,
    run_id uuid NOT NULL,
    number integer NOT NULL CHECK (number > 0),
    -- What its sealed column is bound to.
    id uuid NOT NULL,
    same_mac bytea NOT NULL CHECK (octet_length(same_mac) = 16),
    size_bytes bigint NOT NULL CHECK (size_bytes >= 0),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Role and content.
    body_sealed bytea NOT NULL,
    PRIMARY KEY (profile_id, run_id, number)
);
CREATE INDEX turn_expires ON results.turn (expires_at);

-- The journal: one row for each run that was finished, never changed. Its order is that of the commits, since a
-- profile's row is held while a position is taken.
CREATE TABLE results.episode (
    profile_id uuid NOT NULL,
    run_id uuid NOT NULL,
    position bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 5),
    created_at timestamptz NOT NULL,
    -- NULL: it stays.
    expires_at timestamptz,
    -- Workflow id, goal, status and outcome, bound to the run.
    body_sealed bytea NOT NULL,
    PRIMARY KEY (profile_id, run_id)
);
CREATE UNIQUE INDEX episode_position ON results.episode (profile_id, position);

-- Ciphertext does not compress.
ALTER TABLE results.run ALTER COLUMN body_sealed SET STORAGE EXTERNAL, ALTER COLUMN outcome_sealed SET STORAGE EXTERNAL;
ALTER TABLE results.result
    ALTER COLUMN labels_sealed SET STORAGE EXTERNAL, ALTER COLUMN content_sealed SET STORAGE EXTERNAL;
ALTER TABLE results.part ALTER COLUMN content_sealed SET STORAGE EXTERNAL;
ALTER TABLE results.turn ALTER COLUMN body_sealed SET STORAGE EXTERNAL;
ALTER TABLE results.episode ALTER COLUMN body_sealed SET STORAGE EXTERNAL;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['head', 'run', 'result', 'part', 'upload', 'turn', 'episode']
    LOOP
        EXECUTE format('ALTER TABLE results.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE results.%I FORCE ROW LEVEL SECURITY', name);
        -- Chores pass over all profiles, in functions of the owner, who alone sees these tables whole.
        EXECUTE format('CREATE POLICY chores ON results.%I TO CURRENT_USER USING (true) WITH CHECK (true)', name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['head', 'run', 'result', 'part', 'upload', 'turn']
    LOOP
        EXECUTE format(
            $policy$CREATE POLICY own_profile ON results.%I
                USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
                WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)$policy$,
            name
        );
    END LOOP;
END
$$;

-- An episode is read and appended. Nothing changes one, and it is removed only when its profile has no keys any more.
CREATE POLICY own_profile ON results.episode FOR SELECT
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
CREATE POLICY appended ON results.episode FOR INSERT
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
CREATE POLICY erased ON results.episode FOR DELETE USING (
    profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid
    AND NOT EXISTS (SELECT FROM results.data_key k WHERE k.profile_id = episode.profile_id)
);
