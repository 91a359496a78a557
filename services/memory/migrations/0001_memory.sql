-- Sessions and memories. What people wrote or chose is sealed; what has to be found is blind: a keyed hash
-- that only the profile's own key can make. Numbers of rings, stages, types, outcomes and sources are those
-- of treering.memory.v1.

CREATE TABLE memory.session (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    name_mac bytea NOT NULL,
    name_sealed bytea NOT NULL,
    agent_mac bytea,
    agent_sealed bytea,
    state smallint NOT NULL DEFAULT 1 CHECK (state IN (1, 2)),
    last_position integer NOT NULL DEFAULT 0,
    observation_count integer NOT NULL DEFAULT 0 CHECK (observation_count >= 0),
    total_tokens bigint NOT NULL DEFAULT 0,
    started_at timestamptz NOT NULL,
    active_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (profile_id, id),
    CHECK ((state = 2) = (ended_at IS NOT NULL)),
    CHECK ((agent_mac IS NULL) = (agent_sealed IS NULL))
);
-- While a session is open, its name leads to it.
CREATE UNIQUE INDEX session_open ON memory.session (profile_id, name_mac) WHERE state = 1;
CREATE INDEX session_newest ON memory.session (profile_id, started_at DESC, id DESC);
CREATE INDEX session_agent ON memory.session (profile_id, agent_mac, started_at DESC, id DESC);

CREATE TABLE memory.memory (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    session_id uuid NOT NULL,
    -- Its place in the session. Deleting leaves a hole.
    position integer NOT NULL CHECK (position > 0),
    ring smallint NOT NULL DEFAULT 1 CHECK (ring BETWEEN 1 AND 5),
    stage smallint NOT NULL DEFAULT 1 CHECK (stage BETWEEN 1 AND 4),
    type smallint NOT NULL CHECK (type BETWEEN 1 AND 10),
    outcome smallint NOT NULL DEFAULT 0 CHECK (outcome BETWEEN 0 AND 3),
    source smallint NOT NULL CHECK (source BETWEEN 0 AND 4),
    -- What the sealed columns are bound to: goes up whenever they are written anew.
    version integer NOT NULL DEFAULT 1 CHECK (version > 0),
    occurred_at timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    touched_at timestamptz NOT NULL,
    content_mac bytea NOT NULL,
    actor_mac bytea,
    -- Terms in the index, with repetition.
    length integer NOT NULL CHECK (length >= 0),
    -- Whether it asks something.
    asks boolean NOT NULL DEFAULT false,
    content_tokens integer NOT NULL CHECK (content_tokens >= 0),
    summary_tokens integer NOT NULL CHECK (summary_tokens >= 0),
    essence_tokens integer NOT NULL CHECK (essence_tokens >= 0),
    successes integer NOT NULL DEFAULT 0 CHECK (successes >= 0),
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0),
    reinforcement_count integer NOT NULL DEFAULT 0 CHECK (reinforcement_count >= 0),
    access_count integer NOT NULL DEFAULT 0 CHECK (access_count >= 0),
    secrets_removed integer NOT NULL DEFAULT 0 CHECK (secrets_removed >= 0),
    embedding_model text,
    embedding halfvec,
    content_sealed bytea,
    -- NULL where it says no less than the longer text.
    summary_sealed bytea,
    essence_sealed bytea,
    -- Actor, tags and aliases as they were written.
    labels_sealed bytea,
    metadata_sealed bytea,
    PRIMARY KEY (profile_id, id),
    UNIQUE (profile_id, session_id, position),
    -- In this order it also finds a text in any session.
    UNIQUE (profile_id, content_mac, session_id),
    FOREIGN KEY (profile_id, session_id) REFERENCES memory.session,
    CHECK ((embedding IS NULL) = (embedding_model IS NULL)),
    CHECK (num_nonnulls(content_sealed, summary_sealed, essence_sealed) > 0),
    -- LONG_TERM takes a mean of at least 0.7 over what was recorded; in whole numbers, so that no NaN passes.
    CONSTRAINT long_term_is_earned CHECK (ring <> 4 OR 10 * (successes + 1) >= 7 * (successes + failures + 2))
) WITH (fillfactor = 90);
-- A vector that is read for every search stands in the row; ciphertext does not compress.
ALTER TABLE memory.memory ALTER COLUMN embedding SET STORAGE PLAIN;
ALTER TABLE memory.memory
    ALTER COLUMN content_sealed SET STORAGE EXTERNAL,
    ALTER COLUMN summary_sealed SET STORAGE EXTERNAL,
    ALTER COLUMN essence_sealed SET STORAGE EXTERNAL,
    ALTER COLUMN labels_sealed SET STORAGE EXTERNAL,
    ALTER COLUMN metadata_sealed SET STORAGE EXTERNAL;
