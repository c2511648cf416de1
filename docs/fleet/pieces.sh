#!/bin/sh
# Copies what engines appended to their traces since the last time into pieces, for `fleet`.
#
#   pieces.sh TRACES SOURCE
#
# TRACES has a file NAME.jsonl for each run of an engine, which grows. SOURCE/NAME gets pieces
# p-FROM-TO.jsonl of whole lines, from byte FROM to byte TO of the trace. The name of the last piece
# says where the next one begins, so keep the last one of each folder.
set -eu
mkdir -p "$2/_new"
for trace in "$1"/*.jsonl; do
    [ -f "$trace" ] || continue
    folder=$2/$(basename "$trace" .jsonl)
    new=$2/_new/$(basename "$trace")
    mkdir -p "$folder"
    from=$(ls "$folder" | sed -n 's/^p-[0-9]*-\([0-9]*\)\.jsonl$/\1/p' | sort -n | tail -n 1)
    from=${from:-0}
    tail -c "+$((from + 1))" "$trace" > "$new.all"
    head -n "$(wc -l < "$new.all")" "$new.all" > "$new" # no line that is half written
    rm "$new.all"
    size=$(wc -c < "$new")
    if [ "$size" -gt 0 ]; then
        mv "$new" "$folder/p-$from-$((from + size)).jsonl"
    fi
done
