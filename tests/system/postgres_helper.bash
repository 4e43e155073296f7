# tests/system/postgres_helper.bash - a PostgreSQL of the test's own, which an
# ordinary user runs, on a socket only

# shellcheck disable=SC2154         # bats sets status, output, BATS_*

# needs_postgres: or skip
needs_postgres ()
{
    PG_BIN=${PG_BIN:-$(pg_config --bindir 2>/dev/null)}
    [ -x "$PG_BIN/initdb" ] || PG_BIN=$(printf '%s\n' \
        /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
    [ -x "$PG_BIN/initdb" ] || skip "needs postgresql"
    [ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "needs setpriv"
    if "$ROLLCALL" push --migrate --postgres postgresql:///x 2>&1 |
        grep -q "built without libpq"; then
        skip "needs libpq"
    fi
}

# as_user COMMAND...: PostgreSQL does not run as root
as_user ()
(
    cd /
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid nobody --regid nogroup --clear-groups "$@"
    else
        "$@"
    fi
)

# Once for all tests of the file: it takes a second.
postgres_init ()
{
    local first=${BATS_FILE_TMPDIR:-$PG_DIR}/postgres

    if [ ! -d "$first" ]; then
        as_user "$PG_BIN/initdb" -D "$PG_DIR/data" -U rollcall -A trust -N \
            -E UTF8 --locale=C >"$BATS_TEST_TMPDIR/initdb.log" 2>&1 ||
            fail "$(cat "$BATS_TEST_TMPDIR/initdb.log")" || return
        cp -a "$PG_DIR/data" "$first"
    else
        cp -a "$first" "$PG_DIR/data"
    fi
}

# postgres_start [OPTION]...: make it, or start it again; PG is its URI
postgres_start ()
{
    if [ -z "${PG_DIR:-}" ]; then
        # a short path that others may enter
        PG_DIR=$(mktemp -d /tmp/rollcall-pg-XXXXXX)
        [ "$(id -u)" -ne 0 ] || chown nobody:nogroup "$PG_DIR"
        postgres_init || return
        PATH=$PG_BIN:$PATH          # Debian's psql is a script that looks for this
        export PGHOST=$PG_DIR PGUSER=rollcall PGDATABASE=jobs
        PG="postgresql:///jobs?host=$PG_DIR&user=rollcall"
    fi
    as_user "$PG_BIN/pg_ctl" -D "$PG_DIR/data" -w -t 120 -l "$PG_DIR/log" -o \
        "-c listen_addresses= -c unix_socket_directories='$PG_DIR' -c fsync=off \
        -c shared_buffers=16MB -c max_wal_size=64MB $*" start >/dev/null \
        3>&- || fail "$(cat "$PG_DIR/log")" || return
    if ! psql -d postgres -Atc 'SELECT datname FROM pg_database' | grep -qx jobs
    then
        psql -q -d postgres -c 'CREATE DATABASE jobs'
    fi
}

postgres_stop ()                    # [MODE]: fast, immediate
{
    as_user "$PG_BIN/pg_ctl" -D "$PG_DIR/data" -m "${1:-fast}" -w stop \
        >/dev/null 2>&1
}

postgres_remove ()
{
    [ -n "${PG_DIR:-}" ] || return 0
    postgres_stop immediate || true
    rm -rf "$PG_DIR"
}

# ask SQL: rows of the database, columns with | between
ask ()
{
    psql -X -At -v ON_ERROR_STOP=1 -c "$1"
}

push ()                             # [OPTION]...
{
    run "$ROLLCALL" push --postgres "$PG" "$@"
}
