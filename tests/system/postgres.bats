#!/usr/bin/env bats
# rollcall push, jobs and trend with --postgres, and a service that pushes: with a
# PostgreSQL that the test starts, as it is and as it should not be

load service_helper
load postgres_helper

eval "run_$(declare -f setup)"      # run_helper.bash's, under another name

setup ()
{
    run_setup
    needs_postgres
    export ROLLCALL_ROOT=$TEST_DIR/root ROLLCALL_CLUSTER=here
    unset ROLLCALL_POSTGRES
    postgres_start
}

teardown ()
{
    ! mountpoint -q "$PG_DIR/small" || umount -l "$PG_DIR/small"
    postgres_remove
    kill_all
}

# job NAME DAY [OPTION]...: of 4 ranks, in the root and built
job ()
{
    local name=$1 start=$((1790000000 + $2 * 86400))

    shift 2
    "$CAPTURE_MAKER" --quiet --ranks 4 --ops 8 --steady --start "$start" "$@" \
        "$name.captures"
    "$ROLLCALL" archive add --no-raw --job "$name" "$name.captures" >/dev/null
    "$ROLLCALL" build "$name" >/dev/null
}

# four_jobs: rank 3 is slow in two of them; in three months
four_jobs ()
{
    job one 0 --seed 1
    job two 8 --seed 2 --slow-rank 3
    job three 15 --seed 3 --slow-rank 3
    job four 56 --seed 4
}

# jobs_json [OPTION]...: without the runs of this machine
jobs_json ()
{
    "$ROLLCALL" jobs --json "$@" >jobs.out || return
    sed 's/, "runs": .*/}/' jobs.out
}

# same TEXT VERB [OPTION]...: from SQLite and from PostgreSQL, with TEXT in it
same ()
{
    local text=$1 verb=$2

    shift 2
    "$verb" "$@" >sqlite.out || fail "$verb $*: it fails" || return
    "$verb" "$@" --postgres "$PG" >postgres.out ||
        fail "$verb $* --postgres: it fails" || return
    grep -q -- "$text" sqlite.out || fail "$verb $*: no $text" || return
    diff sqlite.out postgres.out || fail "$verb $*: the answers differ"
}

as_verb ()
{
    "$ROLLCALL" "$@"
}

# set_fact JOB KEY VALUE [GONE]: into the ledger, as agents of a divided job do
set_fact ()
{
    python3 - "root/ledger.db" "$@" <<'END'
import hashlib, sqlite3, struct, sys
path, job, key, value = sys.argv[1:5]
gone = int(sys.argv[5]) if len(sys.argv) > 5 else 0

def row_sum(*row):
    data = b"".join(struct.pack("<Bq", 1, v) if isinstance(v, int) else
                    struct.pack("<BI", 3, len(v)) + v.encode() for v in row)
    return struct.unpack(">q", hashlib.sha256(data).digest()[:8])[0]

def add(n, this):
    rows, total = db.execute("SELECT rows, total FROM total").fetchone()
    total = (total + this + 2**63) % 2**64 - 2**63
    db.execute("UPDATE total SET rows=?, total=?, sum=?",
               (rows + n, total, row_sum(rows + n, total)))

db = sqlite3.connect(path)
for this, in db.execute("SELECT sum FROM fact WHERE job=? AND key=?", (job, key)).fetchall():
    add(-1, -this)
db.execute("DELETE FROM fact WHERE job=? AND key=?", (job, key))
this = row_sum(job, key, value, 1, "", gone)
db.execute("INSERT INTO fact (job, key, value, at_ns, by, gone, sum) "
           "VALUES (?,?,?,1,'',?,?)", (job, key, value, gone, this))
add(1, this)
db.commit()
END
}

pushed_all ()                       # JOBS: so many were pushed
{
    push --all
    expect_status 0
    shows ": $1 job"
}

# rows TABLE...: of all jobs
rows ()
{
    ask "SELECT count(*) FROM rollcall.$1"
}

