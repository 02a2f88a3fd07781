#!/bin/sh
# The whole test suite: each case runs notes.sh on a fresh file and compares.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export NOTES_FILE="$work/notes.txt"
passed=0
failed=0

check() {
    # check NAME EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAIL %s\n  expected: %s\n  actual:   %s\n' "$1" "$2" "$3"
    fi
}

fresh() {
    rm -f "$NOTES_FILE"
}

fresh
check "an empty list prints nothing" "" "$(sh "$here/notes.sh" list)"

fresh
sh "$here/notes.sh" add "buy milk"
sh "$here/notes.sh" add "call ana"
check "notes are numbered" "1  buy milk
2  call ana" "$(sh "$here/notes.sh" list)"

fresh
sh "$here/notes.sh" add "one"
sh "$here/notes.sh" add "two"
sh "$here/notes.sh" remove 1
check "remove takes one note" "1  two" "$(sh "$here/notes.sh" list)"

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
