-- How much of runs and their results a profile may keep: what was set for it. NULL: the house's default holds.

ALTER TABLE access.profile
    ADD COLUMN runs_max bigint CHECK (runs_max >= 0),
    ADD COLUMN results_max bigint CHECK (results_max >= 0),
    ADD COLUMN results_bytes_max bigint CHECK (results_bytes_max >= 0);