# all_rows: a fingerprint of the rows of all tables of cluster here, whatever
# their ids are
all_rows ()
{
    local table

    for table in $(ask "SELECT relname FROM pg_class WHERE relkind='p' AND
            relnamespace='rollcall'::regnamespace ORDER BY 1"); do
        ask "SELECT '$table', j.name, md5(string_agg(t::text, ',' ORDER BY t::text))
            FROM (SELECT job, (to_jsonb(t)-'job')::text AS t FROM rollcall.$table t) t
            JOIN rollcall.job j ON j.id=t.job AND j.cluster='here' GROUP BY j.name ORDER BY j.name"
    done
}

@test "jobs and trend say the same from SQLite and from PostgreSQL" {
    local by

    four_jobs
    "$ROLLCALL" archive tag two night gpt3
    "$ROLLCALL" archive pin two
    "$ROLLCALL" archive tag four night
    "$ROLLCALL" jobs --job three --expect 5
    "$ROLLCALL" build three >/dev/null || true
    # in parts, all of which count
    "$ROLLCALL" build --one-file 10k one >/dev/null
    # divided, and once in a place that is forgotten
    set_fact one home "tcp://a:1, tcp://b:1"
    set_fact one raw_at tcp://c:1
    set_fact two home tcp://gone:1 1
    push --migrate --all
    expect_status 0
    shows "tables of version 4 made"
    shows ": 4 jobs, "
    shows " in 1 transaction"
    same '"job": "four"' jobs_json
    same '"home": "tcp://a:1, tcp://b:1", "raw_at": "tcp://c:1"' jobs_json --job one
    is "bytes" "$(cat "$ROLLCALL_ROOT"/jobs/one/*/analysis*.db | wc -c)" \
        "$(ask "SELECT file_bytes FROM rollcall.job WHERE name='one'")"
    same '^four ' as_verb jobs
    same '"job": "three"' jobs_json --job three
    same "5 ranks: rollcall jobs --expect" as_verb jobs --job three
    same '"job": "two"' jobs_json --where "pinned AND present = 4"
    same '"job": "four"' jobs_json --where "step_ms > 1 AND began > '2026-10'"
    same '"job": "two"' jobs_json --tag night
    same '"job": "one"' jobs_json --user "$(id -un)"
    same '"job": "one"' jobs_json --host node0
    same '"job": "four"' jobs_json --since 2026-10-01
    same "none of 4 jobs matches" as_verb jobs --user nobody-else
    same "none of 4 jobs matches" as_verb jobs --host nowhere
    same "^1 job, 1 with" as_verb trend --tag gpt3
    same "^4 jobs, 4 with" as_verb trend --host node0
    run "$ROLLCALL" jobs --where "nothing_such" --postgres "$PG"
    expect_status 2
    shows "no such column"
    run "$ROLLCALL" jobs --job five --postgres "$PG"
    expect_status 66
    for by in day week month tag user host; do
        same 4 as_verb trend --by "$by"
        same '"key"' as_verb trend --by "$by" --json
        # and as PostgreSQL itself computes it
        "$ROLLCALL" trend --by "$by" --json >json
        sqlite3 -batch :memory: "SELECT value->>'key', value->>'jobs',
            value->>'first', round(value->>'step_ms', 6),
            round(value->>'computing_percent', 6),
            round(value->>'comm_percent', 6), value->>'high'
            FROM json_each(readfile('json'), '\$.rows')" >of_sqlite
        ask "SELECT key, jobs, to_char(first AT TIME ZONE 'UTC',
            'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"'), round(step_ms::numeric, 6)::float8,
            round(computing_percent::numeric, 6)::float8,
            round(comm_percent::numeric, 6)::float8, high
            FROM rollcall.trend('$by')" >of_postgres
        awk -F'|' '{ printf "%s|%s|%s|%.6f|%.6f|%.6f|%s\n", $1, $2, $3, $4, $5,
                     $6, $7 }' of_sqlite >a
        awk -F'|' '{ printf "%s|%s|%s|%.6f|%.6f|%.6f|%s\n", $1, $2, $3, $4, $5,
                     $6, $7 }' of_postgres >b
        diff a b
    done
    is "slow again" "$(sqlite3 -batch :memory: "SELECT value->>'kind',
        value->>'what', value->>'jobs' FROM json_each(readfile('json'),
        '\$.slow_again')")" "$(ask "SELECT kind, what, jobs FROM
        rollcall.slow_again()")"
    # whatever is set for the user or the database
    ask "ALTER ROLE rollcall SET extra_float_digits=-14;
         ALTER ROLE rollcall SET datestyle='Postgres, DMY'" >/dev/null
    same '"job": "four"' jobs_json
    ask "UPDATE rollcall.job SET sum=0" >/dev/null
    pushed_all 4
    is "rows of a job" 1 "$(ask "SELECT count(DISTINCT job) FROM rollcall.roster WHERE
        job IN (SELECT id FROM rollcall.job WHERE name='four') OR
        job NOT IN (SELECT id FROM rollcall.job)")"
    # another place is a change
    set_fact one raw_at tcp://d:1
    pushed_all 1
    same '"raw_at": "tcp://d:1"' jobs_json --job one
    "$ROLLCALL" trend --html a.html >/dev/null
    "$ROLLCALL" trend --html b.html --postgres "$PG" >/dev/null
    cmp a.html b.html
}

