#!/usr/bin/env python3
"""Compares text vectors of Hearth, llama.cpp and ONNX Runtime: speed, and distance from truth.

    compare.py MODEL-F32.gguf [MODEL-Q8_0.gguf ...] [--cases 32x75,32x16,4x512,1x75] [-t 2] [-r 5]

The files hold the same weights in several types. ONNX Runtime's models are written from the first,
which should be F32. The engines take turns on every case. Prints tables in Markdown, which
README.md describes.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import bert_file
import cases
import numpy as np
import onnx_writer
import tables
import truth
import workers

HERE = pathlib.Path(__file__).resolve().parent
BUILD = bert_file.ROOT / "build"
# The least seconds that a figure is measured over. Shorter runs are repeated.
LEAST_SECONDS = 0.3
MOST_REPEATS = 200


def install(folder: pathlib.Path) -> pathlib.Path:
    """The folder with the npm packages. The first call installs them."""
    if not (folder / "node_modules").is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder)
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                       check=True, stdout=sys.stderr)
    return folder


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


class Engine:
    """A worker, and the number of texts at a time that is fastest in each case."""

    def __init__(self, name: str, worker: workers.Worker):
        self.name, self.worker = name, worker
        self.plans: dict[cases.Case, tuple[int, int]] = {}  # batch, repeats

    def plan(self, case: cases.Case, texts: pathlib.Path) -> None:
        """Runs every batch size once, after one run that warms up, and keeps the fastest."""
        self.worker.measure(texts, case.batches()[0], 1)
        best = min((min(self.worker.measure(texts, batch, 2 if case.texts == 1 else 1)), batch)
                   for batch in case.batches())
        repeats = min(MOST_REPEATS, max(1, math.ceil(LEAST_SECONDS / best[0])))
        self.plans[case] = (best[1], repeats)

    def measure(self, case: cases.Case, texts: pathlib.Path) -> float:
        """Median seconds of one pass over the texts."""
        batch, repeats = self.plans[case]
        return float(np.median(self.worker.measure(texts, batch, repeats)))


class Machine:
    """Shares of all CPU time taken by others during a run: by the host (`stolen`) and by other
    processes."""

    def __init__(self, engines: list[Engine]):
        self.engines = engines
        self.begin = self._now()

    def _now(self) -> tuple[list[int], float]:
        with open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
        return ticks, sum(engine.worker.cpu_seconds() for engine in self.engines)

    def shares(self) -> dict[str, float]:
        (before, own_before), (after, own) = self.begin, self._now()
        ticks = [b - a for a, b in zip(before, after)]
        total = max(1, sum(ticks))
        busy = total - ticks[3] - ticks[4] - ticks[7]
        ours = (own - own_before) * os.sysconf("SC_CLK_TCK")
        return {"stolen": ticks[7] / total, "others": max(0.0, busy - ours) / total}


class Comparison:
    def __init__(self, options: argparse.Namespace, folder: pathlib.Path):
        self.options, self.folder = options, folder
        self.files = {path: bert_file.BertFile(path) for path in options.models}
        self.packages = install(options.packages)
        self.texts: dict[cases.Case, pathlib.Path] = {}
        first = next(iter(self.files.values()))
        for case in options.cases:
            self.texts[case] = folder / f"{case.texts}x{case.tokens}.txt"
            lengths = [case.tokens] * case.texts
            cases.write_texts(self.texts[case], cases.make_texts(first, lengths))
        lengths = [min(n, first.shape.context) for n in cases.CHECKED_LENGTHS]
        self.checked = folder / "checked.txt"
        cases.write_texts(self.checked, cases.make_texts(first, lengths))
        self.results: list[dict] = []
        self.distances: list[dict] = []
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
            say(text)

    def onnx_models(self) -> dict[str, pathlib.Path]:
        """Writes the models; returns their paths by name of the engine. Q8_0 codes come from the
        file of that type."""
        models = {}
        for kind in self.options.onnx:
            source = next((path for path, file in self.files.items()
                           if kind != "q8_0" or file.type == "Q8_0"), None)
            if source is None:
                continue
            path = self.folder / f"{kind}.onnx"
            onnx_writer.write_model(source, path, kind, self.attention(kind))
            models[f"ONNX Runtime {kind}"] = path
        return models

    def attention(self, kind: str) -> str:
        return "split" if kind in ("bf16", "q8_0") else self.options.attention

    def start(self, stack: contextlib.ExitStack, name: str, make) -> list[Engine]:
        try:
            engine = Engine(name, stack.enter_context(make()))
        except (workers.WorkerError, OSError) as error:
            self.note(f"{name} is not measured: {str(error)[:300]}")
            return []
        self.note(f"{name}: {engine.worker.description}")
        return [engine]

    def run(self) -> None:
        models = self.onnx_models()
        for threads in self.options.threads:
            with contextlib.ExitStack() as stack:
                onnx = [engine for name, path in models.items() for engine in self.start(
                    stack, name, lambda path=path: workers.onnx(self.packages, path, threads))]
                for path, file in self.files.items():
                    with contextlib.ExitStack() as own:
                        engines = self.own_engines(own, path, threads) + onnx
                        self.measure_file(file, threads, engines)
                        self.check(file, engines)

    def own_engines(self, stack: contextlib.ExitStack, path: pathlib.Path,
                    threads: int) -> list[Engine]:
        engines = []
        if "hearth" in self.options.engines:
            engines += self.start(stack, "Hearth", lambda: workers.hearth(
                self.options.hearth, path, threads))
        if "llama" in self.options.engines:
            engines += self.start(stack, "llama.cpp", lambda: workers.llama(
                self.packages, path, threads, self.options.flash))
        return engines

    def limits(self, threads: int) -> dict[str, float]:
        """Peaks in GOPS by arithmetic unit, the best of all levels; {} where the program is
        missing."""
        if not self.options.limits:
            return {}
        command = [self.options.limits, "bench", "--limits", "-t", str(threads), "-r", "3",
                   "--json"]
        told = json.loads(subprocess.run([str(word) for word in command], check=True,
                                         stdout=subprocess.PIPE).stdout)
        levels = told["runs"][0]["limits"]
        return {unit: max((level[unit + "_gops"] or 0.0) for level in levels)
                for unit in ("f32_fma", "bf16_dot", "int8_dot")}

    def measure_file(self, file: bert_file.BertFile, threads: int, engines: list[Engine]) -> None:
        for case in self.options.cases:
            for engine in engines:
                engine.plan(case, self.texts[case])
                say(f"{file.type}, {threads} threads, {case}: {engine.name} takes "
                    f"{engine.plans[case][0]} texts at a time")
                engine.worker.wait_idle()
        peaks = [self.limits(threads)]
        machine = Machine(engines)
        seconds = {(case, engine.name): [] for case in self.options.cases for engine in engines}
        for number in range(self.options.rounds):
            turn = number % max(1, len(engines))
            order = engines[turn:] + engines[:turn]
            for case in self.options.cases:
                for engine in order:
                    took = engine.measure(case, self.texts[case])
                    seconds[case, engine.name].append(took)
                    engine.worker.wait_idle()
            say(f"{file.type}, {threads} threads: round {number + 1} of {self.options.rounds}")
        shares = machine.shares()
        peaks.append(self.limits(threads))
        best = {unit: max(peak[unit] for peak in peaks) for unit in peaks[0]}
        for case in self.options.cases:
            self.results.append({
                "type": file.type, "threads": threads, "texts": case.texts, "tokens": case.tokens,
                "operations": case.texts * file.shape.operations(case.tokens), "peaks": best,
                **shares,
                "seconds": {engine.name: seconds[case, engine.name] for engine in engines},
                "batch": {engine.name: engine.plans[case][0] for engine in engines}})

    def check(self, file: bert_file.BertFile, engines: list[Engine]) -> None:
        """Distances from the truth. ONNX Runtime's models are compared with the truth of their own
        source file."""
        if not self.options.truth:
            return
        first = next(iter(self.files.values()))
        wanted = {}
        for engine in engines:
            onnx_kind = engine.name.removeprefix("ONNX Runtime ")
            source = file.type
            if onnx_kind != engine.name:
                source = "Q8_0" if onnx_kind == "q8_0" else first.type
            if source == file.type and not any(
                    (one["type"], one["engine"]) == (file.type, engine.name)
                    for one in self.distances):
                wanted[engine.name] = engine.worker
        if not wanted:
            return
        out = self.folder / f"{file.type}.npy"
        if not out.exists():
            say(f"{file.type}: the truth")
            subprocess.run([sys.executable, HERE / "truth.py", file.path, self.checked, out],
                           check=True)
        true = np.load(out)
        for name, worker in wanted.items():
            vectors = worker.vectors(self.checked, len(true), len(true))
            self.distances.append({"type": file.type, "engine": name,
                                   "distance": truth.distance(vectors, true),
                                   "length": truth.mean_length(vectors, true)})


def parse_list(word: str) -> list[str]:
    return [part for part in word.split(",") if part]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="MODEL.gguf")
    parser.add_argument("--cases", default="32x75,32x16,4x512,1x75,1x16",
                        help="texts x tokens, separated by commas")
    parser.add_argument("-t", "--threads", default="2")
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--engines", default="hearth,llama", help="of these two")
    parser.add_argument("--onnx", default="f32,int8", help=f"of {','.join(onnx_writer.KINDS)}")
    parser.add_argument("--attention", choices=onnx_writer.ATTENTIONS, default="fused",
                        help="ONNX Runtime's")
    parser.add_argument("--flash", choices=("auto", "off", "on"), default="auto",
                        help="llama.cpp's attention")
    parser.add_argument("--hearth", type=pathlib.Path,
                        default=BUILD / "release" / "bin" / "hearth_embed_worker")
    parser.add_argument("--limits", type=pathlib.Path, help="the program hearth: shares of peaks")
    parser.add_argument("--packages", type=pathlib.Path, default=BUILD / "embed_peers")
    parser.add_argument("--no-truth", dest="truth", action="store_false",
                        help="no distances from the vectors in float64")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all figures")
    options = parser.parse_args()
    options.cases = [cases.Case.parse(word) for word in parse_list(options.cases)]
    options.threads = [int(word) for word in parse_list(options.threads)]
    options.engines, options.onnx = parse_list(options.engines), parse_list(options.onnx)
    return options


def main() -> None:
    try:
        options = parse_arguments()
        with tempfile.TemporaryDirectory(dir=options.packages.parent) as folder:
            comparison = Comparison(options, pathlib.Path(folder))
            comparison.run()
    except ValueError as error:
        raise SystemExit(f"compare.py: {error}") from None
    told = {"results": comparison.results, "notes": comparison.notes,
            "distances": comparison.distances}
    if options.json:
        options.json.write_text(json.dumps(told))
    print(tables.report(told))


if __name__ == "__main__":
    main()
