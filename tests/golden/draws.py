"""Random weights of the golden models: streams of draws, matrices, norms."""

from __future__ import annotations

import math
import zlib

import numpy as np


def generator(*parts: str) -> np.random.Generator:
    """A stream of draws for each purpose, so that a change to one model leaves the others as they
    were."""
    return np.random.Generator(np.random.PCG64(zlib.crc32("/".join(parts).encode())))


def matrix(r: np.random.Generator, n: int, rows: int, gain: float) -> np.ndarray:
    """Random rows. A unit-variance input gives outputs with a standard deviation of `gain`. Rows
    differ in size, so that a wrong scale or a swapped row shows."""
    x = r.standard_normal((rows, n)) * (gain / math.sqrt(n))
    return x * r.uniform(0.6, 1.4, (rows, 1))


def norm(r: np.random.Generator, n: int, gain: float) -> np.ndarray:
    return gain * r.uniform(0.6, 1.4, n)


def layer_norm(r: np.random.Generator, name: str, n: int):
    yield name + ".weight", norm(r, n, 1.0)
    yield name + ".bias", 0.5 * r.standard_normal(n)
