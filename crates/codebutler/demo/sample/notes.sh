#!/bin/sh
# notes: keep short notes in a plain text file, one per line.
set -eu

file=${NOTES_FILE:-notes.txt}

usage() {
    echo "usage: notes.sh add TEXT | list | remove NUMBER" >&2
    exit 2
}

add() {
    [ -n "$1" ] || usage
    printf '%s\n' "$1" >>"$file"
}

list() {
    [ -f "$file" ] || return 0
    n=0
    while IFS= read -r line; do
        n=$((n + 1))
        printf '%d  %s\n' "$n" "$line"
    done <"$file"
}

remove() {
    case $1 in
        '' | *[!0-9]*) usage ;;
    esac
    sed "${1}d" "$file" >"$file.new"
    mv "$file.new" "$file"
}

case ${1:-} in
    add) shift; add "${1:-}" ;;
    list) list ;;
    remove) shift; remove "${1:-}" ;;
    *) usage ;;
esac