# detach MONTH [TABLE]...: of all tables
detach ()
{
    local month=$1 table

    shift
    [ $# -gt 0 ] || set -- $(ask "SELECT relname FROM pg_class WHERE relkind='p' AND
        relnamespace='rollcall'::regnamespace")
    for table; do
        ask "ALTER TABLE rollcall.$table DETACH PARTITION rollcall.${table}_$month" >/dev/null
    done
}

@test "jobs of a month that somebody has detached are left out and named" {
    four_jobs                       # in months 09, 09, 10, 11
    push --migrate --all
    expect_status 0
    detach 202610 roster
    ask "UPDATE rollcall.job SET sum=0" >/dev/null
    push --all
    expect_status 0
    shows ": 3 jobs, "
    shows "job three is left out: the tables have no part for its month, 2026-10,"
    push --all
    expect_status 0
    shows ": 0 jobs"
    push three
    expect_status 73
    shows "job three is left out"
    push --all --json
    shows $'"no_part":\t1'
    is "jobs" 4 "$(rows job)"
    # a service says it in its status, and goes on
    service --postgres "$PG"
    left () { [[ $(status_of why) == "job three is left out: "* ]]; }
    eventually left
    deliver six
    there () { [ "$(rows job)" = 5 ]; }
    eventually there
    [ "$(status_of backlog)" = 0 ] || eventually backlog_is 0
    kill_service
    # a whole month; with a default part everything has its place
    detach 202609
    job five 9
    job nine 70
    push --all
    expect_status 0
    shows ": 1 job, "
    shows "job five is left out: the tables have no part for its month, 2026-09,"
    for table in $(ask "SELECT relname FROM pg_class WHERE relkind='p' AND
        relnamespace='rollcall'::regnamespace"); do
        ask "CREATE TABLE rollcall.${table}_rest PARTITION OF rollcall.$table DEFAULT" >/dev/null
    done
    pushed_all 2
    is "in the default part" 2 "$(ask "SELECT count(DISTINCT job) FROM rollcall.roster_rest")"
    # which keeps it when what was detached is dropped
    ask "DROP TABLE rollcall.roster_202609" >/dev/null
    "$ROLLCALL" archive tag five night
    pushed_all 1
    is "in the default part" 2 "$(ask "SELECT count(DISTINCT job) FROM rollcall.roster_rest")"
    # and parts of other bounds are parts
    ask "CREATE TABLE rollcall.roster_2027 PARTITION OF rollcall.roster
        FOR VALUES FROM ('2027-01-01 00:00:00Z') TO ('2028-01-01 00:00:00Z')" >/dev/null
    job seven 120
    pushed_all 1
    is "in the year" 1 "$(ask "SELECT count(DISTINCT job) FROM rollcall.roster_2027")"
}

# part_of_days FIRST LAST: of roster, by hand
part_of_days ()
{
    ask "CREATE TABLE rollcall.roster_by_hand PARTITION OF rollcall.roster
        FOR VALUES FROM ('$1 00:00:00Z') TO ('$2 00:00:00Z')" >/dev/null
}

@test "a part that somebody made of some days is named, and other months are pushed" {
    local days

    job one 0
    push --migrate --all
    job two 60
    job three 30                    # of October
    for days in "2026-10-01 2026-10-03" "2026-10-25 2026-11-01"; do
        # shellcheck disable=SC2086
        part_of_days $days
        push --all
        expect_status 0
        shows "job three is left out: rollcall.roster_by_hand of rollcall.roster has only some days"
        shows "of its month, 2026-10: make a default part, or detach that one"
        is "jobs" 2 "$(rows job)"
        push three
        expect_status 73
        ask "DROP TABLE rollcall.roster_by_hand" >/dev/null
    done
    # it has the days of all jobs
    part_of_days 2026-10-20 2026-10-25
    pushed_all 1
    is "jobs" 3 "$(rows job)"
    # with another one it has the whole month
    ask "CREATE TABLE rollcall.roster_rest PARTITION OF rollcall.roster
        FOR VALUES FROM ('2026-10-25 00:00:00Z') TO ('2026-11-01 00:00:00Z')" >/dev/null
    job four 37
    pushed_all 1
    is "in the rest" 1 "$(ask "SELECT count(DISTINCT job) FROM rollcall.roster_rest")"
}

@test "names of all kinds, months of UTC, results in parts" {
    local name n=0 starts=(1790812799 1790812801 1793491199 1793491201)

    postgres_stop
    postgres_start -c timezone=Pacific/Auckland -c datestyle=SQL,DMY
    export ROLLCALL_CLUSTER=$'h\'er"e\\\xc3\xbc'
    for name in "a'b" 'a"b' 'a\b' '{a,b}' NULL '$1' '%s' -dash ' lead' $'two\nlines' \
        $'\xe6\x97\xa5\xe6\x9c\xac' A a '\.' 'x; --' "$(printf 'x%.0s' {1..120})"; do
        "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 --steps 1 --steady --seed "$n" \
            --start "${starts[n % 4]}" --host-name "h'\"\\$((n % 3))" "captures$n"
        "$ROLLCALL" archive add --no-raw --job "$name" "captures$n" >/dev/null
        n=$((n + 1))
    done
    "$ROLLCALL" build --all --one-file 1 >/dev/null
    push --migrate --all
    expect_status 0
    shows ": $n jobs"
    same '"job": "two' jobs_json
    same '^-dash ' as_verb jobs
    same '"job": "a' jobs_json --job "a'b"
    same '"job": "NULL"' jobs_json --host "h'\"\\1"
    same '"job"' jobs_json --since 2026-10-01
    same "none of" as_verb jobs --host $'bad\xff'
    for name in day month host; do
        same '"gbps"' as_verb trend --by "$name" --json
    done
    is "months" "roster_202609 4|roster_202610 8|roster_202611 4" "$(ask "SELECT c.relname||' '||
        count(DISTINCT r.job) FROM rollcall.roster r JOIN pg_class c ON c.oid=r.tableoid
        GROUP BY c.relname ORDER BY c.relname" | paste -sd'|')"
}

@test "what is set for the user or the database does not matter" {
    job one 0
    push --migrate
    ask "CREATE ROLE other SUPERUSER LOGIN;
         ALTER ROLE other SET search_path=pg_catalog;
         ALTER ROLE other SET default_transaction_read_only=on;
         ALTER ROLE other SET default_transaction_isolation=serializable;
         ALTER ROLE other SET standard_conforming_strings=off;
         ALTER ROLE other SET quote_all_identifiers=on;
         ALTER ROLE other SET client_encoding='LATIN1';
         ALTER ROLE other SET timezone='Asia/Kathmandu';
         ALTER ROLE other SET statement_timeout='1h';
         ALTER ROLE other SET idle_in_transaction_session_timeout='1h';
         CREATE FUNCTION limits() RETURNS trigger LANGUAGE plpgsql AS
         \$\$ BEGIN
             IF current_setting('statement_timeout')<>'0' OR
                current_setting('idle_in_transaction_session_timeout')<>'0' THEN
                 RAISE 'there are limits';
             END IF;
             RETURN NEW;
         END \$\$;
         CREATE TRIGGER limits BEFORE INSERT ON rollcall.roster FOR EACH ROW
         EXECUTE FUNCTION limits()" >/dev/null
    PG=${PG/user=rollcall/user=other}
    pushed_all 1
    same '"job": "one"' jobs_json
    push --migrate
    expect_status 0
}

@test "a schema that somebody else makes, with other tables; a reader made later" {
    job one 0
    ask "CREATE ROLE owner LOGIN; REVOKE CREATE ON DATABASE jobs FROM PUBLIC, owner;
         CREATE SCHEMA rollcall AUTHORIZATION owner" >/dev/null
    PG=${PG/user=rollcall/user=owner}
    push --migrate
    expect_status 0
    shows "there is no role rollcall_reader"
    # a parted table of another, also one that has no job
    ask "CREATE TABLE rollcall.mine (a int) PARTITION BY LIST (a)" >/dev/null
    pushed_all 1
    "$ROLLCALL" archive tag one night
    pushed_all 1
    ask "CREATE ROLE rollcall_reader; CREATE ROLE grafana LOGIN IN ROLE rollcall_reader" >/dev/null
    push --migrate
    expect_status 0
    [[ $output != *"there is no role"* ]] || fail "$output"
    is "jobs" 1 "$(PGUSER=grafana rows job)"
    is "steps" 2 "$(PGUSER=grafana rows step)"
}

@test "what is pushed is the result's, once, and parted by month" {
    local before table

    four_jobs
    push --migrate
    pushed_all 4
    for table in roster:Roster capture:Capture finding:Finding \
        rank_step:StepCounted step:StepTrend; do
        is "${table#*:}" "$(for job in one two three four; do
            sqlite3 "root/jobs/$job/cluster_analysis_output/analysis.db" \
                "SELECT count(*) FROM ${table#*:}"
            done | paste -sd+ | bc)" "$(rows "${table%:*}")"
    done
    is "computing" "$(sqlite3 root/jobs/two/cluster_analysis_output/analysis.db \
        "SELECT rank, step, computing FROM StepCounted ORDER BY 1, 2" |
        awk -F'|' '{ printf "%d %s %.3f\n", $1, $2, $3 }')" \
        "$(ask "SELECT rank, s.step, s.computing_us FROM rollcall.rank_step s JOIN
            rollcall.job j ON j.id=s.job WHERE j.name='two' ORDER BY 1, 2" |
        awk -F'|' '{ printf "%d %s %.3f\n", $1, $2, $3 }')"
    is "links" "$(sqlite3 root/jobs/two/cluster_analysis_output/analysis.db \
        "SELECT count(*) FROM (SELECT DISTINCT src_rank, dst_rank,
         transport_type, type FROM Link)")" \
        "$(ask "SELECT count(*) FROM rollcall.link_sum s JOIN rollcall.job j ON
            j.id=s.job WHERE j.name='two'")"
    is "groups" "$(sqlite3 root/jobs/two/cluster_analysis_output/analysis.db \
        "SELECT comm_group, sum(ops), printf('%.3f', sum(elapse_time)),
         printf('%.3f', sum(transit_time)) FROM GroupTime GROUP BY 1 ORDER BY 1")" \
        "$(ask "SELECT comm_group, ops, to_char(elapse_ms, 'FM999990.000'),
            to_char(transit_ms, 'FM999990.000') FROM rollcall.group_sum s JOIN rollcall.job j
            ON j.id=s.job WHERE j.name='two' AND ops IS NOT NULL ORDER BY 1")"
    # never op rows
    is "ops" "" "$(ask "SELECT relname FROM pg_class WHERE
        relnamespace='rollcall'::regnamespace AND relname ~ '(op|Comm)'")"
    is "months" "roster_202609 roster_202610 roster_202611" "$(ask "SELECT relname
        FROM pg_class WHERE relname ~ '^roster_[0-9]*\$' ORDER BY 1" | xargs)"
    # again: nothing; changed: replaced
    before=$(all_rows)
    pushed_all 0
    ask "UPDATE rollcall.job SET sum=0" >/dev/null
    pushed_all 4
    is "rows" "$before" "$(all_rows)"
    "$ROLLCALL" archive tag one night
    push --all --json
    shows $'"jobs":\t1,'
    shows $'"transactions":\t1,'
    push two
    shows ": 0 jobs"
    # what the root has no more stays, unless it is pruned
    "$ROLLCALL" archive rm --apply four >/dev/null
    pushed_all 0
    is "jobs" 4 "$(rows job)"
    push --all --prune
    expect_status 0
    shows "1 removed"
    same '"job"' jobs_json
    is "left behind" 0 "$(ask "SELECT count(*) FROM rollcall.roster r LEFT JOIN
        rollcall.job j ON j.id=r.job WHERE j.id IS NULL")"
    # a name that is no text keeps no other job from it
    job $'bad\xff' 1
    job five 2
    push --all
    expect_status 0
    shows ": 1 job, "
    shows "1 job left out: a name that is not UTF-8"
    push $'bad\xff'
    expect_status 66
}

