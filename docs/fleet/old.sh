#!/bin/sh
# Moves pieces that are older than so many minutes out of SOURCE, but for the last of each folder.
#
#   old.sh SOURCE ARCHIVE MINUTES
#
# A run must have judged them: give a time that is longer than runs may fail for.
set -eu
find "$1" -mindepth 1 -maxdepth 1 -type d ! -name '_*' | while read -r folder; do
    mkdir -p "$2/$(basename "$folder")"
    last=$(ls "$folder" | sort -t- -k2,2n | tail -n 1)
    find "$folder" -name 'p-*.jsonl' ! -name "$last" -mmin "+$3" \
        -exec mv {} "$2/$(basename "$folder")/" \;
done
