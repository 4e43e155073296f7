# tests/soak/hostile.bash - what the parts about hostile peers share

is_sanitized ()
{
    ldd "$BIN/rollcall-agent" | grep -E 'lib(asan|tsan|ubsan)' >/dev/null
}

build_name ()
{
    echo "$(basename "$ROLLCALL_BUILD")$(is_sanitized && echo " (sanitized)")"
}

# enrol NAME...: keys for the aggregator and for these, in keys/
enrol ()
{
    local name

    "$BIN/rollcall" key new server --dir keys >/dev/null || return
    for name; do
        "$BIN/rollcall" key new "$name" --dir keys >/dev/null &&
            "$BIN/rollcall" key enrol "keys/$name.pub" "$name" --dir keys \
                >/dev/null || return
    done
}

no_report ()                        # FILE...: no sanitizer has said anything
{
    ! grep -E 'Sanitizer|runtime error:' "$@" >&2 || complain "see above"
}
