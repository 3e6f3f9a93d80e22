#!/bin/bash
# scripts/man.sh [PROGRAM]: makes a manual page of the program and one of each verb, in build/man,
# from their --help (help2man).
set -euo pipefail

program=${1:-build/release/hearth}
folder=build/man
mkdir -p "$folder"
version=$("$program" version --json | sed 's/.*"version":"\([^"]*\)".*/\1/')
# `hearth --help` lists the verbs, each with a description.
verbs=$("$program" --help | sed -n 's/^  \([a-z][a-z-]*\)  *\([A-Z].*\)/\1 \2/p')

page() {  # FILE HELP_OPTION WHAT_IT_DOES WORDS...
  help2man --no-info --section=1 --version-string="$version" --help-option="$2" --name="$3" \
    --output="$folder/$1.1" "${*:4}"
}

page hearth --help 'serves large language models on the processors of this machine' "$program"
while read -r verb text; do
  page "hearth-$verb" --help-all "${text,}" "$program" "$verb"
done <<< "$verbs"
echo "$(find "$folder" -name '*.1' | wc -l) pages in $folder: man -l $folder/hearth-run.1"