@test "a root has one name there, and a name one root" {
    local before

    job one 0 --seed 1
    job two 8 --seed 2
    push --migrate --all
    before=$(all_rows)
    # another root, which may not take the place of this one
    ROLLCALL_ROOT=$TEST_DIR/other job one 3 --seed 9
    push --root other --all --prune
    expect_status 77
    shows "cluster here is another root: give this one a name of its own"
    push --root other one
    expect_status 77
    is "rows" "$before" "$(all_rows)"
    push --root other --cluster here --all --rebind --prune
    expect_status 0
    push --all
    expect_status 77
    push --all --rebind --prune
    expect_status 0
    is "rows" "$before" "$(all_rows)"
    push --root other --cluster there --all
    expect_status 0
    push --root other --cluster here --all --rebind
    expect_status 77
    shows "or keep its name there"
    is "all" "here/one here/two there/one" \
        "$("$ROLLCALL" jobs --postgres "$PG" | sed -n '2,$s/ .*//p' | xargs)"
    run "$ROLLCALL" jobs --postgres "$PG" --cluster there --job one
    expect_status 0
    run "$ROLLCALL" jobs --postgres "$PG" --cluster nowhere
    expect_status 66
    # a second name, under which all would be there twice
    push --cluster again --all
    expect_status 77
    shows "this root is cluster here there: push with --cluster here"
    push --cluster again two
    expect_status 77
    push --cluster again --all --rebind
    expect_status 0
    shows ": 0 jobs"
    is "all" "again/one again/two there/one" \
        "$("$ROLLCALL" jobs --postgres "$PG" | sed -n '2,$s/ .*//p' | xargs)"
}

