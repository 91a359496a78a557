-- Profiles that are being erased, and what is kept of them afterwards: an id, times and counts.

-- From the moment that a profile is being erased it has no name: nobody finds it, and others may take its names.
ALTER TABLE access.profile
    ALTER COLUMN name_mac DROP NOT NULL,
    ALTER COLUMN name_sealed DROP NOT NULL,
    ADD COLUMN erasing_since timestamptz,
    ADD CONSTRAINT named_until_erased CHECK (
        num_nulls(name_mac, name_sealed) = CASE WHEN erasing_since IS NULL THEN 0 ELSE 2 END);

CREATE OR REPLACE VIEW access.named_profile WITH (security_invoker) AS
SELECT p.id, o.id AS owner_id, w.id AS workspace_id, p.created_at,
       o.name_sealed AS owner_sealed, w.name_sealed AS workspace_sealed, p.name_sealed AS profile_sealed
FROM access.profile p
JOIN access.workspace w ON w.id = p.workspace
JOIN access.owner o ON o.id = w.owner
WHERE p.erasing_since IS NULL;

-- Keys without their hashes, as operators see them.
CREATE VIEW access.shown_key WITH (security_invoker) AS
SELECT k.id, k.profile, k.name_sealed, k.scopes, k.created_at, k.expires_at, k.revoked_at
FROM access.api_key k
JOIN access.profile p ON p.id = k.profile
WHERE p.erasing_since IS NULL;

-- Not tied to the profile: it stays when that is gone.
CREATE TABLE access.erasure (
    profile uuid PRIMARY KEY,
    requested_at timestamptz NOT NULL,
    completed_at timestamptz CHECK (completed_at >= requested_at),
    -- Whether a key of it could administer: that there was one is remembered, so that none is made unasked.
    administered boolean NOT NULL,
    -- When a worker may take it: later than now while one is at work, waits for calls to end, or has failed.
    next_at timestamptz NOT NULL,
    -- How often in a row it could not go on.
    failures integer NOT NULL DEFAULT 0 CHECK (failures >= 0)
);
CREATE INDEX erasure_by_age ON access.erasure (requested_at, profile);
CREATE INDEX erasure_open ON access.erasure (next_at) WHERE completed_at IS NULL;

CREATE TABLE access.erasure_receipt (
    profile uuid NOT NULL REFERENCES access.erasure,
    service text COLLATE "C" NOT NULL,
    -- How often everything was deleted: once at once, and once more when no call from before can be under way.
    passes smallint NOT NULL CHECK (passes BETWEEN 0 AND 2),
    rows_deleted bigint NOT NULL CHECK (rows_deleted >= 0),
    keys_destroyed bigint NOT NULL CHECK (keys_destroyed >= 0),
    remaining bigint NOT NULL CHECK (remaining >= 0),
    completed_at timestamptz,
    PRIMARY KEY (profile, service),
    CHECK ((remaining = 0) = (completed_at IS NOT NULL))
);

-- As before, but never while an owner or a workspace that is left without a profile is deleted.
CREATE OR REPLACE FUNCTION access.create_profile(ids uuid[], macs bytea[], sealed bytea[], at timestamptz)
RETURNS SETOF access.named_profile LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('access.names', 0));

    INSERT INTO access.owner (id, name_mac, name_sealed, created_at)
    VALUES (ids[1], macs[1], sealed[1], at)
    ON CONFLICT (name_mac) DO NOTHING;

    INSERT INTO access.workspace (id, owner, name_mac, name_sealed, created_at)
    SELECT ids[2], o.id, macs[2], sealed[2], at FROM access.owner o WHERE o.name_mac = macs[1]
    ON CONFLICT (name_mac) DO NOTHING;

    INSERT INTO access.profile (id, workspace, name_mac, name_sealed, created_at)
    SELECT ids[3], w.id, macs[3], sealed[3], at FROM access.workspace w WHERE w.name_mac = macs[2]
    ON CONFLICT (name_mac) DO NOTHING;

    RETURN QUERY
    SELECT v.* FROM access.named_profile v JOIN access.profile p ON p.id = v.id WHERE p.name_mac = macs[3];
END $$;

-- As before, but none for a profile that is being erased.
CREATE OR REPLACE FUNCTION access.add_key(
    key_id text, of_profile uuid, name bytea, digest bytea, may text[], at timestamptz, until timestamptz,
    default_keys_max bigint, OUT verdict text, OUT keys_max bigint
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(p.keys_max, default_keys_max) INTO keys_max
    FROM access.profile p WHERE p.id = of_profile AND p.erasing_since IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        verdict := 'profile_not_found';
        RETURN;
    END IF;
    IF keys_max <= (
        SELECT count(*) FROM access.api_key k
        WHERE k.profile = of_profile AND k.revoked_at IS NULL AND coalesce(k.expires_at, 'infinity') > at
    ) THEN
        verdict := 'quota_exceeded';
        RETURN;
    END IF;
    INSERT INTO access.api_key (id, profile, name_sealed, secret_sha256, scopes, created_at, expires_at)
    VALUES (key_id, of_profile, name, digest, may, at, until);
    verdict := 'added';
END $$;

-- Whether an admin key was ever made here, be it revoked or erased since.
CREATE FUNCTION access.was_administered() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM access.api_key k WHERE 'admin' = ANY (k.scopes))
        OR EXISTS (SELECT FROM access.erasure e WHERE e.administered)
