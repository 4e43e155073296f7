-- One that comes late because it computes longer, was left idle, or has a slow
-- link: the cause is named, and the lateness is a note.  So it is of one that
-- was held up by a slow link, or may have waited for a missing rank, in a group
-- without the rank that waits; and so are bubbles for which a cause of half
-- their size was found.
CREATE TEMP TABLE f_cause AS
SELECT rank, min(id) AS id
FROM (
    SELECT id, rank
    FROM Finding
    WHERE kind IN ('slow_rank', 'free_time', 'slow_link')
    UNION ALL
    SELECT id, peer
    FROM Finding
    WHERE kind='slow_link'
    UNION ALL
    SELECT f.id, r.rank
    FROM Finding f
    JOIN f_rank h ON h.rank=f.rank
    JOIN f_rank r ON r.host=h.host
    WHERE f.kind IN ('slow_host', 'slow_port'))
GROUP BY rank;

INSERT INTO f_cause
SELECT m.rank, min(f.id)
FROM Finding f
JOIN CommGroupMember a ON a.rank=f.rank
JOIN CommGroupMember b ON b.rank=f.peer AND b.comm_group=a.comm_group
JOIN CommGroupMember m ON m.comm_group=a.comm_group
JOIN Finding l ON l.kind='late_arriver' AND l.rank=m.rank
WHERE f.kind='slow_link' AND m.rank NOT IN (SELECT rank FROM f_cause) AND NOT EXISTS (
    SELECT 1
    FROM CommGroupMember p
    WHERE p.comm_group=a.comm_group AND p.rank=l.peer)
GROUP BY m.rank;

-- A note says in 'words' why, and names the finding that is the cause.
CREATE TEMP TABLE f_note (id INTEGER PRIMARY KEY, words TEXT, cause INTEGER);

INSERT INTO f_note
SELECT f.id, 'This follows from finding ', min(c.id)
FROM Finding f
JOIN f_cause c ON c.rank=f.rank
WHERE f.kind='late_arriver'
GROUP BY f.id;

DROP TABLE temp.f_cause;

INSERT INTO f_note
SELECT b.id, 'This may follow from finding ', (
        SELECT f.id
        FROM Finding f
        WHERE f.kind IN ('slow_rank', 'slow_host', 'slow_link', 'slow_port')
        ORDER BY f.effect_ms DESC, f.id
        LIMIT 1)
FROM Finding b
WHERE b.kind='pipeline_bubble' AND EXISTS (
    SELECT 1
    FROM Finding f
    WHERE f.kind IN ('slow_rank', 'slow_host', 'slow_link', 'slow_port') AND 2*f.effect_ms
        >=b.effect_ms);

INSERT INTO f_note
SELECT f.id, 'Packets over it are small: see finding ', s.id
FROM Finding f
JOIN Finding s ON s.kind='small_packets'
WHERE f.kind='slow_link' AND f.effect_ms<s.effect_ms;

INSERT INTO f_note
SELECT f.id, 'It may itself have waited for rank '||min(a.rank)|| ', which is missing', NULL
FROM Finding f
JOIN CommGroupMember m ON m.rank=f.rank
JOIN CommGroupMember a ON a.comm_group=m.comm_group
JOIN Roster r ON r.rank=a.rank
WHERE f.kind='late_arriver' AND f.id NOT IN (SELECT id FROM f_note) AND r.expected AND
    r.state<>'present' AND NOT EXISTS (
    SELECT 1
    FROM CommGroupMember p
    WHERE p.comm_group=m.comm_group AND p.rank=f.peer) AND EXISTS (
    SELECT 1
    FROM GroupTime t
    WHERE t.comm_group=m.comm_group AND t.rank=m.rank)
GROUP BY f.id;

UPDATE Finding
SET severity='note'
WHERE id IN (SELECT id FROM f_note);

-- Number them, the most serious first.  Those without a size affect all others.
CREATE TEMP TABLE f_number (id INTEGER PRIMARY KEY, number INTEGER);

INSERT INTO f_number
SELECT id, row_number() OVER (
        ORDER BY CASE severity WHEN 'high' THEN 0 WHEN 'medium' THEN 1 WHEN 'low' THEN 2
            ELSE 3 END, effect_percent IS NOT NULL, effect_percent DESC, id)
FROM Finding;

UPDATE Finding
SET text=text||(
    SELECT ' '||n.words||ifnull((
            SELECT c.number
            FROM f_number c
            WHERE c.id=n.cause), '')||'.'
    FROM f_note n
    WHERE n.id=Finding.id)
WHERE id IN (SELECT id FROM f_note);

-- by way of negative ids, so that no two are the same
UPDATE Finding
SET id=-(SELECT number FROM f_number n WHERE n.id=Finding.id);

UPDATE Finding
SET id=-id;

DROP TABLE temp.f_note;
DROP TABLE temp.f_number;
