-- What there is on a profile's clipboard: what its row counts, less what has expired and was not swept yet.
CREATE FUNCTION clipboard.usage(p_profile uuid, p_now timestamptz, OUT entries bigint, OUT bytes bigint)
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM set_config('app.profile_id', p_profile::text, true);
    SELECT coalesce(h.entries, 0) - g.entries, coalesce(h.bytes, 0) - g.bytes INTO entries, bytes
    FROM (
        SELECT count(*) AS entries, coalesce(sum(e.size_bytes), 0) AS bytes FROM clipboard.entry e
        WHERE e.profile_id = p_profile AND e.expires_at <= p_now AND e.popped_version IS NULL
    ) g
    LEFT JOIN clipboard.head h ON h.profile_id = p_profile;
END
$$;

REVOKE ALL ON ALL ROUTINES IN SCHEMA clipboard FROM PUBLIC;
