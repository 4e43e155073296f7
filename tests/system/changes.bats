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