someone_reads ()
{
    [ "$(ask "SELECT count(*) FROM pg_stat_activity WHERE wait_event='PgSleep'")" = 1 ]
}

@test "a database that is away, or another, or changed by hand" {
    local reader

    push --all
    expect_status 66
    job one 0
    push --all
    expect_status 66
    shows "has no tables of rollcall: rollcall push --migrate makes them"
    push --migrate
    push nothing
    expect_status 66
    shows "there is no job nothing in this root: rollcall jobs lists"
    pushed_all 1
    # in another month, while somebody reads
    psql -X -q -c "SELECT count(*) FROM rollcall.roster; SELECT pg_sleep(600)" \
        >/dev/null 2>&1 3>&- &
    reader=$!
    eventually someone_reads
    job two 60
    pushed_all 1
    ask "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE
        wait_event='PgSleep'" >/dev/null
    wait "$reader" || true
    # older
    ask "DELETE FROM rollcall.schema_version WHERE version>2;
         DROP FUNCTION rollcall.begin_push, rollcall.remove_jobs, rollcall.let_read,
             rollcall.make_month, rollcall.has_parts, rollcall.lacks_part, rollcall.parts_of;
         CREATE FUNCTION rollcall.make_month(moment timestamptz) RETURNS void LANGUAGE sql AS '';
         DROP VIEW rollcall.step; CREATE TABLE rollcall.step (job bigint);
         DROP TABLE rollcall.job_rest; ALTER TABLE rollcall.job DROP COLUMN known_by;
         ALTER TABLE rollcall.cluster DROP CONSTRAINT cluster_root_key;
         DELETE FROM rollcall.schema_shape WHERE relation IN ('cluster',
         'begin_push', 'remove_jobs', 'let_read', 'make_month', 'has_parts', 'lacks_part',
         'parts_of', 'step', 'job', 'job_rest');
         INSERT INTO rollcall.cluster SELECT 'zzz before', root FROM rollcall.cluster" >/dev/null
    push --all
    expect_status 66
    shows "has tables of version 2, and this rollcall needs 4"
    run "$ROLLCALL" jobs --postgres "$PG"
    expect_status 66
    push --migrate --all
    expect_status 0
    # newer
    ask "INSERT INTO rollcall.schema_version VALUES (99)" >/dev/null
    push --all
    expect_status 65
    shows "has tables of version 99; this rollcall knows 4: use a newer one"
    push --migrate
    expect_status 65
    ask "DELETE FROM rollcall.schema_version WHERE version=99" >/dev/null
    # by hand
    ask "ALTER TABLE rollcall.roster RENAME reason TO why" >/dev/null
    push --all
    expect_status 65
    shows "somebody changed rollcall.roster"
    run "$ROLLCALL" trend --postgres "$PG"
    expect_status 65
    ask "ALTER TABLE rollcall.roster RENAME why TO reason" >/dev/null
    ask "ALTER FUNCTION rollcall.remove_jobs RENAME TO other" >/dev/null
    push --all
    expect_status 65
    shows "somebody removed rollcall.remove_jobs"
    ask "ALTER FUNCTION rollcall.other RENAME TO remove_jobs" >/dev/null
    ask "CREATE TABLE rollcall.mine (a int)" >/dev/null     # does no harm
    pushed_all 0
    ask "DROP TABLE rollcall.link_sum" >/dev/null
    push --all
    expect_status 65
    shows "somebody removed rollcall.link_sum"
    # away
    postgres_stop
    push --all
    expect_status 75
    shows "No such file or directory"
}

@test "a database that speaks German, or has another encoding" {
    local encoding

    # no locale has to be installed for messages
    [ -d /usr/lib/locale/C.utf8 ] || skip "needs locale C.utf8"
    mkdir "$PG_DIR/locale"
    cp -r /usr/lib/locale/C.utf8 "$PG_DIR/locale/de_DE.UTF-8"
    chmod -R a+rX "$PG_DIR/locale"
    job one 0
    postgres_stop
    LOCPATH=$PG_DIR/locale postgres_start -c lc_messages=de_DE.UTF-8
    [[ $(psql -X -c "SELECT 1/0" 2>&1) == *"durch Null"* ]] ||
        skip "PostgreSQL does not speak German here"
    push --all
    expect_status 66
    push --migrate --all
    expect_status 0
    run "$ROLLCALL" push --all --postgres "${PG/jobs/nothing}"
    expect_status 66
    shows "existiert nicht"
    run "$ROLLCALL" push --all --postgres "${PG/user=rollcall/user=nobody}"
    expect_status 77
    shows "existiert nicht"
    ask "CREATE ROLE stranger LOGIN; CREATE ROLE one LOGIN CONNECTION LIMIT 0" >/dev/null
    run "$ROLLCALL" push --all --postgres "${PG/user=rollcall/user=stranger}"
    expect_status 77
    shows "role rollcall_reader may read"
    # it may have room later
    run "$ROLLCALL" push --all --postgres "${PG/user=rollcall/user=one}"
    expect_status 75
    ask "ALTER TABLE rollcall.roster RENAME TO other" >/dev/null
    push --all
    expect_status 65
    for encoding in LATIN1 SQL_ASCII; do
        ask "CREATE DATABASE other$encoding TEMPLATE template0 ENCODING '$encoding'" >/dev/null
        run "$ROLLCALL" push --migrate --postgres "${PG/jobs/other${encoding,,}}"
        expect_status 65
        shows "has encoding $encoding: rollcall needs one with UTF8"
    done
}

