# tests/system/cluster_rules.bash - what MindStudio Insight takes for granted
#
# Each rule is a query that finds what breaks it: where one is broken the viewer
# says nothing and shows something else.  doc/format-cluster-db.md tells them.

# columns TABLE NAME:TYPE...: a query for what is not as the viewer reads it
columns ()
{
    local table=$1 rows="" column

    shift
    for column; do
        rows+="${rows:+,}('${column%:*}','${column#*:}')"
    done
    echo "WITH want (name, type) AS (VALUES $rows) SELECT * FROM want EXCEPT
          SELECT name, type FROM pragma_table_info('$table')"
}

declare -gA RULES           # bats loads this file within a function

# names and types, of what is read by name
RULES[steps-columns]=$(columns ClusterStepTraceTime step:TEXT type:TEXT \
    index:TEXT computing:NUMERIC communication_not_overlapped:NUMERIC \
    overlapped:NUMERIC communication:NUMERIC free:NUMERIC stage:NUMERIC \
    bubble:NUMERIC communication_not_overlapped_and_exclude_receive:NUMERIC \
    preparing:NUMERIC dp_index:INTEGER pp_index:INTEGER tp_index:INTEGER)
RULES[time-columns]=$(columns ClusterCommunicationTime step:TEXT \
    rank_id:INTEGER hccl_op_name:TEXT group_name:TEXT start_timestamp:REAL \
    elapsed_time:REAL transit_time:REAL wait_time:REAL \
    synchronization_time:REAL idle_time:REAL synchronization_time_ratio:REAL \
    wait_time_ratio:REAL)
RULES[bandwidth-columns]=$(columns ClusterCommunicationBandwidth step:TEXT \
    rank_id:INTEGER hccl_op_name:TEXT group_name:TEXT band_type:TEXT \
    transit_size:REAL transit_time:REAL bandwidth:REAL \
    large_packet_ratio:REAL package_size:REAL count:INTEGER \
    total_duration:REAL)
RULES[matrix-columns]=$(columns ClusterCommunicationMatrix step:TEXT \
    hccl_op_name:TEXT group_name:TEXT src_rank:REAL dst_rank:REAL \
    transport_type:TEXT op_name:TEXT transit_size:REAL transit_time:REAL \
    bandwidth:REAL)
RULES[mapping-columns]=$(columns CommunicationGroupMapping type:TEXT \
    rank_set:TEXT group_name:TEXT group_id:TEXT pg_name:TEXT)
RULES[hosts-columns]=$(columns HostInfo hostUid:TEXT hostName:TEXT)
RULES[devices-columns]=$(columns RankDeviceMap rankId:INTEGER deviceId:INTEGER \
    hostUid:TEXT profilePath:TEXT)

