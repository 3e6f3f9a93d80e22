# scripts/npm.sh: functions for scripts that use npm packages. Such scripts source it.

# need_programs NAME...: ends the script as skipped if one of the programs is missing.
need_programs() {
  local program
  for program in "$@"; do
    if ! command -v "$program" > /dev/null; then
      exec scripts/skip.sh "there is no $program, and no apt to install it with"
    fi
  done
}

# need_x86_64 PACKAGES: ends the script as skipped on any other machine than x86-64 Linux.
need_x86_64() {
  if [ "$(node -p 'process.platform + process.arch')" != linuxx64 ]; then
    exec scripts/skip.sh "npm's $1 compared with on x86-64 alone"
  fi
}

# node_tests NAME FILE LOG SECONDS [COMMAND...]: runs the tests of FILE with node, under COMMAND if
# given. A run longer than SECONDS, far above what any test needs, counts as failed. After a failure
# it shows the log.
node_tests() {
  local name=$1 file=$2 log=$3 seconds=$4
  shift 4
  if timeout --kill-after=10 "$seconds" "$@" node --test --test-reporter=spec "$file" \
      > "$log" 2>&1; then
    return
  fi
  cat "$log" >&2
  echo "  $name: FAILED; the log is $log"
  return 1
}

# install_packages TESTS FOLDER [OPTION...]: installs the packages of TESTS/package-lock.json into
# FOLDER with these options of npm, unless they are there already.
install_packages() {
  local tests=$1 folder=$2 key
  shift 2
  mkdir -p "$folder"
  key="$(node -p 'process.version + process.arch') $(sha256sum < "$tests/package-lock.json")"
  if [ -d "$folder/node_modules" ] && [ "$(cat "$folder/installed" 2> /dev/null)" = "$key" ]; then
    return
  fi
  echo "  npm ci: the packages of $tests/package-lock.json"
  cp "$tests/package.json" "$tests/package-lock.json" "$folder/"
  rm -f "$folder/installed"
  (quiet=$PWD/scripts/quiet.sh && cd "$folder" &&
    "$quiet" npm ci --no-fund --no-audit --loglevel=error "$@")
  echo "$key" > "$folder/installed"
}