# no_secret: neither its text nor a part of it
no_secret ()
{
    [[ $output != *s3cr3t* ]] || fail "it prints the password: $output"
}

@test "a password is neither printed nor in ps; roles" {
    job one 0
    # whoever does not ask for it does not load it
    [[ $(ldd "$ROLLCALL" "$AGGREGATOR") != *libpq* ]] || fail "libpq is linked"
    run "$ROLLCALL" push --all --postgres "postgresql://me:s3cr3t@127.0.0.1:9/x"
    expect_status 2
    shows "seen by everybody in ps"
    no_secret
    run "$ROLLCALL" push --all --postgres "postgresql://me:%zzs3cr3t@127.0.0.1/x"
    expect_status 2
    no_secret
    run "$AGGREGATOR" --postgres "host=127.0.0.1 password=s3cr3t"
    expect_status 2
    no_secret
    run "$AGGREGATOR" --postgres "postgresql://me@127.0.0.1/x" --cluster a/b
    expect_status 2
    shows "--cluster is a name in UTF-8, without a slash"
    export ROLLCALL_POSTGRES="postgresql://me:s3cr3t@127.0.0.1:9/x"
    run "$ROLLCALL" push --all
    expect_status 75
    no_secret
    unset ROLLCALL_POSTGRES

    push --migrate --all
    expect_status 0
    ask "CREATE ROLE grafana LOGIN PASSWORD 's3cr3t'; CREATE ROLE stranger LOGIN;
         GRANT rollcall_reader TO grafana" >/dev/null
    sed -i '1i local jobs grafana scram-sha-256' "$PG_DIR/data/pg_hba.conf"
    ask "SELECT pg_reload_conf()" >/dev/null
    PG=${PG%&*}
    run env PGUSER=grafana "$ROLLCALL" jobs --postgres "$PG"
    expect_status 77
    shows "put it into ~/.pgpass"
    no_secret
    echo "*:*:*:grafana:s3cr3t" >pgpass
    chmod 600 pgpass
    export PGPASSFILE=$TEST_DIR/pgpass
    run env PGUSER=grafana "$ROLLCALL" jobs --postgres "$PG"
    expect_status 0
    # it reads, and no more
    run env PGUSER=grafana "$ROLLCALL" push --all --postgres "$PG"
    expect_status 0
    ask "UPDATE rollcall.job SET sum=0" >/dev/null
    run env PGUSER=grafana "$ROLLCALL" push --all --postgres "$PG"
    expect_status 77
    no_secret
    run env PGUSER=stranger "$ROLLCALL" jobs --postgres "$PG"
    expect_status 77
}

# waits_in_copy: of a row that a trigger holds
holds_copy ()
{
    ask "CREATE OR REPLACE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql
         SET lock_timeout=0 AS
         \$\$ BEGIN PERFORM pg_advisory_xact_lock_shared(42); RETURN NEW; END \$\$;
         CREATE TRIGGER hold BEFORE INSERT ON rollcall.roster FOR EACH ROW
         EXECUTE FUNCTION hold()" >/dev/null
    psql -X -q -c "SELECT pg_advisory_lock(42)" -c "SELECT pg_sleep(600)" \
        >/dev/null 2>&1 3>&- &
    holder=$!
    eventually is_held
}

is_held ()
{
    [ "$(ask "SELECT count(*) FROM pg_locks WHERE locktype='advisory' AND
        objid=42 AND mode='ExclusiveLock' AND granted")" = 1 ]
}

waits_in_copy ()
{
    [ "$(ask "SELECT count(*) FROM pg_stat_activity WHERE wait_event='advisory'
        AND query LIKE '%COPY roster%'")" -ge 1 ]
}

let_copy_go ()
{
    ask "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype='advisory'
        AND objid=42 AND mode='ExclusiveLock'" >/dev/null
    wait "$holder" || true
    ask "DROP TRIGGER IF EXISTS hold ON rollcall.roster" >/dev/null
}

@test "restarted in the middle of COPY: nothing, or all of it" {
    local pid status

    four_jobs
    push --migrate
    holds_copy
    "$ROLLCALL" push --all --postgres "$PG" >push.out 2>&1 3>&- &
    pid=$!
    eventually waits_in_copy
    postgres_stop immediate
    status=0
    wait "$pid" || status=$?
    wait "$holder" || true
    is "status" 75 "$status"
    postgres_start
    is "jobs" 0 "$(rows job)"
    is "rows" 0 "$(rows roster)"
    ask "DROP TRIGGER hold ON rollcall.roster" >/dev/null
    pushed_all 4
    same '"job"' jobs_json
}

@test "a trigger that leaves rows out is named, and nothing is pushed" {
    four_jobs
    push --migrate
    ask "CREATE FUNCTION public.none() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER none BEFORE INSERT ON rollcall.roster FOR EACH ROW EXECUTE FUNCTION
         public.none()" >/dev/null
    push --all
    expect_status 65
    shows "took 0 of " "rows of a table in schema rollcall: is there a trigger"
    is "jobs" 0 "$(rows job)"
    ask "DROP TRIGGER none ON rollcall.roster" >/dev/null
    pushed_all 4
    same '"job"' jobs_json
}

