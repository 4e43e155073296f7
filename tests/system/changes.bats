#!/usr/bin/env bats
# captures that change, or are moved, after they were found

load service_helper

# As after a crash, and a copy from where it was whole.
@test "a file that is put back with its size and an older date is delivered" {
    local file

    make --ranks 1
    service
    file=$(capture_of 0)/ASCEND_PROFILER_OUTPUT/communication.json
    cp -p "$file" good
    touch -d '1 hour ago' good
    head -c "$(stat -c %s good)" /dev/zero >"$file"
    touch -d '1 minute ago' "$file"
    run agent --once --raw job
    expect_status 0
    shows "state=partial"
    cp -p good "$file"
    run agent --once --raw job
    expect_status 0
    shows "state=complete"
    run agent --once --raw job      # once is enough
    expect_status 0
    [[ $output != *event=sealed* ]]
    stop_service
}

# It would be "lost" in this life and in each later one.
@test "a directory of captures that is renamed is no loss: service and --once" {
    make --ranks 2
    mkdir w
    mv job w/new
    find w -exec touch {} +
    service
    watching --quiet-period 1h w
    both_seen ()
    {
        [ "$(grep -aso '[0-9]_ascend_pt' spool/spool-j/ledger.db-wal |
            wc -l)" -ge 2 ]
    }
    eventually both_seen
    mv w/new w/finished
    eventually grep -qas w/finished/ spool/spool-j/ledger.db-wal
    ends_with 75
    mv w/finished w/archived        # nobody is there to see it
    run agent --once w
    expect_status 0
    [[ "$output $(cat agent.log)" != *vanished* ]]
    eventually captures_are 2
    stop_service
}
