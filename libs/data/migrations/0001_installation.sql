-- One row: which master key this database was founded with. The id tells nothing of the key.
CREATE TABLE treering.installation (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    master_key_id uuid NOT NULL,
    founded_at timestamptz NOT NULL DEFAULT now()
);

GRANT USAGE ON SCHEMA treering TO PUBLIC;
GRANT SELECT ON treering.installation TO PUBLIC;
