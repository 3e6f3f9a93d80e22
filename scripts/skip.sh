#!/bin/bash
# scripts/skip.sh REASON: reports that a step cannot run here, also in the table of
# scripts/steps.sh.
set -euo pipefail
echo "skipped: $1"
if [ -n "${HEARTH_SKIP_FILE:-}" ]; then echo "$1" > "$HEARTH_SKIP_FILE"; fi
