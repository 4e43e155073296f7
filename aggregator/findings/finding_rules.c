/* aggregator/findings/finding_rules.c - the table of the kinds of findings
 *
 * Findings of the same size follow the order of the rules.  doc/findings.md
 * explains the rules in words; their SQL is in sql/KIND.sql.
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
    { "small_sdma_mb", "MB", "packets below this are small, on a host", 16 },
    { "small_rdma_mb", "MB", "packets below this are small, between hosts", 1 },
    { "small_packets_percent", "% of packets", "more than this are small",
      20 },
    { "small_packets_cost_percent", "% of the step", "and cost more than this",
      2 },
    { "contention_gbps", "GB/s", "HCCS below this is disturbed", 14.4 },
    { "retransmission_ms", "ms", "RDMA transfer of one op", 4000 },
    { "hidden_percent", "% of communication",
      "less than this is hidden by computing", 30 },
    { "exposed_percent", "% of the step", "and more than this is exposed", 25 },
    { "bubble_percent", "% of the step", "waiting in pipelines", 10 },
    { "free_percent", "% of the step", "free time of all ranks", 10 },
    { "free_rank_percent", "% of the step", "more free time than the median",
      5 },
    { "late_steps_percent", "%", "longer, or less even, steps", 5 },
    { "clock_ms", "ms", "offset of a clock", 1 },
};

const struct finding_rule finding_rules[] = {
    { "missing_ranks", "high", "ranks",
      "{value} of {baseline} ranks ({a}) {c} missing or incomplete.{b} Medians "
      "cover the data that arrived.",
      "Table Roster has the reason for each; analyse again when they have "
      "arrived.",
      "Roster.state" },
    { "clock", "note", "ms",
      "The clock of {a} differs by {value} ms from those of its groups: do not "
      "compare its times with other ranks'.",
      "Synchronise the hosts' clocks (chronyc tracking); CaptureInfo has the"
      " offset of every rank.",
      "median of (end - median end) over ops of the rank's largest groups" },
    { "slow_host", NULL, "ms",
      "All {c} ranks of host {a} compute longer, {b}: {value} ms a step, other"
      " hosts {baseline} ms (+{effect} ms, {percent} % of the step).{d}",
      "Look at the node's power and temperature limits and at what else runs"
      " there; view HostStep compares the hosts.",
      "median of the host's ranks against the lower median of hosts" },
    { "slow_rank", NULL, "ms",
      "Rank {rank} computes longer, {a}: {value} ms a step, comparable ranks "
      "{baseline} ms (+{effect} ms, {percent} % of the step).{b}",
      "Compare its operators with another rank's in OperatorStatistic: if all "
      "take longer it is the device (frequency, temperature), if a few do it "
      "is its data.",
      "computing against the median of its stage" },
    { "slow_link", NULL, "GB/s",
      "The link {rank} -> {peer} over {a} moves {value} GB/s, the median of "
      "its kind is {baseline} GB/s: {b} MB a step take {effect} ms more "
      "({percent} % of the step).",
      "Look at the cable, port and counters of this link, and at its other"
      " direction; table Link has all links.",
      "bandwidth against the median of the same transport and kind of group" },
    { "slow_port", NULL, "GB/s",
      "Host {a} {b} slowly: {c} links with other hosts move {value} GB/s, the"
      " median is {baseline} GB/s: {effect} ms more per step and link"
      " ({percent} % of the step).",
      "Look at the node's network card and its port of the switch; view"
      " HostLink compares the hosts.",
      "half of the links that a host has to others are slow links" },
    { "free_time", NULL, "ms",
      "{a} idle for {value} ms a step ({c}; +{effect} ms, {percent} % of the"
      " step). The likely cause: {b}.",
      "Look for slow host calls in ApiStatistic, and at what else runs on the"
      " host's processors.",
      "free against the median of ranks, or as part of the step" },
    { "late_arriver", NULL, "ms",
      "{c} for rank {rank}, mostly in group {b}: an average member waits"
      " {effect} ms a step ({percent} %). Rank {peer} waits longest: {a} ms.",
      "View Blame shows who waits for whom, table Wait by group and step.",
      "waiting caused - own waiting, against the median of ranks" },
    { "late_steps", NULL, "ms",
      "From step {step} on, steps take longer: {value} ms, before that"
      " {baseline} ms (+{effect} ms, {percent} % of the step). The longest of"
      " these {a} takes {b} ms.",
      "See in StepTrend which part grew; then what began on the hosts at that"
      " time.",
      "the cut of least squares through the median steps" },
    { "late_step", NULL, "ms",
      "Step {step} takes {value} ms, the median step {baseline} ms (+{effect}"
      " ms, {percent} % of it).",
      "See which rank and which part it was.",
      "the step against the median step" },
    { "jitter", NULL, "ms",
      "Steps are not even: {a} of them spread by {value} ms around"
      " {baseline} ms ({percent} %).",
      "See in StepTrend which part varies.",
      "1.4826 * median distance from the median step" },
    { "small_packets", NULL, "%",
      "{value} % of the packets over {a} are small, {b} MB on average, and "
      "reach only {c} GB/s: large packets would save {effect} ms of a rank's "
      "transfers in a step ({percent} %).",
      "Fuse tensors, or communicate less often (larger buckets, gradient"
      " accumulation); CommAnalyzerBandwidth has the sizes of each op.",
      "SDMA < 16 MB, RDMA < 1 MB, more than 20 %" },
    { "bandwidth_contention", NULL, "GB/s",
      "HCCS moves {value} GB/s, less than {baseline} GB/s, while {a} % of the "
      "communication overlaps computing: the two may slow each other down; "
      "{effect} ms of a rank's transfers in a step ({percent} %).",
      "Compare with a run in which they do not overlap; LinkBandwidth has the"
      " bandwidth of each op.",
      "SDMA below 14.4 GB/s (0.8 * 18)" },
    { "retransmission", "high", "ms",
      "An RDMA transfer of rank {rank} in step {step} took {value} ms (op "
      "{a}): more than {baseline} ms means that a packet was lost and sent "
      "again.",
      "Look at the network card's counters of retransmission and at flow"
      " control of its switch port.",
      "RDMA transit time > 4,000 ms" },
    { "poor_overlap", NULL, "%",
      "Only {value} % of the communication is hidden by computing: {effect} ms "
      "a step ({percent} %) are exposed, not counting known waiting, pipeline "
      "bubbles and slow links.{a}",
      "{b} the gradients' reduction with the backward pass, and gathering"
      " with the forward pass; view KindStep shows which groups take the time.",
      "overlapped / (overlapped + not overlapped - waiting - bubble)" },
    { "pipeline_bubble", NULL, "ms",
      "{b} of {c} ranks wait for data from other stages of the pipeline: {effect}"
      " ms a step on average ({percent} %). Rank {rank} waits longest: {a} ms.",
      "Use more micro-batches or an interleaved schedule, and compare the"
      " stages' computing.",
      "receive - shortest op of its name, as part of the step" },
};

const size_t finding_rule_count = sizeof (finding_rules) /
                                  sizeof (finding_rules[0]);
