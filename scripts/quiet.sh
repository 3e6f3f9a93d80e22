#!/bin/bash
# scripts/quiet.sh COMMAND...: runs the command and shows its output only where it fails.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$@" > "$log" 2>&1
status=$?
[ "$status" = 0 ] || cat "$log" >&2
exit "$status"
