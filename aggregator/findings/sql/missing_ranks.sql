SELECT
    NULL AS step,
    CASE count(*) WHEN 1 THEN min(rank) END AS rank,
    NULL AS peer,
    NULL AS comm_group,
    NULL AS effect_ms,
    NULL AS effect_percent,
    count(*) AS value,
    (SELECT count(*) FROM Roster WHERE expected) AS baseline,
    (
        SELECT group_concat(rank, ', ')
        FROM (
            SELECT rank
            FROM Roster
            WHERE expected AND state<>'present'
            ORDER BY rank
            LIMIT 16))|| CASE WHEN count(*)>16 THEN ' and more' ELSE '' END AS a,
    (
        SELECT CASE WHEN count(*)>0 THEN ' '||count(*)||' of '||(
            SELECT count(*)
            FROM CommGroup)||CASE count(*) WHEN 1 THEN ' groups has' ELSE ' groups have'
            END||' such a member: which rank was late is unknown in the ops that lack its data, a rank that waited for it may look late in another group, and the links over which it sends are unknown.'
            ELSE '' END
        FROM (
            SELECT DISTINCT m.comm_group
            FROM CommGroupMember m
            JOIN Roster r ON r.rank=m.rank
            WHERE r.expected AND r.state<>'present')) AS b,
    CASE count(*) WHEN 1 THEN 'is' ELSE 'are' END AS c
FROM Roster
WHERE expected AND state<>'present'
HAVING count(*)>0

-- query
SELECT rank, host, state, reason
FROM Roster
WHERE expected AND state<>'present'
ORDER BY rank
