-- Who may call, and as whom.
--
-- These tables are the operator's: the role that reads them must find a key before it knows whose it is,
-- and an operator lists the profiles of all. So no row-level security here (and no column `profile_id`, by
-- which tables of profiles are known); the role can read nothing else, and no other role can read this.
--
-- A name is found by its HMAC, taken over the names of its parents too, and shown by opening what is sealed.

CREATE TABLE access.owner (
    id uuid PRIMARY KEY,
    name_mac bytea NOT NULL UNIQUE CHECK (octet_length(name_mac) = 16),
    name_sealed bytea NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE access.workspace (
    id uuid PRIMARY KEY,
    owner uuid NOT NULL REFERENCES access.owner,
    name_mac bytea NOT NULL UNIQUE CHECK (octet_length(name_mac) = 16),
    name_sealed bytea NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX workspace_of_owner ON access.workspace (owner);

CREATE TABLE access.profile (
    id uuid PRIMARY KEY,
    workspace uuid NOT NULL REFERENCES access.workspace,
    name_mac bytea NOT NULL UNIQUE CHECK (octet_length(name_mac) = 16),
    name_sealed bytea NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX profile_of_workspace ON access.profile (workspace);
CREATE INDEX profile_by_age ON access.profile (created_at, id);

CREATE TABLE access.api_key (
    id text COLLATE "C" PRIMARY KEY CHECK (id ~ '^[a-z2-7]{12}$'),
    profile uuid NOT NULL REFERENCES access.profile,
    name_sealed bytea NOT NULL,
    -- Of the whole secret, which is random: a fast hash is enough.
    secret_sha256 bytea NOT NULL CHECK (octet_length(secret_sha256) = 32),
    -- `*` stands for all but `admin`. `internal` is for calls between services.
    scopes text[] NOT NULL CHECK (cardinality(scopes) BETWEEN 1 AND 64 AND 'internal' <> ALL (scopes)),
    created_at timestamptz NOT NULL,
    expires_at timestamptz CHECK (expires_at > created_at),
    revoked_at timestamptz
);

CREATE INDEX api_key_by_age ON access.api_key (created_at, id);
CREATE INDEX api_key_of_profile ON access.api_key (profile, created_at, id);

CREATE VIEW access.named_profile WITH (security_invoker) AS
SELECT p.id, o.id AS owner_id, w.id AS workspace_id, p.created_at,
       o.name_sealed AS owner_sealed, w.name_sealed AS workspace_sealed, p.name_sealed AS profile_sealed
FROM access.profile p
JOIN access.workspace w ON w.id = p.workspace
JOIN access.owner o ON o.id = w.owner;

-- The profile of this name, made with its owner and workspace where they are missing. Each array holds the
-- owner's, the workspace's and the profile's. Statements of their own, not parts of one, so that each sees
-- what others committed while the one before it waited for them.
CREATE FUNCTION access.create_profile(ids uuid[], macs bytea[], sealed bytea[], at timestamptz)
RETURNS SETOF access.named_profile LANGUAGE plpgsql AS $$
BEGIN
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

-- Adds a key only if no admin key was ever made here, and answers whether it did. Of two houses that start
-- at once on a new database, one wins.
CREATE FUNCTION access.add_first_key(
    key_id text, of_profile uuid, name bytea, digest bytea, may text[], at timestamptz
)
RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('access.add_first_key', 0));
    INSERT INTO access.api_key (id, profile, name_sealed, secret_sha256, scopes, created_at)
    SELECT key_id, of_profile, name, digest, may, at
    WHERE NOT EXISTS (SELECT FROM access.api_key k WHERE 'admin' = ANY (k.scopes));
    RETURN FOUND;
END $$;