# lists of steps and ranks: what is no text becomes empty there
RULES[steps-as-text]="SELECT * FROM ClusterStepTraceTime
    WHERE typeof(step)<>'text' OR typeof(\"index\")<>'text'"
# the communication of a step is asked for as 'step' and its name
RULES[step-spelling]="SELECT step FROM
    (SELECT step FROM ClusterCommunicationTime UNION
     SELECT step FROM ClusterCommunicationBandwidth UNION
     SELECT step FROM ClusterCommunicationMatrix)
    WHERE step NOT IN (SELECT 'step' || step FROM ClusterStepTraceTime)"
# joins by name double rows otherwise
RULES[one-group-a-name]="SELECT group_name FROM CommunicationGroupMapping
    GROUP BY 1 HAVING count(*)>1"
# the list of groups is by these two
RULES[one-group-a-list-entry]="SELECT pg_name, rank_set
    FROM CommunicationGroupMapping GROUP BY 1, 2 HAVING count(*)>1"
RULES[groups-mapped]="SELECT group_name FROM
    (SELECT group_name FROM ClusterCommunicationTime UNION
     SELECT group_name FROM ClusterCommunicationBandwidth UNION
     SELECT group_name FROM ClusterCommunicationMatrix)
    WHERE group_name IS NULL OR
    group_name NOT IN (SELECT group_name FROM CommunicationGroupMapping)"
RULES[mapping-type]="SELECT * FROM CommunicationGroupMapping
    WHERE type NOT IN ('collective', 'p2p') OR type IS NULL"
RULES[rank-set-spelling]="SELECT * FROM CommunicationGroupMapping
    WHERE rank_set NOT GLOB '([0-9]*[0-9])' AND rank_set NOT GLOB '([0-9])'
    OR json_valid('[' || trim(rank_set, '()') || ']')=0
    OR rank_set<>'(' || (SELECT group_concat(value) FROM (SELECT DISTINCT value
        FROM json_each('[' || trim(rank_set, '()') || ']')
        ORDER BY value)) || ')'"
# they are what bars and advice on slow ranks are made of
RULES[one-total-in-time]="SELECT step, rank_id, group_name,
    sum(hccl_op_name='Total Op Info') AS n FROM ClusterCommunicationTime
    GROUP BY 1, 2, 3 HAVING n<>1"
# what is selected when a page opens
RULES[total-in-bandwidth]="SELECT step, rank_id, group_name, band_type,
    package_size, sum(hccl_op_name='Total Op Info') AS n
    FROM ClusterCommunicationBandwidth GROUP BY 1, 2, 3, 4, 5 HAVING n<>1"
RULES[total-in-matrix]="SELECT step, group_name, src_rank, dst_rank,
    sum(hccl_op_name='Total Op Info') AS n
    FROM ClusterCommunicationMatrix GROUP BY 1, 2, 3, 4 HAVING n<>1"
# ranks are compared with text
RULES[ranks-are-integers]="SELECT rank_id FROM
    (SELECT rank_id FROM ClusterCommunicationTime UNION
     SELECT rank_id FROM ClusterCommunicationBandwidth)
    WHERE typeof(rank_id)<>'integer'"
# ranks of an op are brought together by its name; a rank that knows other
# names than the rest of its group is not compared with them
RULES[ops-of-one-name]="WITH op AS (SELECT DISTINCT step, group_name, rank_id,
     hccl_op_name FROM ClusterCommunicationTime t WHERE group_name IN
      (SELECT group_name FROM CommunicationGroupMapping
       WHERE type='collective' AND group_id<>'')),
    many AS (SELECT step, group_name, count(DISTINCT rank_id) AS ranks FROM op
     GROUP BY 1, 2)
    SELECT op.step, op.group_name, hccl_op_name, count(*) AS n, ranks
    FROM op JOIN many USING (step, group_name)
    GROUP BY 1, 2, 3 HAVING n<>ranks"
RULES[known-bands]="SELECT DISTINCT band_type
    FROM ClusterCommunicationBandwidth WHERE band_type IS NULL OR
    band_type NOT IN ('SDMA', 'RDMA', 'HCCS', 'PCIE', 'SIO', 'LOCAL')"
# NULL is what a profiler gives that does not know it
RULES[known-transports]="SELECT DISTINCT transport_type
    FROM ClusterCommunicationMatrix
    WHERE transport_type NOT IN ('HCCS', 'PCIE', 'RDMA', 'LOCAL', 'SIO')"
# requests with other characters, or longer ones, are refused
RULES[names-allowed]="SELECT name FROM
    (SELECT hccl_op_name AS name FROM ClusterCommunicationTime UNION
     SELECT hccl_op_name FROM ClusterCommunicationBandwidth UNION
     SELECT hccl_op_name FROM ClusterCommunicationMatrix UNION
     SELECT op_name FROM ClusterCommunicationMatrix UNION
     SELECT group_name FROM CommunicationGroupMapping UNION
     SELECT pg_name FROM CommunicationGroupMapping UNION
     SELECT step FROM ClusterStepTraceTime UNION
     SELECT step FROM ClusterCommunicationTime UNION
     SELECT hostUid FROM HostInfo UNION SELECT hostName FROM HostInfo UNION
     SELECT hostUid FROM RankDeviceMap UNION
     SELECT profilePath FROM RankDeviceMap)
    WHERE length(CAST(name AS BLOB))>500 OR
    name GLOB '*[|;&\$><\`!\\\"'']*' OR
    name GLOB '*[' || char(1) || '-' || char(31) || char(127) || ']*'"
