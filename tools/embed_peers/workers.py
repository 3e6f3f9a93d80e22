"""Engines as processes. They measure when they are told to and are idle otherwise.

A worker loads its model and prints a line `ready: DESCRIPTION`. Then it reads lines of fields,
separated by tabs:

    BATCH  REPEAT  TEXTS  [VECTORS]

It makes vectors of the texts of the file TEXTS (one a line, token ids separated by spaces), up to
BATCH at a time. It does so REPEAT times and answers with the seconds of each repetition, separated
by spaces. The time lasts from tokens to pooled vectors in the program's memory. The vectors of the
last repetition go to the file VECTORS, float32 [texts, width], divided by their length. If it
cannot answer, it prints `error: REASON` instead.
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
IDLE_SECONDS = 0.04     # a process is idle after this long without CPU time (counted in 0.01 s)
PATIENCE_SECONDS = 5.0  # wait_idle() gives up after this long


class WorkerError(RuntimeError):
    """The reason that a worker gave for its failure."""


class Worker:
    """The process of an engine. Leaving a `with` block ends it."""

    def __init__(self, command: list[str]):
        self.process = subprocess.Popen([str(word) for word in command], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self.description = self._line().removeprefix("ready: ")
        except WorkerError:
            self.close()
            raise

    def _line(self) -> str:
        line = self.process.stdout.readline().rstrip("\n")
        if not line or line.startswith("error: "):
            raise WorkerError(line.removeprefix("error: ") or "it ended")
        return line

    def measure(self, texts: pathlib.Path, batch: int, repeat: int,
                vectors: pathlib.Path | None = None) -> list[float]:
        """Seconds of each repetition."""
        fields = [str(batch), str(repeat), str(texts)] + ([str(vectors)] if vectors else [])
        self.process.stdin.write("\t".join(fields) + "\n")
        self.process.stdin.flush()
        return [float(word) for word in self._line().split()]

    def vectors(self, texts: pathlib.Path, batch: int, count: int) -> np.ndarray:
        """The vectors [count, width] of a file of `count` texts."""
        out = texts.with_name(f"{texts.name}.{self.process.pid}.vectors")
        self.measure(texts, batch, 1, out)
        rows = np.fromfile(out, "<f4").reshape(count, -1)
        out.unlink()
        return rows

    def cpu_seconds(self) -> float:
        """The CPU seconds that the process has used so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def wait_idle(self) -> None:
        """Waits until the worker's threads stop spinning, which a library's threads do for a while
        after work."""
        end = time.monotonic() + PATIENCE_SECONDS
        used = self.cpu_seconds()
        while time.monotonic() < end:
            time.sleep(IDLE_SECONDS)
            before, used = used, self.cpu_seconds()
            if used == before:
                return

    def close(self) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def hearth(program: pathlib.Path, model: pathlib.Path, threads: int) -> Worker:
    return Worker([program, model, "--threads", threads])


def llama(packages: pathlib.Path, model: pathlib.Path, threads: int, flash: str) -> Worker:
    return Worker(["/usr/bin/python3", HERE / "llama_worker.py", model, "--threads", threads,
                   "--packages", packages, "--flash", flash])


def onnx(packages: pathlib.Path, model: pathlib.Path, threads: int) -> Worker:
    return Worker(["node", HERE / "onnx_worker.mjs", model, "--threads", threads, "--packages",
                   packages])
