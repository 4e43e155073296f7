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

UPDATE Finding
SET severity='note', text=text||' This follows from '|| 'finding '||(
    SELECT c.id
    FROM f_cause c
    WHERE c.rank=Finding.rank)||'.'
WHERE kind='late_arriver' AND rank IN (SELECT rank FROM f_cause);

DROP TABLE temp.f_cause;

UPDATE Finding
SET severity='note', text=text||' This may follow from '|| 'finding '||(
    SELECT f.id
    FROM Finding f
    WHERE f.kind IN ('slow_rank', 'slow_host', 'slow_link', 'slow_port')
    ORDER BY f.effect_ms DESC, f.id
    LIMIT 1)||'.'
WHERE kind='pipeline_bubble' AND EXISTS (
    SELECT 1
    FROM Finding f
    WHERE f.kind IN ('slow_rank', 'slow_host', 'slow_link', 'slow_port') AND 2*f.effect_ms
        >=Finding.effect_ms);

UPDATE Finding
SET severity='note', text=text||' Packets over it are small: see finding '||(
    SELECT s.id
    FROM Finding s
    WHERE s.kind= 'small_packets')||'.'
WHERE kind='slow_link' AND effect_ms<(
    SELECT s.effect_ms
    FROM Finding s
    WHERE s.kind='small_packets');

CREATE TEMP TABLE f_absent AS
SELECT f.id, min(a.rank) AS rank
FROM Finding f
JOIN CommGroupMember m ON m.rank=f.rank
JOIN CommGroupMember a ON a.comm_group=m.comm_group
JOIN Roster r ON r.rank=a.rank
WHERE f.kind='late_arriver' AND f.severity<>'note' AND r.expected AND r.state<>'present'
    AND NOT EXISTS (
    SELECT 1
    FROM CommGroupMember p
    WHERE p.comm_group=m.comm_group AND p.rank=f.peer) AND EXISTS (
    SELECT 1
    FROM GroupTime t
    WHERE t.comm_group=m.comm_group AND t.rank=m.rank)
GROUP BY f.id;

UPDATE Finding
SET severity='note', text=text||' It may itself have waited for rank '||(
    SELECT a.rank
    FROM f_absent a
    WHERE a.id=Finding.id)||', which is missing.'
WHERE id IN (SELECT id FROM f_absent);

DROP TABLE temp.f_absent;
