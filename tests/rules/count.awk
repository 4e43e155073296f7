# tests/rules/count.awk - what ctest's JUnit file says, case by case
#
#     awk -v preset=NAME -f count.awk FILE
#
# Each case of a bats file counts, and each other test as one.  One line for
# each that did not pass, "failed" or "skipped", its name and, for skips, why;
# then "counts PASSED FAILED SKIPPED".  ctest takes a bats file for passed in
# which cases were skipped, and for skipped a program that is not there.

function plain (text)
{
    gsub (/&quot;/, "\"", text)
    gsub (/&apos;/, "'", text)
    gsub (/&lt;/, "<", text)
    gsub (/&gt;/, ">", text)
    gsub (/&amp;/, "\\&", text)
    return text
}

function skip (what, why)
{
    skipped++
    print "skipped " preset ": " plain(name what (why == "" ? "" : ": " why))
}

function fail (what)
{
    failed++
    print "failed " preset ": " plain(name what)
}

/<testcase / {
    name = $0
    sub (/.*<testcase name="/, "", name)
    sub (/".*/, "", name)
    status = $0
    sub (/.* status="/, "", status)
    sub (/".*/, "", status)
    planned = -1
    cases = bad = left_out = listed = 0
    last = message = ""
    next
}
/<skipped message="/ {
    message = $0
    sub (/.*message="/, "", message)
    sub (/"\/>.*/, "", message)
    next
}
{
    line = $0
    sub (/^[[:space:]]*<system-out>/, "", line)
}
line ~ /^1\.\.[0-9]+$/ && planned < 0 {
    planned = substr (line, 4) + 0
    next
}
planned >= 0 && line ~ /^not ok [0-9]+ / {
    cases++
    bad++
    sub (/^not ok [0-9]+ /, "", line)
    fail(": " line)
    next
}
planned >= 0 && line ~ /^ok [0-9]+ / {
    cases++
    sub (/^ok [0-9]+ /, "", line)
    if (match (line, / # skip/)) {
        left_out++
        why = substr (line, RSTART + RLENGTH)
        sub (/^[ (]*/, "", why)
        skip(": " substr (line, 1, RSTART - 1), why)
    }
    next
}
line ~ /^  SKIPPED: / {
    skip("", substr (line, 12))
    next
}
line ~ /^\[  SKIPPED \] [0-9]+ test\(s\), listed below/ {
    listed = 1                      # cmocka has named them once already
    next
}
line ~ /^SKIPPED: / {
    said = substr (line, 10)        # and then the test's name
    next
}
line ~ /^\[  SKIPPED \] / {
    line = substr (line, 14)
    if (listed)
        skip(": " line, why_of[name, line])
    else
        why_of[name, line] = said
    said = ""
    next
}
/<\/testcase>/ {
    ended = status == "run" || message ~ /^SKIP_/
    if (planned >= 0)
        passed += cases - bad - left_out
    else if (status == "run")
        passed++
    else if (ended)
        skip("", last)
    # a time-out, a crash of bats, a program that is missing, lines that ctest
    # has cut off
    if (!ended && !bad)
        fail(message == "" ? "" : ": " message)
    else if (ended && planned >= 0 && cases != planned)
        fail(": " cases " of " planned " cases ended")
    next
}
line !~ /^[[:space:]]*<\/?[a-z-]+[ >\/]/ {
    sub (/<\/system-out>$/, "", line)
    if (line != "")
        last = line
}
END { printf "counts %d %d %d\n", passed, failed, skipped }
