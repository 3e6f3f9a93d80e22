#!/usr/bin/env python3
"""Prints the ISA levels that passing tests went through, and the tests that were skipped.

    scripts/what_ran.py BUILD...              builds whose tests ctest has just run
    scripts/what_ran.py --page PAGE BUILD...  puts their ISA levels into a page's table instead

The tests report both themselves: skips in the output that ctest keeps, ISA levels in isa_levels.csv
(src/kernels/test_levels.h). The last line names the levels that were tested and those that were
not. If HEARTH_RAN_FILE names a file, the builds are added to it, so that scripts/steps.sh can
report on all of them at the end.
"""

import argparse
import csv
import os
import re
from pathlib import Path

PYTHON_SKIP = re.compile(r"^(\w+ \(\S+\))(?:\n.*)? \.\.\. skipped (.*)$", re.M)
ROW = re.compile(r"^\| `(\w+)` \| (.*) \| (.*) \|\n", re.M)


def outputs(build):
    """The output of every test in ctest's last run, by the test's name."""
    log = Path(build, "Testing", "Temporary", "LastTest.log").read_text(errors="replace")
    parts = re.split(r"^\d+/\d+ Testing: ", log, flags=re.M)[1:]
    return dict(part.split("\n", 1) for part in parts)


def skips(output):
    """Yields the name and the reason of every skip in a test's output."""
    for case in re.split(r"^\[ RUN      \] ", output, flags=re.M)[1:]:
        name = case.split("\n", 1)[0]
        if f"[  SKIPPED ] {name} (" in case:
            reason = re.search(r": Skipped\n(.*)", case)
            yield f"{name}: {reason[1] if reason else 'no reason given'}"
    for name, reason in PYTHON_SKIP.findall(output):
        yield f"{name}: {reason}"


def all_skips(build):
    for test, output in outputs(build).items():
        yield from skips(output)
        if re.search(r"^Test (Not Run|Skipped|Disabled)", output, re.M):
            yield f"{test}: did not run"


def levels(builds):
    """The rows of the levels that were tested, by level, and the names of those that were not.
    Where builds differ, the earlier one wins."""
    rows = []
    for build in builds:
        path = Path(build, "isa_levels.csv")
        if "kernels_test" in outputs(build) and path.exists():
            with path.open(newline="") as file:
                rows += csv.DictReader(file)
    tested = {}
    for row in rows:
        if row["tested"] == "yes":
            tested.setdefault(row["level"], row)
    names = dict.fromkeys(row["level"] for row in rows)
    return tested, [name for name in names if name not in tested]


def report(builds):
    for build in builds:
        found = list(all_skips(build))
        print(f"{build}: tests passed, skipped within them: {len(found)}")
        for line in found:
            print(f"  skipped: {line}")
    tested, missing = levels(builds)
    if tested:
        where = {}
        for name, row in tested.items():
            where.setdefault(row["processor"], []).append(name)
        there = "; ".join(f"{', '.join(names)} on {cpu}" for cpu, names in where.items())
        print(f"ISA levels tested: {there}. Not tested: {', '.join(missing) or 'none'}.")


def write_page(page, builds):
    """Replaces the rows of the levels that were tested now; other rows stay."""
    text = page.read_text()
    tested, _ = levels(builds)
    rows = {name: (cpu, date) for name, cpu, date in ROW.findall(text)}
    rows.update({name: (row["processor"], row["date"]) for name, row in tested.items()})
    table = "".join(f"| `{name}` | {cpu} | {date} |\n" for name, (cpu, date) in rows.items())
    first = ROW.search(text).start()
    page.write_text(text[:first] + table + ROW.sub("", text[first:]))


def main():
    parser = argparse.ArgumentParser(description="Tells what tests went through.")
    parser.add_argument("--page", type=Path, help="a page with a table of levels")
    parser.add_argument("builds", nargs="+", metavar="BUILD")
    options = parser.parse_args()
    if options.page:
        write_page(options.page, [b for b in options.builds if Path(b, "isa_levels.csv").exists()])
        return
    report(options.builds)
    if os.environ.get("HEARTH_RAN_FILE"):
        with open(os.environ["HEARTH_RAN_FILE"], "a") as file:
            file.writelines(f"{build}\n" for build in options.builds)


if __name__ == "__main__":
    main()
