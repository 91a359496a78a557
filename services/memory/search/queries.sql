-- name: names
-- Whom the profile knows by names that stand in a query: the blind name, and whoever is called so.
SELECT a.mac, a.actor_mac FROM memory.actor a WHERE a.profile_id = $1 AND a.mac = ANY ($2::bytea[]);

-- name: search
-- What may answer a query, with the features that rank it.
--
-- $1 profile, $2 vector of the query or NULL, $3 its model, $4 at most 64 different terms, $5 blind phrases that may be
-- aliases, $6 blind content, $7 candidates of each arm, $8 limit of the answer; filters, NULL for none:
-- $9 rings, $10 session, $11 agent, $12 actor, $13 any of tags, $14 all of different tags, $15 none of tags,
-- $16 since, $17 until.
--
-- Every arm draws from one scope, so that no filter comes after a limit. Plans are made without knowing the
-- filters, so nothing here may become quadratic: an IN that is a value is hashed, a FULL JOIN is never a
-- nested loop, and OFFSET 0 keeps look-ups by index what they are.
WITH scope AS MATERIALIZED (
    SELECT m.id, m.session_id, m.position, m.length, m.occurred_at, m.ring = 5 AS shock,
        m.embedding_model IS DISTINCT FROM $3 AS not_compared,
        -- Vectors have length 1, so their inner product is the cosine. Another model's are never compared.
        CASE WHEN m.embedding_model = $3 THEN -(m.embedding <#> $2::halfvec) END AS cosine
    FROM memory.memory m
    WHERE m.profile_id = $1
        AND m.superseded_by IS NULL
        AND ($9::smallint[] IS NULL OR m.ring = ANY ($9))
        AND ($10::uuid IS NULL OR m.session_id = $10)
        AND ($11::bytea IS NULL OR m.session_id IN (
            SELECT s.id FROM memory.session s WHERE s.profile_id = $1 AND s.agent_mac = $11
        ))
        AND ($12::bytea IS NULL OR m.actor_mac = $12)
        AND ($13::bytea[] IS NULL OR m.id IN (
            SELECT t.memory_id FROM memory.tag t WHERE t.profile_id = $1 AND t.mac = ANY ($13)
        ))
        AND ($14::bytea[] IS NULL OR m.id IN (
            SELECT t.memory_id FROM memory.tag t WHERE t.profile_id = $1 AND t.mac = ANY ($14)
            GROUP BY t.memory_id HAVING count(*) = cardinality($14)
        ))
        AND ($15::bytea[] IS NULL OR m.id NOT IN (
            SELECT t.memory_id FROM memory.tag t WHERE t.profile_id = $1 AND t.mac = ANY ($15)
        ))
        AND ($16::timestamptz IS NULL OR m.occurred_at >= $16)
        AND ($17::timestamptz IS NULL OR m.occurred_at < $17)
),
usual AS MATERIALIZED (
    SELECT count(*) AS memories, avg(s.length)::float8 AS length,
        (coalesce(sum(s.cosine), 0) + 10 * 0.1) / (count(s.cosine) + 10) AS cosine,
        bool_or(s.not_compared OR s.cosine IS NULL) AS degraded
    FROM scope s
),
occurrence AS MATERIALIZED (
    SELECT array_position($4::bigint[], p.term) AS number, p.memory_id, p.tf, p.length
    FROM memory.posting p WHERE p.profile_id = $1 AND p.term = ANY ($4::bigint[])
),
-- The rarer a term is in the whole profile, the more it says. In the order of the terms.
weight AS MATERIALIZED (
    SELECT coalesce(
        array_agg(ln(1 + (n.memories - t.df + 0.5::float8) / (t.df + 0.5::float8)) ORDER BY t.number), '{}'
    ) AS idfs
    FROM (
        SELECT q.number, count(o.memory_id) AS df
        FROM generate_subscripts($4::bigint[], 1) q (number) LEFT JOIN occurrence o ON o.number = q.number
        GROUP BY q.number
    ) t,
    (SELECT CASE WHEN num_nonnulls($9, $10, $11, $12, $13, $14, $15, $16, $17) = 0
        THEN (SELECT u.memories FROM usual u)
        ELSE (SELECT count(*) FROM memory.memory m WHERE m.profile_id = $1) END AS memories) n
),
-- BM25 with k1 1.2 and b 1, lengths taken 20 terms longer than they are: between short texts length hardly
-- matters, between long ones it does. Which terms a memory has stands in the bits of a number.
lexical AS MATERIALIZED (
    SELECT o.memory_id, bit_or(1::bigint << (o.number - 1)) AS terms,
        sum(
            (SELECT w.idfs FROM weight w)[o.number] * o.tf * 2.2
            / (o.tf + 1.2 * (o.length + 20) / ((SELECT u.length FROM usual u) + 20))
        ) AS bm25
    FROM occurrence o
    WHERE num_nonnulls($9, $10, $11, $12, $13, $14, $15, $16, $17) = 0
        OR (o.memory_id IN (SELECT s.id FROM scope s)) IS TRUE
    GROUP BY o.memory_id
),
-- The best of each arm; and the newest, so that the answer is full even where little matches.
chosen AS MATERIALIZED (
    (SELECT s.id FROM scope s WHERE s.cosine IS NOT NULL ORDER BY s.cosine DESC, s.id LIMIT $7)
    UNION (SELECT l.memory_id FROM lexical l ORDER BY l.bm25 DESC, l.memory_id LIMIT $7)
    UNION (
        SELECT s.id FROM scope s
        WHERE (s.id IN (
            SELECT a.memory_id FROM memory.alias a WHERE a.profile_id = $1 AND a.mac = ANY ($5::bytea[])
        )) IS TRUE
        ORDER BY s.cosine DESC NULLS LAST, s.id LIMIT $7
    )
    -- The closest shocks, however much else comes closer.
    UNION (SELECT s.id FROM scope s WHERE s.shock AND s.cosine IS NOT NULL ORDER BY s.cosine DESC, s.id LIMIT 10)
    UNION (
        SELECT l.memory_id FROM lexical l WHERE (l.memory_id IN (SELECT s.id FROM scope s WHERE s.shock)) IS TRUE
        ORDER BY l.bm25 DESC, l.memory_id LIMIT 10
    )
    UNION (
        SELECT s.id FROM scope s ORDER BY s.occurred_at DESC, s.id
        LIMIT CASE WHEN (SELECT u.degraded FROM usual u) THEN $8 ELSE 0 END
    )
),
-- With them comes what stands within two places of them in the same session.
near AS MATERIALIZED (
    SELECT DISTINCT n.id
    FROM chosen c
    CROSS JOIN LATERAL (
        SELECT m.session_id, m.position FROM memory.memory m WHERE m.profile_id = $1 AND m.id = c.id OFFSET 0
    ) at
    CROSS JOIN LATERAL (
        SELECT m.id FROM memory.memory m
        WHERE m.profile_id = $1 AND m.session_id = at.session_id
            AND m.position BETWEEN at.position - 2 AND at.position + 2
            AND m.superseded_by IS NULL
        OFFSET 0
    ) n
),
near_lexical AS (
    SELECT n.id, l.bm25, l.terms FROM near n FULL JOIN lexical l ON l.memory_id = n.id
    WHERE coalesce(n.id::text, '') <> ''
)
SELECT m.id, m.session_id, m.position, m.ring, m.occurred_at, m.actor_mac, m.length, m.asks, m.reinforcement_count,
    m.content_mac = $6 AS exact, coalesce(n.bm25, 0) AS bm25, coalesce(n.terms, 0) AS terms,
    (m.id IN (
        SELECT a.memory_id FROM memory.alias a WHERE a.profile_id = $1 AND a.mac = ANY ($5::bytea[])
    )) IS TRUE AS called,
    CASE WHEN m.embedding_model = $3 THEN -(m.embedding <#> $2::halfvec) END AS cosine,
    u.cosine AS usual_cosine, u.degraded, (SELECT w.idfs FROM weight w) AS idfs
FROM near_lexical n
CROSS JOIN usual u
CROSS JOIN LATERAL (SELECT m.* FROM memory.memory m WHERE m.profile_id = $1 AND m.id = n.id OFFSET 0) m
WHERE num_nonnulls($9, $10, $11, $12, $13, $14, $15, $16, $17) = 0
    OR (m.id IN (SELECT s.id FROM scope s)) IS TRUE;

-- name: kinship
-- How close some memories are to one another in meaning: each pair once.
SELECT a.id AS one, b.id AS other, -(a.embedding <#> b.embedding) AS cosine
FROM memory.memory a JOIN memory.memory b ON b.profile_id = a.profile_id AND b.id > a.id
WHERE a.profile_id = $1 AND a.id = ANY ($2::uuid[]) AND b.id = ANY ($2::uuid[])
    AND a.embedding_model = b.embedding_model;

-- name: layer_one
-- What a search shows of its hits.
SELECT id, version, session_id, ring, stage, type, outcome, occurred_at, content_tokens, summary_tokens,
       essence_tokens, content_sealed, summary_sealed, essence_sealed, labels_sealed
FROM memory.outline WHERE profile_id = $1 AND id = ANY ($2::uuid[]);
