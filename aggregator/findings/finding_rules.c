/* aggregator/findings/finding_rules.c - each kind of finding, declared once
 *
 * The order of the rules is the order of ids.  doc/findings.md says the same
 * in words.
 */
#include "findings/finding_rules.h"

#include "findings/findings.h"

const struct threshold thresholds[THRESHOLDS] = {
    { "sigmas", "", "how many spreads from the median is more than noise", 6 },
    { "slow_rank_percent", "%", "longer computing than the median", 5 },
    { "slow_host_percent", "%", "longer computing than other hosts", 5 },
    { "slow_link_percent", "%", "less bandwidth than the median", 20 },
    { "late_arriver_percent", "% of the step", "waiting that a rank causes",
      5 },
    { "small_sdma_mb", "MB", "smaller packets are small, on a host", 16 },
    { "small_rdma_mb", "MB", "smaller packets are small, between hosts", 1 },
    { "small_packets_percent", "% of packets", "so many are small", 20 },
    { "small_packets_cost_percent", "% of the step", "and cost so much", 2 },
    { "contention_gbps", "GB/s", "HCCS that is slower is disturbed", 14.4 },
    { "retransmission_ms", "ms", "RDMA transfer of one op", 4000 },
    { "hidden_percent", "% of communication",
      "less than this is hidden by computing", 30 },
    { "exposed_percent", "% of the step", "and more than this is not", 25 },
    { "bubble_percent", "% of the step", "waiting in pipelines", 10 },
    { "free_percent", "% of the step", "free time of all ranks", 10 },
    { "free_rank_percent", "% of the step", "more free time than the median",
      5 },
    { "late_steps_percent", "%", "longer, or less even, steps", 5 },
    { "clock_ms", "ms", "offset of a clock", 1 },
};

#define FIRST(ord) \
    "(SELECT min(s.step) FROM f_step s WHERE s.ord=" ord " AND " ord ">1)"
#define SINCE(ord) \
    "ifnull('since step '||" FIRST (ord) ", 'in all steps')"

