#!/bin/sh
# Lists the requests that wait in a mailbox folder, shows one, answers one.
#
#   mailbox.sh DIR                          list what waits
#   mailbox.sh DIR show [ID]                print a request (the only one, or ID)
#   mailbox.sh DIR say ID TEXT…             answer in text
#   mailbox.sh DIR call ID TOOL [JSON]      answer with one tool call
#   mailbox.sh DIR file ID FILE             answer with a file (YAML or text; - reads stdin)
#
# An id may be shortened as long as it names one request.
set -eu

usage() { sed -n '3,9p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }

[ $# -ge 1 ] || usage
box=$1
[ -d "$box/waiting" ] || { echo "$box is no mailbox: it has no folder 'waiting'" >&2; exit 1; }
what=${2:-list}

waiting() { for page in "$box"/waiting/*.md; do [ -e "$page" ] && basename "$page" .md; done; true; }

# The one waiting request whose id begins with (or contains) $1.
pick() {
    found=$(waiting | grep -F -- "$1" || true)
    case $(printf '%s' "$found" | grep -c .) in
        1) printf '%s\n' "$found" ;;
        0) echo "no waiting request is called $1" >&2; exit 1 ;;
        *) echo "more than one request is called $1:" >&2; printf '%s\n' "$found" >&2; exit 1 ;;
    esac
}

# Moves the answer into place at once, so that no half of it is read.
answer() {
    draft=$box/answers/.$1.draft
    cat > "$draft"
    mv "$draft" "$box/answers/$1.yaml"
    echo "answered $1"
}

indent() { sed 's/^/  /'; }

case $what in
    list) waiting ;;
    show) id=$(pick "${3:-}"); cat "$box/waiting/$id.md" ;;
    say)
        [ $# -ge 4 ] || usage
        id=$(pick "$3"); shift 3
        { echo 'say: |'; printf '%s\n' "$*" | indent; } | answer "$id" ;;
    call)
        [ $# -ge 4 ] || usage
        id=$(pick "$3")
        # JSON is YAML, so the arguments go in as they are.
        printf 'call:\n  - tool: %s\n    with: %s\n' "$4" "${5:-{\}}" | answer "$id" ;;
    file)
        [ $# -ge 4 ] || usage
        id=$(pick "$3")
        cat -- "$4" | answer "$id" ;;
    *) usage ;;
esac
