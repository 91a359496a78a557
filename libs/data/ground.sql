-- What every schema of a service begins with.

-- The data keys of its profiles, each wrapped under the master key. Deleting a profile's rows makes
-- everything that was sealed for it unreadable.
CREATE TABLE {schema}.data_key (
    profile_id uuid NOT NULL,
    generation integer NOT NULL CHECK (generation > 0),
    id uuid NOT NULL,
    master_key_id uuid NOT NULL,
    wrapped bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (profile_id, generation)
);

ALTER TABLE {schema}.data_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE {schema}.data_key FORCE ROW LEVEL SECURITY;
CREATE POLICY own_profile ON {schema}.data_key
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);