@test "its disk is full: it says so, and goes on when there is room" {
    [ "$(id -u)" -eq 0 ] || skip "needs root, to mount"
    mkdir "$PG_DIR/small"
    mount -t tmpfs -o size=24m none "$PG_DIR/small" || skip "cannot mount"
    chown nobody:nogroup "$PG_DIR/small"
    mkdir "$PG_DIR/small/space"
    chown nobody:nogroup "$PG_DIR/small/space"
    ask "CREATE TABLESPACE small LOCATION '$PG_DIR/small/space'" >/dev/null
    ask "CREATE DATABASE small TEMPLATE template0 TABLESPACE small" >/dev/null
    export PGDATABASE=small
    PG=${PG/jobs/small}
    job one 0
    push --migrate
    expect_status 0
    ask "CHECKPOINT" >/dev/null
    cat /dev/zero >"$PG_DIR/small/filler" 2>/dev/null || true
    push --all
    expect_status 73
    shows "No space left on device"
    is "jobs" 0 "$(rows job)"
    rm "$PG_DIR/small/filler"
    pushed_all 1
    same '"job"' jobs_json
}

@test "with pg_partman its parts are used" {
    [ "$(ask "SELECT count(*) FROM pg_available_extensions WHERE
        name='pg_partman'")" = 1 ] || skip "needs pg_partman"
    ask "CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman" >/dev/null
    four_jobs
    push --migrate --all
    expect_status 0
    is "parents" "$(ask "SELECT count(*) FROM pg_class WHERE relkind='p' AND
        relnamespace='rollcall'::regnamespace")" \
        "$(ask "SELECT count(*) FROM partman.part_config WHERE
        parent_table LIKE 'rollcall.%'")"
    is "in the default part" 0 "$(rows roster_default)"
    is "months" 3 "$(ask "SELECT count(DISTINCT tableoid) FROM rollcall.roster")"
    pushed_all 0
    same '"job"' jobs_json
    same week as_verb trend
}

@test "a month that pg_partman's retention has detached" {
    [ "$(ask "SELECT count(*) FROM pg_available_extensions WHERE
        name='pg_partman'")" = 1 ] || skip "needs pg_partman"
    ask "CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman" >/dev/null
    four_jobs
    push --migrate --all
    expect_status 0
    # which keeps the tables
    ask "SELECT partman.drop_partition_time(parent_table, '1 day', true,
        p_reference_timestamp := '2026-10-03') FROM partman.part_config" >/dev/null
    is "months" 2 "$(ask "SELECT count(DISTINCT tableoid) FROM rollcall.roster")"
    ask "UPDATE rollcall.job SET sum=0" >/dev/null
    pushed_all 4
    is "in the default part" 2 "$(ask "SELECT count(DISTINCT job) FROM rollcall.roster_default")"
    # without one
    ask "DROP TABLE rollcall.roster_default; UPDATE rollcall.job SET sum=0" >/dev/null
    push --all
    expect_status 0
    shows ": 2 jobs, "
    shows "job one is left out" "job two is left out"
}

@test "a pg_partman that comes later leaves the tables as they are" {
    [ "$(ask "SELECT count(*) FROM pg_available_extensions WHERE
        name='pg_partman'")" = 1 ] || skip "needs pg_partman"
    job one 0
    push --migrate --all
    ask "CREATE SCHEMA partman; CREATE EXTENSION pg_partman SCHEMA partman" >/dev/null
    job two 60
    pushed_all 1
    is "parts" "roster_202609 roster_202611" "$(ask "SELECT relname FROM pg_class WHERE
        relname ~ '^roster_' AND relkind='r' ORDER BY 1" | xargs)"
}

