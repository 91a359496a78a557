-- A small schema such as a service has, to test what all of them stand on.
CREATE TABLE room.thing (
    profile_id uuid NOT NULL,
    id uuid NOT NULL DEFAULT gen_random_uuid(),
    name text NOT NULL CHECK (name <> ''),
    about jsonb NOT NULL DEFAULT '{}',
    embedding halfvec(3),
    PRIMARY KEY (profile_id, id),
    UNIQUE (profile_id, name)
);

ALTER TABLE room.thing ENABLE ROW LEVEL SECURITY;
ALTER TABLE room.thing FORCE ROW LEVEL SECURITY;
CREATE POLICY own_profile ON room.thing
    USING (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid)
    WITH CHECK (profile_id = NULLIF(current_setting('app.profile_id', true), '')::uuid);

-- A write in one round trip.
CREATE FUNCTION room.put(profile uuid, thing text) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE made uuid;
BEGIN
    PERFORM set_config('app.profile_id', profile::text, true);
    INSERT INTO room.thing (profile_id, name) VALUES (profile, thing) RETURNING id INTO made;
    RETURN made;
END $$;