CREATE INDEX memory_newest ON memory.memory (profile_id, created_at DESC, id DESC);
-- Everything that statistics add up, so that they need not read the rows.
CREATE INDEX memory_counts ON memory.memory (profile_id, ring, stage) INCLUDE (content_tokens, secrets_removed);

-- Which memory has which term how often. Terms are keyed hashes of stems.
CREATE TABLE memory.posting (
    profile_id uuid NOT NULL,
    term bigint NOT NULL,
    memory_id uuid NOT NULL,
    tf smallint NOT NULL CHECK (tf > 0),
    length integer NOT NULL CHECK (length > 0),
    PRIMARY KEY (profile_id, term, memory_id) INCLUDE (tf, length)
);
CREATE INDEX posting_of ON memory.posting (profile_id, memory_id);

CREATE TABLE memory.tag (
    profile_id uuid NOT NULL,
    mac bytea NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (profile_id, mac, memory_id)
);
CREATE INDEX tag_of ON memory.tag (profile_id, memory_id);

CREATE TABLE memory.alias (
    profile_id uuid NOT NULL,
    mac bytea NOT NULL,
    memory_id uuid NOT NULL,
    PRIMARY KEY (profile_id, mac, memory_id)
);
CREATE INDEX alias_of ON memory.alias (profile_id, memory_id);

-- What everybody who ever said something is called by: the whole name, and each word of it.
CREATE TABLE memory.actor (
    profile_id uuid NOT NULL,
    mac bytea NOT NULL,
    actor_mac bytea NOT NULL,
    PRIMARY KEY (profile_id, mac, actor_mac)
);

-- Memories that the preferred model has not embedded yet.
CREATE TABLE memory.pending (
    profile_id uuid NOT NULL,
    memory_id uuid NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, memory_id)
);
CREATE INDEX pending_next ON memory.pending (next_at);

CREATE TABLE memory.idempotency (
    profile_id uuid NOT NULL,
    key_mac bytea NOT NULL,
    request_mac bytea NOT NULL,
    session_id uuid NOT NULL,
    content_mac bytea NOT NULL,
    reinforced boolean NOT NULL DEFAULT false,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, key_mac)
);
CREATE INDEX idempotency_expires ON memory.idempotency (expires_at);

CREATE TABLE memory.z_report (
    profile_id uuid NOT NULL,
    session_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    body_sealed bytea NOT NULL,
    PRIMARY KEY (profile_id, session_id),
    FOREIGN KEY (profile_id, session_id) REFERENCES memory.session
);
CREATE INDEX z_report_newest ON memory.z_report (profile_id, created_at DESC, session_id DESC);

-- A memory without what only searching needs.
CREATE VIEW memory.shown WITH (security_invoker = true) AS
SELECT profile_id, id, session_id, position, ring, stage, type, outcome, source, version,
       occurred_at, created_at, updated_at, touched_at, content_mac,
       content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count, access_count,
       secrets_removed, embedding_model, content_sealed, summary_sealed, essence_sealed, labels_sealed,
       metadata_sealed
FROM memory.memory;

-- A memory in a list: without its full text, unless that is all there is to show.
CREATE VIEW memory.outline WITH (security_invoker = true) AS
SELECT profile_id, id, session_id, position, ring, stage, type, outcome, source, version,
       occurred_at, created_at, updated_at, touched_at,
       content_tokens, summary_tokens, essence_tokens, successes, failures, reinforcement_count, access_count,
       secrets_removed, embedding_model,
       CASE WHEN summary_sealed IS NULL THEN content_sealed END AS content_sealed,
       summary_sealed, essence_sealed, labels_sealed, metadata_sealed
FROM memory.memory;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['session', 'memory', 'posting', 'tag', 'alias', 'actor', 'pending', 'idempotency', 'z_report']
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