@test "equal names of two clusters are two hosts" {
    local of_sqlite

    job one 0 --seed 1 --slow-rank 3
    ROLLCALL_ROOT=$TEST_DIR/other job one 7 --seed 2 --slow-rank 3
    push --migrate --all
    # alone, hosts have their own names
    is "hosts" "$("$ROLLCALL" trend --by host --json | keys)" "$(ask "SELECT key
        FROM rollcall.trend('host')" | xargs)"
    push --root other --cluster there --all
    expect_status 0
    of_sqlite=$("$ROLLCALL" trend --by host --json --postgres "$PG" | keys)
    [[ $of_sqlite == here/*there/* ]] || fail "hosts: $of_sqlite"
    is "hosts" "$of_sqlite" "$(ask "SELECT key FROM rollcall.trend('host')" | xargs)"
    is "slow again" 0 "$(ask "SELECT count(*) FROM rollcall.slow_again()")"
    is "hosts of one" "node0" "$(ask "SELECT key FROM rollcall.trend('host',
        of_clusters => '{there}')" | xargs)"
    # each has a job of this name
    is "jobs" "here/one there/one" "$("$ROLLCALL" jobs --job one --postgres "$PG" |
        sed -n '2,3s/ .*//p' | xargs)"
}

keys ()                             # of the rows of a trend
{
    cat >keys.json
    sqlite3 -batch :memory: "SELECT value->>'key' FROM
        json_each(readfile('keys.json'), '\$.rows')" | xargs
}

# ---- a service ----

# status_of MEMBER: of "postgres" in the service's status
status_of ()
{
    "$ROLLCALL" status --json root >status.json
    sqlite3 -batch :memory: "SELECT json_extract(readfile('status.json'),
        '\$.daemons[0].status.postgres.$1')"
}

status_has ()                       # TEXT
{
    "$ROLLCALL" status root | grep -qF -- "$1"
}

backlog_is ()                       # JOBS
{
    [ "$(status_of backlog)" = "$1" ]
}

up_to_date ()                       # JOBS: so many are there
{
    [ "$(rows job)" = "$1" ] && backlog_is 0
}

deliver ()                          # JOB: delivered and built
{
    rm -rf captures
    "$CAPTURE_MAKER" --quiet --ranks 2 --ops 4 captures
    run agent --once --job "$1" captures
    expect_status 0
    built () { [ "$(builds "$1")" -ge 1 ]; }
    eventually built "$1"
}

@test "a service pushes, and waits for nothing" {
    local pid

    push --migrate
    service --postgres "$PG"
    deliver a
    eventually up_to_date 1
    for pid in $(processes); do
        [[ $(tr '\0' ' ' <"/proc/$pid/cmdline") != *" push "*"$PG_DIR"* ]] ||
            fail "the URI is in ps"
    done
    eventually status_has "PostgreSQL is up to date"
    # a mark builds nothing, and is pushed
    "$ROLLCALL" archive tag a night
    tagged () { [ "$(rows job_tag)" = 1 ]; }
    eventually tagged

    # slow: what is delivered meanwhile is acknowledged and built
    holds_copy
    deliver b
    eventually waits_in_copy
    deliver c
    eventually backlog_is 2
    eventually status_has "PostgreSQL lacks 2 jobs, the oldest for"
    let_copy_go
    eventually up_to_date 3

    # away
    postgres_stop immediate
    deliver d
    eventually backlog_is 1
    failed () { [ -n "$(status_of why)" ]; }
    eventually failed
    postgres_start
    eventually up_to_date 4
    recovered () { [ -z "$(status_of why)" ]; }
    eventually recovered

    # its process is killed: it comes again
    kill -KILL "$(pgrep -f "push --follow --all --root $TEST_DIR/root")"
    deliver e
    eventually up_to_date 5
    # the service is: its process ends
    kill_service
    eventually no_processes_but_postgres
    # away from the start
    postgres_stop immediate
    service --postgres "$PG"
    deliver f
    eventually backlog_is 1
    postgres_start
    eventually up_to_date 6
    stop_follows () { ! pgrep -f "push --follow.*$TEST_DIR/root" >/dev/null; }
    kill "$service"
    wait "$service"
    eventually stop_follows
    same '"job"' jobs_json
}

waits_its_turn ()
{
    [ "$(ask "SELECT count(*) FROM pg_stat_activity WHERE wait_event='advisory'
        AND query LIKE '%begin_push%'")" = 1 ]
}

@test "a database that is there and says nothing is named, and waited for" {
    local backend

    job one 0
    push --migrate
    holds_copy
    # a minute is over at once
    export SHIFT_S=70
    preloads rollcall "$SHIFT_CLOCK"
    AGGREGATOR=$PWD/bin/rollcall-aggregator SHIFT_WHEN=$PWD/later service --postgres "$PG"
    ROLLCALL=$ROLLCALL_BIN/rollcall
    eventually waits_in_copy
    backend=$(ask "SELECT pid FROM pg_stat_activity WHERE application_name='rollcall'")
    kill -STOP "$backend"
    touch later
    eventually status_has "database jobs of $PG_DIR has not answered for"
    grep -q "event=postgres.* has not answered for" service.log
    is "backlog" 1 "$(status_of backlog)"
    # who waits for that one hears of it, too, and may leave
    LD_PRELOAD=$SHIFT_CLOCK SHIFT_WHEN=$PWD/now background env --default-signal \
        "$ROLLCALL" push --all --postgres "$PG"
    eventually waits_its_turn
    touch now
    eventually grep -q "^rollcall push: database jobs of .* has not answered for" log
    kill -INT "$pid"
    end_of "$pid"
    expect_status 130
    # it was not given up
    status_has "has not answered for"
    ask "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE objid=42 AND
        mode='ExclusiveLock'" >/dev/null
    wait "$holder" || true
    kill -CONT "$backend"
    eventually up_to_date 1
    is "why" "" "$(status_of why)"
    grep -q "event=postgres.* that it did not answer is over" service.log
}

@test "what a service says to its process" {
    local line

    mkfifo said
    job one 0
    push --migrate
    "$ROLLCALL" push --follow --all --postgres "$PG" <said >answers 3>&- &
    exec 4>said
    eventually grep -q "^ok 0$" answers
    grep -q "^pushed 0 one$" answers
    # any job may have changed, also one whose name is no line
    job $'two\nlines' 1
    echo "*" >&4
    eventually grep -q "^ok 1$" answers
    is "jobs" 2 "$(rows job)"
    while read -r line; do
        [[ $line =~ ^(ok|behind|pushed)\ [0-9]+ ]] || fail "it says: $line"
    done <answers
    # one that is gone
    "$ROLLCALL" archive rm --apply one >/dev/null
    echo one >&4
    eventually grep -q "^ok 2$" answers
    exec 4>&-
    wait
}

no_processes_but_postgres ()
{
    ! pgrep -f "push --follow.*$TEST_DIR/root" >/dev/null
}

# ---- Grafana ----

@test "the queries of the dashboard, as the reader" {
    local dashboard=$BATS_TEST_DIRNAME/../../deploy/grafana/rollcall.json n=0 sql

    four_jobs
    push --migrate --all
    expect_status 0
    ask "CREATE ROLE grafana LOGIN; GRANT rollcall_reader TO grafana" >/dev/null
    # the macros and variables as Grafana fills them in
    sqlite3 -batch :memory: "SELECT replace(replace(replace(replace(atom,
        '\$__timeFrom()', '''2026-01-01T00:00:00Z'''),
        '\$__timeTo()', '''2027-01-01T00:00:00Z'''),
        '\${cluster:sqlstring}', '''here'''), '\${by}', 'week')
        FROM json_tree(readfile('$dashboard')) WHERE key IN ('rawSql',
        'definition')" >queries
    [ -s queries ]
    while read -r sql; do
        n=$((n + 1))
        PGUSER=grafana psql -X -At -v ON_ERROR_STOP=1 -c "$sql" >rows.out 2>&1 ||
            fail "$sql: $(cat rows.out)" || return
        [ -s rows.out ] || fail "no rows: $sql" || return
    done <queries
    [ "$n" -ge 8 ]
    run env PGUSER=grafana psql -X -c "DELETE FROM rollcall.job"
    shows "permission denied"
}