const struct finding_rule finding_rules[] = {
    { "missing_ranks", "high", "ranks",
      "SELECT NULL, min(rank), NULL, NULL, NULL, NULL, count(*),"
      " (SELECT count(*) FROM Roster WHERE expected),"
      " (SELECT group_concat(rank, ', ') FROM (SELECT rank FROM Roster WHERE"
      "   expected AND state<>'present' ORDER BY rank LIMIT 16))||"
      "   CASE WHEN count(*)>16 THEN ' and more' ELSE '' END,"
      " (SELECT CASE WHEN count(*)>0 THEN ' '||count(*)||' of '||(SELECT"
      "   count(*) FROM CommGroup)||' groups have such a member: nobody is"
      " told to be late in ops that it lacks, who waited for it may look late"
      " elsewhere, and the links it sends over are unknown.' ELSE '' END FROM"
      "  (SELECT DISTINCT m.comm_group FROM CommGroupMember m JOIN Roster r ON"
      "   r.rank=m.rank WHERE r.expected AND r.state<>'present')), NULL"
      " FROM Roster WHERE expected AND state<>'present' HAVING count(*)>0",
      "{value} of {baseline} ranks did not come whole: {a}.{b} Medians are of"
      " the ranks that came.",
      "Table Roster has the reason for each; analyse again when they came.",
      "SELECT rank, host, state, reason FROM Roster WHERE expected AND"
      " state<>'present' ORDER BY rank",
      "Roster.state" },
    { "clock", "note", "ms",
      "SELECT NULL, rank, NULL, NULL, abs(ms), NULL, ms, 0,"
      " 'host '||host||' ('||n||' ranks)', NULL, NULL FROM f_clock_host"
      " UNION ALL SELECT NULL, c.rank, NULL, NULL, abs(c.ms), NULL, c.ms, 0,"
      " 'rank '||c.rank, NULL, NULL FROM f_clock c JOIN f_clock_noise z WHERE"
      " abs(c.ms)>z.ms AND (abs(c.ms-c.mid)>z.ms OR (c.host NOT IN (SELECT"
      "  host FROM f_clock_host)))"
      " ORDER BY 5 DESC, 2",
      "The clock of {a} is {value} ms beside those of its groups: do not"
      " compare its times with other ranks'.",
      "Synchronise the hosts' clocks (chronyc tracking); CaptureInfo has the"
      " offset of every rank.",
      "SELECT rank, value AS offset_ms FROM CaptureInfo WHERE kind='clock' AND"
      " name='offset_ms' ORDER BY abs(value) DESC LIMIT 16",
      "median of (end - median end) over ops of the rank's largest groups" },
    { "slow_host", NULL, "ms",
      "SELECT " FIRST ("h.ord") ", (SELECT min(rank) FROM f_rank r WHERE"
      " r.host=h.host), NULL, NULL, x, 100*x/(SELECT avg(s.ms) FROM f_step s"
      " WHERE s.host=h.host AND s.ord>=h.ord), base+x, base, h.host,"
      " " SINCE ("h.ord") ", (SELECT count(*) FROM f_rank r WHERE"
      " r.host=h.host), CASE WHEN alone AND (SELECT max(stage) FROM f_rank)>0"
      " THEN ' The node is slow, or the pipeline''s stages on it have more to"
      " do.' ELSE '' END FROM f_slow_host h ORDER BY x DESC, h.host",
      "All {c} ranks of host {a} compute longer, {b}: {value} ms a step, other"
      " hosts {baseline} ms (+{effect} ms, {percent} % of the step).{d}",
      "Look at the node's power and temperature limits and at what else runs"
      " there; view HostStep compares the hosts.",
      "SELECT host, step, computing FROM HostStep ORDER BY host='{a}' DESC,"
      " step, computing DESC",
      "median of the host's ranks against the lower median of hosts" },
    { "slow_rank", NULL, "ms",
      "SELECT " FIRST ("r.ord") ", r.rank, NULL, NULL, x, 100*x/(SELECT"
      " avg(s.ms) FROM f_step s WHERE s.rank=r.rank AND s.ord>=r.ord), base+x,"
      " base, " SINCE ("r.ord") ", CASE WHEN (SELECT class FROM f_class c"
      " WHERE c.rank=r.rank)='' AND (SELECT max(stage) FROM f_rank)>0 THEN"
      "  ' Or its stage of the pipeline has more to do.' ELSE '' END, NULL"
      " FROM f_slow_rank r ORDER BY x DESC, r.rank",
      "Rank {rank} computes longer, {a}: {value} ms a step, its like"
      " {baseline} ms (+{effect} ms, {percent} % of the step).{b}",
      "Compare its operators with another rank's in OperatorStatistic: all"
      " longer is the device (frequency, temperature), a few are its data.",
      "SELECT rank, step, computing FROM StepByRank ORDER BY rank={rank} DESC,"
      " step, computing DESC LIMIT 64",
      "computing against the median of its stage" },
    { "slow_link", NULL, "GB/s",
      "SELECT NULL, l.src, l.dst, NULL, (l.ms-l.want)/j.steps,"
      " 100*(l.ms-l.want)/j.steps/m.ms, l.mb/l.ms, l.mb/l.want, l.transport,"
      " round(l.mb/j.steps, 1), NULL"
      " FROM f_slow_link l JOIN f_job j LEFT JOIN f_mean m ON m.rank=l.src"
      " WHERE NOT EXISTS (SELECT 1 FROM f_slow_port p WHERE NOT l.same AND"
      "  p.host=CASE p.way WHEN 'sends' THEN l.src_host ELSE l.dst_host END)"
      " ORDER BY 5 DESC, l.src, l.dst",
      "The link {rank} -> {peer} over {a} moves {value} GB/s, the median of"
      " its like is {baseline} GB/s: {b} MB a step take {effect} ms more"
      " ({percent} % of the step).",
      "Look at the cable, port and counters of this link, and at its other"
      " direction; table Link has all links.",
      "SELECT src_rank, dst_rank, transport_type, step, bandwidth FROM Link"
      " WHERE (src_rank={rank} AND dst_rank={peer}) OR (src_rank={peer} AND"
      " dst_rank={rank}) ORDER BY step, src_rank={peer}",
      "bandwidth against the median of the same transport and kind of group" },
    { "slow_port", NULL, "GB/s",
      "SELECT NULL, min(e.rank), NULL, NULL, sum(e.ms-e.want)/j.steps/p.slow,"
      " 100*sum(e.ms-e.want)/j.steps/p.slow/j.ms, sum(e.mb)/sum(e.ms),"
      " sum(e.mb)/sum(e.want), p.host, p.way, p.slow||' of '||p.n"
      " FROM f_slow_port p JOIN f_end e ON e.host=p.host AND e.way=p.way AND"
      " e.slow JOIN f_job j GROUP BY p.host, p.way"
      " ORDER BY 5 DESC, p.host, p.way",
      "Host {a} {b} slowly: {c} links to other hosts move {value} GB/s, the"
      " median is {baseline} GB/s: {effect} ms more a step and link ({percent}"
      " % of the step).",
      "Look at the node's network card and its port of the switch; view"
      " HostLink compares the hosts.",
      "SELECT * FROM HostLink WHERE src_host='{a}' OR dst_host='{a}' ORDER BY"
      " bandwidth",
      "half of the links that a host has to others are slow links" },
    { "free_time", NULL, "ms",
      "SELECT NULL, m.rank, NULL, NULL, m.free-b.base,"
      " 100*(m.free-b.base)/m.ms, m.free, b.base, 'Rank '||m.rank||' is',"
      " CASE WHEN m.preparing>m.free/2 THEN 'it prepares for'||"
      "  ' '||round(m.preparing, 1)||' ms before the first op: input data or"
      " host code' ELSE 'its host launches too late' END,"
      " 'the median is '||round(b.base, 2)"
      " FROM f_mean m JOIN (SELECT median(free) AS base FROM f_mean) b"
      " JOIN (SELECT " "1.4826*median(abs(m.free-b.base)) AS spread FROM f_mean"
      "  m JOIN (SELECT median(free) AS base FROM f_mean) b) v"
      " WHERE (SELECT ranks FROM f_job)>=3 AND"
      " m.free-b.base>m.ms*:free_rank_percent/100 AND"
      " m.free-b.base>:sigmas*v.spread"
      " UNION ALL SELECT NULL, NULL, NULL, NULL, median(free),"
      " 100*median(free)/median(ms), median(free), 0, 'The ranks are',"
      " CASE WHEN median(preparing)>median(free)/2 THEN 'they prepare'||"
      "  ' before the first op: input data or host code' ELSE"
      "  'hosts launch too late' END, 'the median of all' FROM f_mean"
      " HAVING median(free)>median(ms)*:free_percent/100"
      " ORDER BY 5 DESC, 2",
      "{a} idle for {value} ms a step ({c}; +{effect} ms, {percent} % of the"
      " step). The likely cause: {b}.",
      "Look for slow host calls in ApiStatistic, and at what else runs on the"
      " host's processors.",
      "SELECT rank, step, free, preparing, computing FROM StepByRank ORDER BY"
      " free DESC LIMIT 16",
      "free against the median of ranks, or as part of the step" },
    { "late_arriver", NULL, "ms",
      "SELECT NULL, l.rank, (SELECT waiting_rank FROM f_blame w WHERE"
      " w.late_rank=l.rank ORDER BY w.ms DESC, 1 LIMIT 1),"
      " (SELECT comm_group FROM f_caused c WHERE c.rank=l.rank ORDER BY ms"
      " DESC, 1 LIMIT 1), l.ms, 100*l.ms/l.step_ms, l.ms, b.ms,"
      " (SELECT round(max(w.ms)/j.steps, 2) FROM f_blame w WHERE"
      "  w.late_rank=l.rank), (SELECT ifnull(k.kind||' ', '')||"
      "  '('||k.comm_group||')' FROM"
      "  f_caused c JOIN GroupKind k ON k.comm_group=c.comm_group WHERE"
      "  c.rank=l.rank ORDER BY c.ms DESC, 1 LIMIT 1),"
      " (SELECT count(*)||CASE count(*) WHEN 1 THEN ' rank waits' ELSE"
      "  ' ranks wait' END FROM f_blame w WHERE w.late_rank=l.rank)"
      " FROM f_late l JOIN f_job j"
      " JOIN (SELECT median(ms) AS ms FROM f_late) b"
      " JOIN (SELECT 1.4826*median(abs(l.ms-b.ms)) AS spread FROM f_late l"
      "  JOIN (SELECT median(ms) AS ms FROM f_late) b) v"
      " WHERE l.net>l.step_ms*:late_arriver_percent/100 AND"
      " l.ms-b.ms>:sigmas*v.spread ORDER BY l.ms DESC, l.rank",
      "{c} for rank {rank}, most in group {b}: an average member"
      " {effect} ms a step ({percent} %). Rank {peer} waits most, {a} ms.",
      "View Blame is who waits for whom, table Wait has it by group and step.",
      "SELECT step, comm_group, waiting_rank, ops, wait_ms FROM Wait WHERE"
      " late_rank={rank} ORDER BY wait_ms DESC LIMIT 32",
      "waiting caused - own waiting, against the median of ranks" },
    { "late_steps", NULL, "ms",
      "SELECT t.step, NULL, NULL, NULL, r.x, 100*r.x/(r.base+r.x), r.base+r.x,"
      " r.base, r.n, round(r.most, 1), NULL FROM f_rise r JOIN f_trend t ON"
      " t.ord=r.ord",
      "From step {step} on steps take longer: {value} ms, {baseline} ms before"
      " (+{effect} ms, {percent} % of the step), the longest of {a} {b} ms.",
      "See in StepTrend which part grew; then what began on the hosts at that"
      " time.",
      "SELECT step, step_time, computing, communication_not_overlapped, free"
      " FROM StepTrend",
      "the cut of least squares through the median steps" },
    { "late_step", NULL, "ms",
      "SELECT t.step, NULL, NULL, NULL, t.ms-e.mid, 100*(t.ms-e.mid)/t.ms,"
      " t.ms, e.mid, NULL, NULL, NULL FROM f_trend t JOIN f_even e"
      " JOIN f_even_spread v WHERE t.ord>1 AND v.n>=4 AND NOT EXISTS (SELECT 1"
      "  FROM f_rise) AND t.ms-e.mid>e.mid*:late_steps_percent/100"
      " AND t.ms-e.mid>:sigmas*v.spread"
      " ORDER BY 5 DESC, t.ord",
      "Step {step} takes {value} ms, the median step {baseline} ms (+{effect}"
      " ms, {percent} % of it).",
      "See which rank and which part it was.",
      "SELECT rank, computing, communication_not_overlapped, free FROM"
      " StepByRank WHERE step='{step}' ORDER BY computing DESC LIMIT 16",
      "the step against the median step" },
    { "jitter", NULL, "ms",
      "SELECT NULL, NULL, NULL, NULL, v.spread, 100*v.spread/e.mid, v.spread,"
      " e.mid, v.n, NULL, NULL FROM f_even e JOIN f_even_spread v WHERE v.n>=5"
      " AND v.spread>e.mid*:late_steps_percent/100",
      "Steps are not even: {a} of them spread by {value} ms around"
      " {baseline} ms ({percent} %).",
      "See in StepTrend which part varies.",
      "SELECT step, step_time, computing, communication_not_overlapped, free"
      " FROM StepTrend",
      "1.4826 * median distance from the median step" },
    { "small_packets", NULL, "%",
      "SELECT NULL, NULL, NULL, NULL, sum(lost), 100*sum(lost)/max(step),"
      " 100.0*sum(small_n)/sum(n), :small_packets_percent,"
      " group_concat(transport, ', '), round(sum(small_mb)/sum(small_n), 4),"
      " round(sum(small_mb)/sum(small_ms), 2) FROM (SELECT p.*, j.ms AS step,"
      "  (p.small_ms-p.small_mb*(p.ms-p.small_ms)/(p.mb-p.small_mb))/"
      "  j.ranks/j.steps AS lost FROM f_packet p JOIN f_job j WHERE"
      "  p.n>p.small_n AND"
      "  100.0*p.small_n>p.n*:small_packets_percent ORDER BY p.transport)"
      " HAVING 100*sum(lost)/max(step)>:small_packets_cost_percent",
      "{value} % of the packets over {a} are small, {b} MB on average, and"
      " move {c} GB/s only: as large ones they would take {effect} ms less of"
      " a rank's transfers in a step ({percent} %).",
      "Fuse tensors, or communicate less often (larger buckets, gradient"
      " accumulation); CommAnalyzerBandwidth has the sizes of each op.",
      "SELECT transport_type, package_size, sum(count) AS packets,"
      " sum(total_duration) AS ms FROM CommAnalyzerBandwidth WHERE"
      " package_size>0 AND transport_type<>'SDMA' GROUP BY 1, 2 ORDER BY 1, 2",
      "SDMA < 16 MB, RDMA < 1 MB, more than 20 %" },
    { "bandwidth_contention", NULL, "GB/s",
      "SELECT NULL, NULL, NULL, NULL, lost, 100*lost/ms, gbps,"
      " :contention_gbps, round(hidden, 0), NULL, NULL FROM (SELECT gbps,"
      "  p.ms/j.ranks/j.steps*(1-gbps/:contention_gbps) AS lost, j.ms, (SELECT"
      "  100*sum(overlapped)/sum(overlapped+exposed) FROM f_step) AS hidden"
      "  FROM (SELECT p.ms, max((SELECT max(base) FROM f_use_base b WHERE"
      "   b.transport='HCCS'), ifnull((mb-small_mb)/(ms-small_ms), 0)) AS gbps"
      "   FROM f_packet p WHERE mb>=1 AND 2*small_n<=n AND transport='HCCS') p"
      "  JOIN f_job j)"
      " WHERE gbps<:contention_gbps AND hidden>20 AND 100*lost/ms>1",
      "HCCS moves {value} GB/s, less than {baseline} GB/s, while {a} % of the"
      " communication runs beside computing: they may be in each other's way;"
      " {effect} ms of a rank's transfers in a step ({percent} %).",
      "Compare with a run in which they do not overlap; LinkBandwidth has the"
      " bandwidth of each op.",
      "SELECT rank, step, hccl_op_name, bandwidth, transit_time FROM"
      " LinkBandwidth WHERE transport_type='HCCS' AND transit_size>=1 ORDER BY"
      " bandwidth LIMIT 32",
      "SDMA below 14.4 GB/s (0.8 * 18)" },
    { "retransmission", "high", "ms",
      "SELECT substr(r.step, 5), r.rank, NULL, NULL, r.ms,"
      " 100*r.ms/(SELECT s.ms FROM f_step s WHERE s.rank=r.rank AND"
      " s.step=substr(r.step, 5)), r.ms, :retransmission_ms, r.op, NULL, NULL"
      " FROM f_retry r ORDER BY r.ms DESC, r.rank, r.op",
      "An RDMA transfer of rank {rank} in step {step} took {value} ms (op"
      " {a}): more than {baseline} ms is a packet that was lost and sent"
      " again.",
      "Look at the network card's counters of retransmission and at flow"
      " control of its switch port.",
      "SELECT step, hccl_op_name, transit_size, transit_time FROM LinkBandwidth"
      " WHERE rank={rank} AND transport_type='RDMA' ORDER BY transit_time DESC"
      " LIMIT 16",
      "RDMA transit time > 4,000 ms" },
    { "poor_overlap", NULL, "%",
      "SELECT NULL, NULL, NULL, NULL, e, 100*e/ms, 100*o/(o+e),"
      " :hidden_percent, NULL, NULL, NULL FROM (SELECT avg(s.overlapped) AS o,"
      "  max(avg(max(s.exposed-max(ifnull(s.bubble, 0), ifnull(y.p2p_ms, 0))-"
      "   max(ifnull(w.collective_ms, 0), ifnull(y.collective_ms, 0)), 0))-"
      "  (SELECT ms FROM f_held), 0) AS e, avg(s.ms) AS ms FROM f_step s"
      "  LEFT JOIN f_own w ON w.rank=s.rank LEFT JOIN f_sync y ON"
      "  y.rank=s.rank) WHERE o+e>0 AND 100*o/(o+e)<:hidden_percent AND"
      " 100*e/ms>:exposed_percent",
      "Only {value} % of the communication is hidden by computing: {effect} ms"
      " a step ({percent} %) are not, beside what is known of waiting, pipeline"
      " bubbles and slow links.",
      "Overlap the gradients' reduction with the backward pass, and gathering"
      " with the forward pass; view KindStep shows which groups take the time.",
      "SELECT rank, step, communication_not_overlapped, overlapped, computing"
      " FROM StepByRank ORDER BY communication_not_overlapped DESC LIMIT 32",
      "overlapped / (overlapped + not overlapped - waiting - bubble)" },
    { "pipeline_bubble", NULL, "ms",
      "SELECT NULL, (SELECT rank FROM f_bubble ORDER BY ms DESC, rank LIMIT 1),"
      " NULL, NULL, avg(b.ms), 100*avg(b.ms)/j.ms, avg(b.ms), 0,"
      " round(max(b.ms), 1), count(*), j.ranks FROM f_bubble b JOIN f_job j"
      " WHERE 10*b.ms>=(SELECT max(ms) FROM f_bubble)"
      " HAVING avg(b.ms)>j.ms*:bubble_percent/100",
      "{b} of {c} ranks receive from other stages of the pipeline, and wait"
      " for it {effect} ms a step ({percent} %); rank {rank} most, {a} ms.",
      "Use more micro-batches or an interleaved schedule, and compare the"
      " stages' computing.",
      "SELECT rank, avg(computing) AS computing, avg(bubble) AS bubble FROM"
      " StepByRank GROUP BY rank ORDER BY bubble DESC LIMIT 32",
      "receive - shortest op of its name, as part of the step" },
};

const size_t finding_rule_count = sizeof (finding_rules) /
                                  sizeof (finding_rules[0]);
