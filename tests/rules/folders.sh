#!/bin/bash
# tests/rules/folders.sh - who may know whom: the table of the folders
#
# Prints "FOLDER OTHER" for each folder and each other one of which it may
# include headers and call functions; doc/architecture.md draws them.  A row may
# name only folders of rows above it: so there is no circle.
set -euo pipefail

# A folder, and those that it may know.  base, store, sqlite_pages, json, model,
# options, net and object_store are those of common/, "all" is these without
# sqlite_pages, net and object_store;
# any other word without a slash is beside the folder of the row.  A row goes on in
# lines that begin with a blank.
table='
common/base
common/store        base
common/sqlite_pages base store
common/json         base store
common/model        base store json
common/options      base store
common/net          base store json model
common/object_store base store json model

node_agent/extract/sink         all
node_agent/extract/rows         all sink
node_agent/extract/input        all sink rows
node_agent/identity             all node_agent/extract/sink
    node_agent/extract/rows node_agent/extract/input
node_agent/extract/text         all sink rows input node_agent/identity
node_agent/extract/event_db     all sink rows input node_agent/identity
node_agent/extract/profiler_db  all sink rows input node_agent/identity
node_agent/extract/timeline     all sink rows input node_agent/identity
node_agent/extract/kineto       all sink rows input node_agent/identity
node_agent/extract              all node_agent/extract/sink identity
    node_agent/extract/text node_agent/extract/event_db
    node_agent/extract/profiler_db node_agent/extract/timeline
    node_agent/extract/kineto
node_agent/discovery            all identity extract
node_agent/control              all
node_agent/world                all
node_agent/throttle             all
node_agent/spool                all net identity
node_agent/disk                 all spool
node_agent/ship                 all net spool throttle
node_agent/offline_analysis     all control
node_agent/agent                all net identity extract discovery control
    world throttle spool disk ship offline_analysis

aggregator/jobs                 all
aggregator/select               all
aggregator/publish              all sqlite_pages
aggregator/row_sums             all sqlite_pages select
aggregator/waits                all sqlite_pages select row_sums
aggregator/cluster_db           all sqlite_pages row_sums publish
aggregator/query                all row_sums publish
aggregator/html_page            all publish query
aggregator/findings             all sqlite_pages row_sums publish query
aggregator/compare              all row_sums query
aggregator/export               all publish query
aggregator/builder              all sqlite_pages select publish row_sums waits cluster_db
    html_page findings
aggregator/summary              all jobs select query findings builder
aggregator/ledger               all net
aggregator/store                all net object_store ledger
aggregator/fsck                 all object_store ledger publish aggregator/store
aggregator/transfer             all net ledger aggregator/store
aggregator/uploads              all object_store ledger aggregator/store
aggregator/catalogue            all net sqlite_pages publish query ledger
aggregator/trend                all net html_page findings ledger catalogue
aggregator/archive              all net jobs select publish builder ledger
    aggregator/store
aggregator/job_build            all net jobs select publish builder ledger
    aggregator/store archive
aggregator/postgres             all net sqlite_pages publish query ledger catalogue
aggregator/interchange          all net object_store ledger aggregator/store fsck archive
aggregator/answers              all net
aggregator/service              all net object_store publish findings builder ledger
    answers transfer uploads archive job_build catalogue postgres aggregator/store

cli/shared                      all aggregator/query aggregator/builder
    aggregator/ledger aggregator/archive aggregator/store
cli/several                     all net shared aggregator/publish aggregator/select aggregator/store
    aggregator/ledger
cli/status                      all net shared several aggregator/query
cli/check                       all net shared node_agent/throttle
    node_agent/ship
cli/run                         all net shared check node_agent/control
    node_agent/world node_agent/disk node_agent/offline_analysis
    aggregator/publish aggregator/query aggregator/builder aggregator/summary
cli/interchange                 all net object_store shared several node_agent/extract node_agent/identity
    node_agent/discovery node_agent/spool node_agent/world aggregator/publish
    aggregator/query aggregator/builder aggregator/ledger
    aggregator/export aggregator/store aggregator/archive aggregator/interchange
cli/jobs                        all net shared several cli/run aggregator/query
    aggregator/ledger
    aggregator/store aggregator/catalogue aggregator/postgres
cli/mpi                         all net shared run node_agent/extract
    node_agent/world aggregator/builder aggregator/job_build
cli                             all net object_store sqlite_pages cli/interchange cli/jobs cli/mpi cli/shared cli/several cli/status cli/check cli/run
    node_agent/identity node_agent/extract node_agent/discovery
    node_agent/control node_agent/throttle node_agent/spool node_agent/ship
    node_agent/offline_analysis aggregator/jobs aggregator/select aggregator/publish
    aggregator/query aggregator/html_page aggregator/findings aggregator/compare
    aggregator/export aggregator/builder aggregator/summary aggregator/ledger
    aggregator/store aggregator/fsck aggregator/archive aggregator/catalogue
    aggregator/trend aggregator/interchange aggregator/postgres aggregator/job_build
'

awk '
    BEGIN {
        split ("base store sqlite_pages json model options net object_store", words, " ")
        for (i in words)
            common["common/" words[i]] = 1
    }

    # what a word of a row means
    function path_of (word, row) {
        if (("common/" word) in common)
            return "common/" word
        if (word ~ /\//)
            return word
        sub (/[^\/]*$/, "", row)
        return row word
    }

    /^[a-z]/ { row = $1; known[row] = ++nrows; $1 = "" }

    NF {
        sub (/(^| )all( |$)/, " base store json model options ")
        n = split ($0, words, " ")
        for (i = 1; i <= n; i++) {
            other = path_of(words[i], row)
            print row, other
            if (!(other in known) || known[other] == nrows) {
                print row " may not know " other ", which has no row above " \
                      "its own" > "/dev/stderr"
                bad = 1
            }
        }
    }

    END { exit bad + !nrows }' <<< "$table"
