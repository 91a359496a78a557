-- Entries of clipboards. What people wrote or chose is sealed; names are found by a keyed hash that only the
-- profile's own key can make. Numbers of visibilities and sources are those of treering.clipboard.v1.
--
-- A profile belongs to one workspace, so that its one stack is also the one of the workspace.

-- Whoever changes a profile's entries takes this row first: so the stack has one order, and a quota is exact.
CREATE TABLE clipboard.head (
    profile_id uuid PRIMARY KEY,
    -- Goes up with every change of the stack.
    version bigint NOT NULL DEFAULT 0 CHECK (version >= 0),
    last_position bigint NOT NULL DEFAULT 0 CHECK (last_position >= 0),
    -- What its entries come to: those that were not popped, and whose rows are still there.
    entries bigint NOT NULL DEFAULT 0 CHECK (entries >= 0),
    bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
);

CREATE TABLE clipboard.entry (
    profile_id uuid NOT NULL,
    id uuid NOT NULL,
    workspace_id uuid NOT NULL,
    name_mac bytea CHECK (octet_length(name_mac) = 16),
    position bigint CHECK (position > 0),
    -- The change that took it off the stack. Such an entry is there only to answer a repeated call.
    popped_version bigint,
    popped_at timestamptz,
    -- What the sealed columns are bound to, besides name or id: no two writes have the same.
    version bigint NOT NULL CHECK (version >= 0),
    visibility smallint NOT NULL CHECK (visibility BETWEEN 1 AND 3),
    encoding text NOT NULL CHECK (encoding IN ('utf-8', 'base64', 'hex')),
    source smallint NOT NULL CHECK (source BETWEEN 1 AND 4),
    size_bytes integer NOT NULL CHECK (size_bytes BETWEEN 0 AND 2097152),
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Name, content type, tool and model.
    labels_sealed bytea NOT NULL,
    value_sealed bytea NOT NULL,
    PRIMARY KEY (profile_id, id),
    UNIQUE (profile_id, name_mac),
    CONSTRAINT name_or_place CHECK (num_nonnulls(name_mac, position) = 1),
    CHECK (popped_version IS NULL OR position IS NOT NULL),
    CHECK ((popped_version IS NULL) = (popped_at IS NULL))
);
-- Ciphertext does not compress.
ALTER TABLE clipboard.entry
    ALTER COLUMN labels_sealed SET STORAGE EXTERNAL,
    ALTER COLUMN value_sealed SET STORAGE EXTERNAL;
CREATE UNIQUE INDEX entry_stack ON clipboard.entry (profile_id, position)
    WHERE position IS NOT NULL AND popped_version IS NULL;
CREATE INDEX entry_newest ON clipboard.entry (profile_id, created_at DESC, id DESC) WHERE popped_version IS NULL;
CREATE INDEX entry_expires ON clipboard.entry (profile_id, expires_at);
CREATE INDEX entry_swept ON clipboard.entry (expires_at);
CREATE INDEX entry_popped ON clipboard.entry (profile_id, popped_version) WHERE popped_version IS NOT NULL;
CREATE INDEX entry_popped_at ON clipboard.entry (popped_at) WHERE popped_at IS NOT NULL;

-- What was answered to calls with an idempotency key.
CREATE TABLE clipboard.answer (
    profile_id uuid NOT NULL,
    key_mac bytea NOT NULL,
    request_mac bytea NOT NULL,
    stack_version bigint NOT NULL,
    entry_id uuid NOT NULL,
    position bigint NOT NULL,
    created_at timestamptz NOT NULL,
    entry_expires_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (profile_id, key_mac)
);
CREATE INDEX answer_expires ON clipboard.answer (expires_at);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['head', 'entry', 'answer']
    LOOP
        EXECUTE format('ALTER TABLE clipboard.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE clipboard.%I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format(
            $policy$CREATE POLICY own_profile ON clipboard.%I
                USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
                WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)$policy$,
            name
        );
    END LOOP;
END
$$;

-- What others may read, and read only: somebody has to be there, and the entry must be for them.
CREATE POLICY shared ON clipboard.entry FOR SELECT USING (
    NULLIF(current_setting('app.profile_id', true), '') IS NOT NULL
    AND popped_version IS NULL
    AND (
        visibility = 3
        OR (visibility = 2 AND workspace_id = NULLIF(current_setting('app.workspace_id', true), '')::uuid)
    )
);
