-- How much a profile may keep: what was set for it. NULL: the house's default holds.

ALTER TABLE access.profile
    ADD COLUMN memories_max bigint CHECK (memories_max >= 0),
    ADD COLUMN clipboard_entries_max bigint CHECK (clipboard_entries_max >= 0),
    ADD COLUMN clipboard_bytes_max bigint CHECK (clipboard_bytes_max >= 0),
    ADD COLUMN keys_max bigint CHECK (keys_max >= 0);

-- Keys that may be live, so that counting them passes over those that have expired.
CREATE INDEX api_key_live ON access.api_key (profile, coalesce(expires_at, 'infinity')) WHERE revoked_at IS NULL;

-- Add a key, unless its profile has as many live ones as it may: as many as was set for it, or by default so many;
-- NULL for any number. Verdicts: 'added', 'profile_not_found', 'quota_exceeded'.
--
-- The profile's row is taken first, so that of many at once no more are added than may.
CREATE FUNCTION access.add_key(
    key_id text, of_profile uuid, name bytea, digest bytea, may text[], at timestamptz, until timestamptz,
    default_keys_max bigint, OUT verdict text, OUT keys_max bigint
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT coalesce(p.keys_max, default_keys_max) INTO keys_max
    FROM access.profile p WHERE p.id = of_profile FOR NO KEY UPDATE;
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
