#!/bin/bash
# scripts/steps.sh TARGET...: makes each target in turn and goes on after a failure. It ends with a
# table of the targets, what their tests skipped, and the ISA levels that they tested. The status is
# 1 if any target failed. A target skips itself with scripts/skip.sh.
set -uo pipefail
# Each step is a make of its own. The variables that it needs are in the environment.
unset MAKEFLAGS MFLAGS MAKELEVEL
HEARTH_SKIP_FILE=$(mktemp)
HEARTH_RAN_FILE=$(mktemp)
export HEARTH_SKIP_FILE HEARTH_RAN_FILE
trap 'rm -f "$HEARTH_SKIP_FILE" "$HEARTH_RAN_FILE"' EXIT

failed=0
table=()
for target in "$@"; do
  : > "$HEARTH_SKIP_FILE"
  begin=$SECONDS
  if ! make --no-print-directory "$target"; then
    result=FAILED
    failed=1
  elif [ -s "$HEARTH_SKIP_FILE" ]; then
    result="skipped: $(cat "$HEARTH_SKIP_FILE")"
  else
    result=ok
  fi
  table+=("$(printf '  %-13s %5d s  %s' "$target" $((SECONDS - begin)) "$result")")
done

printf '==> summary\n'
printf '%s\n' "${table[@]}"
mapfile -t ran < <(awk '!seen[$0]++' "$HEARTH_RAN_FILE")
[ "$failed" = 0 ] || echo "Repeat a failed step with \`make STEP\`."
if [ ${#ran[@]} != 0 ]; then env -u HEARTH_RAN_FILE scripts/what_ran.py "${ran[@]}"; fi
exit "$failed"