$$;

CREATE OR REPLACE FUNCTION access.add_first_key(
    key_id text, of_profile uuid, name bytea, digest bytea, may text[], at timestamptz
)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('access.add_first_key', 0));
    INSERT INTO access.api_key (id, profile, name_sealed, secret_sha256, scopes, created_at)
    SELECT key_id, of_profile, name, digest, may, at WHERE NOT access.was_administered();
    RETURN FOUND;
END $$;

-- Begin to erase a profile, unless that was begun before. Answers the erasure; nothing if there is no such profile.
CREATE FUNCTION access.erase_profile(of_profile uuid, at timestamptz)
RETURNS SETOF access.erasure LANGUAGE plpgsql AS $$
BEGIN
    -- Of many at once the first takes the row; the others find that it has been done.
    UPDATE access.profile p SET erasing_since = at, name_mac = NULL, name_sealed = NULL
    WHERE p.id = of_profile AND p.erasing_since IS NULL;
    IF FOUND THEN
        INSERT INTO access.erasure (profile, requested_at, administered, next_at) VALUES (of_profile, at, false, at)
        -- A profile that a restored backup brought back is erased anew.
        ON CONFLICT (profile) DO UPDATE SET requested_at = at, completed_at = NULL, next_at = at, failures = 0;
        DELETE FROM access.erasure_receipt r WHERE r.profile = of_profile;
    END IF;
    RETURN QUERY SELECT e.* FROM access.erasure e WHERE e.profile = of_profile;
END $$;

-- Write down what a service has deleted, and keep the erasure for whoever is at work on it.
CREATE FUNCTION access.keep_receipt(
    of_profile uuid, by_service text, in_pass smallint, rows_deleted bigint, keys_destroyed bigint, left_over bigint,
    at timestamptz, leased_until timestamptz
)
RETURNS void LANGUAGE sql AS $$
    INSERT INTO access.erasure_receipt AS r
        (profile, service, passes, rows_deleted, keys_destroyed, remaining, completed_at)
    VALUES (
        of_profile, by_service, CASE WHEN left_over = 0 THEN in_pass ELSE in_pass - 1 END,
        rows_deleted, keys_destroyed, left_over, CASE WHEN left_over = 0 THEN at END
    )
    ON CONFLICT (profile, service) DO UPDATE SET
        passes = greatest(r.passes, EXCLUDED.passes),
        rows_deleted = r.rows_deleted + EXCLUDED.rows_deleted,
        keys_destroyed = r.keys_destroyed + EXCLUDED.keys_destroyed,
        remaining = EXCLUDED.remaining, completed_at = EXCLUDED.completed_at;
    UPDATE access.erasure e SET next_at = leased_until WHERE e.profile = of_profile AND e.completed_at IS NULL;
$$;

-- Delete the profile with its keys, and its workspace and owner where no other profile is left to them.
CREATE FUNCTION access.finish_erasure(of_profile uuid, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    v_workspace uuid;
    v_owner uuid;
    v_deleted bigint;
    v_more bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('access.names', 0));
    PERFORM FROM access.profile p WHERE p.id = of_profile AND p.erasing_since IS NOT NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;  -- another has finished it
    END IF;

    UPDATE access.erasure e SET completed_at = greatest(at, e.requested_at), administered = e.administered OR EXISTS (
        SELECT FROM access.api_key k WHERE k.profile = of_profile AND 'admin' = ANY (k.scopes))
    WHERE e.profile = of_profile;

    DELETE FROM access.api_key k WHERE k.profile = of_profile;
    GET DIAGNOSTICS v_deleted = ROW_COUNT;
    DELETE FROM access.profile p WHERE p.id = of_profile RETURNING p.workspace INTO v_workspace;
    DELETE FROM access.workspace w
    WHERE w.id = v_workspace AND NOT EXISTS (SELECT FROM access.profile p WHERE p.workspace = w.id)
    RETURNING w.owner INTO v_owner;
    v_deleted := v_deleted + 1 + CASE WHEN FOUND THEN 1 ELSE 0 END;
    DELETE FROM access.owner o
    WHERE o.id = v_owner AND NOT EXISTS (SELECT FROM access.workspace w WHERE w.owner = o.id);
    GET DIAGNOSTICS v_more = ROW_COUNT;
    INSERT INTO access.erasure_receipt
        (profile, service, passes, rows_deleted, keys_destroyed, remaining, completed_at)
    VALUES (of_profile, 'access', 2, v_deleted + v_more, 0, 0, at)
    ON CONFLICT DO NOTHING;
END $$;
