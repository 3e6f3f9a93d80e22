#!/usr/bin/env python3
"""Compares `hearth serve` with llama.cpp behind a small node server, under the same load, in turns.

    compare.py --hearth build/release/hearth MODEL [-r 3] -- -p 256 -n 64 --concurrency 16
    compare.py --hearth build/release/hearth MODEL -- -p 256 -n 64 --find-rate --slo-ttft-ms 2000

The arguments after -- go to `hearth bench --serve` for both. README.md says more.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

sys.path.insert(0, str(ROOT / "tests" / "server"))

from serving import Server, serve_command  # noqa: E402


class Peer:
    """The node server as a process; its packages are installed into build/ first."""

    def __init__(self, model, options):
        self.folder = ROOT / "build" / "serve_peer"
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json", "server.mjs"):
            shutil.copy(HERE / name, self.folder)
        if not (self.folder / "node_modules" / "node-llama-cpp").is_dir():
            subprocess.run(["npm", "install", "--omit=optional", "--ignore-scripts", "--no-audit",
                            "--no-fund", "--loglevel=error"], cwd=self.folder, check=True)
        self.command = ["node", "server.mjs", os.path.abspath(model), "--port", "0",
                        "--sequences", str(options.sequences), "--context", str(options.context)]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE)
        said = b""
        for line in self.process.stderr:
            said += line
            if match := re.search(rb"peer: serving .* at (http://\S+)/ ", line):
                self.url = match[1].decode()
                return self
        raise SystemExit(f"the peer ended:\n{said.decode()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def measure(options, url, seed):
    command = [options.hearth, "bench", "--serve", url, *options.load, "--seed", str(seed),
               "--json"]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def load_name(load):
    return f"{load['rate']:.4g} req/s" if load["rate"] else f"{load['concurrency']} at once"


def median_of(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def report(rounds):
    """Lines of medians over the rounds, and the medians of the ratios within each round."""
    names = ("hearth", "peer")
    found = any(told["goodput"] is not None for pair in rounds for told in pair.values())
    if found:
        for name in names:
            rates = [pair[name]["goodput"] for pair in rounds]
            print(f"{name}: goodput {median_of(rates)} requests/s, each round {rates}")
        ratios = [pair["hearth"]["goodput"] / pair["peer"]["goodput"] for pair in rounds
                  if pair["hearth"]["goodput"] and pair["peer"]["goodput"]]
        if ratios:
            print(f"goodput of hearth over the peer's: {median_of(ratios):.2f}, "
                  f"{min(ratios):.2f} .. {max(ratios):.2f}")
    print("| load | server | failed | tokens/s | TTFT 50 % | 90 % | TPOT 50 % | 90 % |"
          " inside SLO |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    loads = {}
    for pair in rounds:
        for name in names:
            for load in pair[name]["loads"]:
                loads.setdefault((load_name(load), name), []).append(load)
    for (what, name), runs in loads.items():
        def middle(*keys):
            values = runs
            for key in keys:
                values = [value[key] for value in values]
            return median_of(values)
        inside = middle("attainment")
        failed = sum(run["requests"] - run["completed"] for run in runs)
        print(f"| {what} | {name} | {failed} | {middle('output_tokens_per_second'):.1f} "
              f"| {middle('ttft_seconds', 'p50'):.2f} s | {middle('ttft_seconds', 'p90'):.2f} s "
              f"| {middle('tpot_seconds', 'p50') * 1e3:.1f} ms "
              f"| {middle('tpot_seconds', 'p90') * 1e3:.1f} ms "
              f"| {'-' if inside is None else f'{100 * inside:.1f} %'} |")
    for what in dict.fromkeys(what for what, _ in loads):
        both = [loads.get((what, name), []) for name in names]
        ratios = [ours["output_tokens_per_second"] / theirs["output_tokens_per_second"]
                  for ours, theirs in zip(*both) if theirs["output_tokens_per_second"]]
        if ratios:
            print(f"{what}: tokens/s of hearth over the peer's: {median_of(ratios):.2f}, "
                  f"{min(ratios):.2f} .. {max(ratios):.2f}")


def main():
    words = sys.argv[1:]
    middle = words.index("--") if "--" in words else len(words)
    parser = argparse.ArgumentParser(description="hearth serve beside llama.cpp.")
    parser.add_argument("model")
    parser.add_argument("--hearth", required=True)
    parser.add_argument("--sequences", type=int, default=16, help="of both")
    parser.add_argument("--context", type=int, default=4096, help="tokens of a sequence, of both")
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for all figures")
    options = parser.parse_args(words[:middle])
    options.load = words[middle + 1:]
    rounds = []
    serve = ("--max-running", options.sequences, "--max-queue", 100_000, "--ctx", options.context,
             "--no-log")
    command = serve_command(options.hearth, options.model, *serve)
    with Server(command) as ours, Peer(options.model, options) as theirs:
        for number in range(options.rounds):
            order = [("hearth", ours.url), ("peer", theirs.url)]
            rounds.append({name: measure(options, url, number)
                           for name, url in (order if number % 2 == 0 else order[::-1])})
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
        ours.stop()
    if options.json:
        options.json.write_text(json.dumps(rounds))
    report(rounds)


if __name__ == "__main__":
    main()