RULES[ranks-fit]="SELECT \"index\" FROM ClusterStepTraceTime WHERE type='rank'
    AND (\"index\" GLOB '*[^0-9]*' OR \"index\"='' OR
         CAST(\"index\" AS INTEGER)>4294967295)"
# global ranks, that the mapping has
RULES[links-within-groups]="SELECT DISTINCT m.group_name, src_rank, dst_rank
    FROM ClusterCommunicationMatrix m
    JOIN CommunicationGroupMapping g USING (group_name)
    WHERE instr(',' || trim(rank_set, '()') || ',',
                ',' || CAST(src_rank AS INTEGER) || ',')=0 OR
          instr(',' || trim(rank_set, '()') || ',',
                ',' || CAST(dst_rank AS INTEGER) || ',')=0"
# '' is a host that nobody knows
RULES[hosts-known]="SELECT rankId FROM RankDeviceMap WHERE hostUid IS NULL OR
    hostUid<>'' AND hostUid NOT IN (SELECT hostUid FROM HostInfo)"
# one row a rank and step
RULES[one-row-a-step]="SELECT step, type, \"index\" FROM ClusterStepTraceTime
    GROUP BY 1, 2, 3 HAVING count(*)>1"
# an incomplete one is worse than none
RULES[base-info-whole]="WITH want (name, types) AS (VALUES
     ('tensor_model_parallel_size', 'integer'),
     ('pipeline_model_parallel_size', 'integer'),
     ('data_parallel_size', 'integer'), ('context_parallel_size', 'integer'),
     ('expert_model_parallel_size', 'integer'), ('world_size', 'integer'),
     ('sequence_parallel', 'true false'))
    SELECT name FROM want JOIN ClusterBaseInfo b
    WHERE ifnull(instr(types, json_type(b.value, '\$.' || name)), 0)=0"
# what the viewer itself writes, when it has opened the file
RULES[fresh]="SELECT user_version FROM pragma_user_version
    WHERE user_version<>0 UNION ALL SELECT name FROM sqlite_master
    WHERE name='status_info'"
# without them a click takes seconds
RULES[indexes]="WITH want (tbl, columns) AS (VALUES
    ('ClusterCommunicationTime', 'step,group_name,rank_id,hccl_op_name'),
    ('ClusterCommunicationBandwidth',
     'step,group_name,rank_id,hccl_op_name,band_type'),
    ('ClusterCommunicationMatrix', 'group_name,step,hccl_op_name'),
    ('CommunicationGroupMapping', 'group_name'))
    SELECT * FROM want EXCEPT SELECT m.name, (SELECT group_concat(name) FROM
    (SELECT name FROM pragma_index_info(i.name) ORDER BY seqno))
    FROM sqlite_master m JOIN pragma_index_list(m.name) i
    WHERE m.type='table'"

# broken_rules DB: the names of the rules that it breaks, sorted
broken_rules ()
{
    local rule found

    for rule in "${!RULES[@]}"; do
        if [ "$rule" = base-info-whole ] && [ "$(sqlite3 "$1" "SELECT count(*)
            FROM sqlite_master WHERE name='ClusterBaseInfo'")" = 0 ]; then
            continue
        fi
        found=$(sqlite3 "$1" "${RULES[$rule]}" 2>&1 | head -3)
        if [ -n "$found" ]; then
            echo "$rule"
            echo "# $rule: $found" >&2
        fi
    done | sort
}
