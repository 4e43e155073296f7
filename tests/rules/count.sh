#!/bin/bash
# tests/rules/count.sh CTEST BASH SOURCE_DIR - a skip is counted, and so is what
# did not run: ctest takes both for passed, or for skipped
set -euo pipefail

ctest=$1 bash=$2 top=$3
unset ROLLCALL_QUICK_TESTS
work=$(mktemp -d "${TMPDIR:-/tmp}/rollcall-count-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

# bats says what is in the file that it is given
cat >bats <<'SCRIPT'
#!/bin/sh
for file; do :; done
cat "$file"
! grep -q '^not ok' "$file"
SCRIPT
chmod +x bats
printf '1..2\nok 1 a & b # skip no <c> "d"\nok 2 c\n' >some.bats
printf '1..1\nok 1 e # skip nothing real\n' >all.bats
printf '1..3\nok 1 f\nnot ok 2 g\n# why\nok 3 h\n' >bad.bats
printf '1..2\nok 1 i\n' >short.bats
printf '1..0\n' >none.bats
for name in some all bad short none; do
    printf 'add_test (%s "%s" "%s" 1 1 "%s" "!x")\n' "$name" "$bash" \
        "$top/tests/system/part" "$work/$name.bats"
    printf 'set_tests_properties (%s PROPERTIES SKIP_RETURN_CODE 77
        ENVIRONMENT "BATS=%s")\n' "$name" "$work/bats"
done >CTestTestfile.cmake
cat >>CTestTestfile.cmake <<'FILE'
add_test (unit "printf" "%s\n" "SKIPPED: no comma" "[  SKIPPED ] test_x"
    "[  SKIPPED ] 1 test(s), listed below:" "[  SKIPPED ] test_x")
add_test (kit "printf" "  SKIPPED: no mounts\n")
add_test (slow "sleep" "60")
set_tests_properties (slow PROPERTIES TIMEOUT 0.2)
add_test (absent "/there/is/none")
add_test (rule "sh" "-c" "echo no systemd-analyze; exit 77")
set_tests_properties (rule PROPERTIES SKIP_RETURN_CODE 77)
FILE
"$ctest" --test-output-size-passed 65536 --output-junit junit.xml \
    >ctest.log 2>&1 || true
awk -v preset=p -f "$top/tests/rules/count.awk" junit.xml >got

cat >expected <<'LINES'
skipped p: some: a & b: no <c> "d"
skipped p: all: e: nothing real
failed p: bad: g
failed p: short: 1 of 2 cases ended
failed p: none
skipped p: unit: test_x: no comma
skipped p: kit: no mounts
failed p: slow
failed p: absent: Unable to find executable
skipped p: rule: no systemd-analyze
counts 6 5 5
LINES
diff expected got && echo "skips and failures are counted"
