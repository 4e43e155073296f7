#!/usr/bin/env bats
# tests/system/store_copy.bats - agents whose second copy is in the object store of
# their only aggregator

load service_helper
load store_helper

each_has_store

# of job j, with two copies and one aggregator
keeping ()
{
    timeout "$LIMIT" "$AGENT" --state "$TEST_DIR/spool" --job j --copies 2 \
        --aggregators "tcp://127.0.0.1:$PORT" "$@"
}

kept ()                             # files of items in the spool
{
    find spool -path '*/items/*' -type f | wc -l
}

@test "what is only in the aggregator is kept, until it is in its store" {
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 50 --extras job
    service
    run keeping --once --raw --release shipped job
    expect_status 1
    shows event=not-stored "has no object store"
    before=$(kept)
    [ "$before" -gt 2 ]
    stop_service
    # the store is away
    service --store "$STORE"
    faults '[{"fault": "denied", "method": "PUT"}]'
    run keeping --once --raw --release shipped --deadline 1s job
    expect_status 1
    shows "has not said that they are in its object store" "they stay here"
    is files "$before" "$(kept)"
    [ "$(find job -name '*_ascend_pt' | wc -l)" = 2 ]
    # the root is gone for good before the store had anything, and the captures
    # with it: the spool has all
    kill_service
    mv root old
    mv job was
    faults '[]'
    service --store "$STORE" --store-after 1h
    mkdir job
    run keeping --once --raw job
    expect_status 0
    is files 0 "$(kept)"
    # now the store alone has it
    kill_service
    rm -r root
    run "$ROLLCALL" restore --store "$STORE" --root-id \
        "$(ls store/bucket/pre | grep -v "$(cat old/id)" | head -1)" root
    expect_status 0
    run "$ROLLCALL" archive --root root get j back
    expect_status 0
    for dir in back/*_ascend_pt; do
        diff -r -x rollcall.shipment -x .rollcall-job "$dir" "was/${dir##*/}"
    done
    [ "$(find back -name '*_ascend_pt' | wc -l)" = 2 ]
}
