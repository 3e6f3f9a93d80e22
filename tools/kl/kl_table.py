#!/usr/bin/env python3
"""Measures how far engines' logits are from the truth: one row of a table.

    kl_table.py --truth truth.npy --engine NAME=FILE [--engine NAME=FILE ...] [--label TEXT]
                [--raw SKIP] [--json]

Files are float arrays [positions, vocabulary] as `.npy`. With `--raw SKIP`, other files are rows of
little-endian float32 after SKIP bytes, as wide as the truth's. Several sequences count as one:
repeat --truth, and give every engine as many files, in the same order.

For every position, with p and q the softmax of the truth's and the engine's logits in float64:

    KL = sum_v p_v (ln p_v - ln q_v)        in nats; printed is the mean over positions
    top-1 = whether the most likely token is the same

The first engine is compared with each of the others by the ratio of the mean KLs, with its 95 %
percentile interval over bootstrap samples of the positions. A sample takes the same positions of
both engines. So a position that is hard for both does not widen the interval.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

import numpy as np

CHUNK_VALUES = 1 << 22
SAMPLES = 10000
SEED = 1


@dataclasses.dataclass(frozen=True)
class Distance:
    """One engine's distance from the truth at every position."""

    kl: np.ndarray
    same_top: np.ndarray


@dataclasses.dataclass(frozen=True)
class Ratio:
    value: float
    low: float
    high: float


def load_logits(path: str, skip: int | None = None, width: int | None = None) -> np.ndarray:
    """Logits [positions, vocabulary], mapped into memory, not copied."""
    if path.endswith(".npy") or skip is None:
        logits = np.load(path, mmap_mode="r")
    else:
        values = np.memmap(path, "<f4", mode="r", offset=skip)
        if values.size % width:
            raise ValueError(f"{path}: {values.size} values are not whole rows of {width}")
        logits = values.reshape(-1, width)
    if logits.ndim != 2 or logits.size == 0:
        raise ValueError(f"{path}: shape {logits.shape}, expected [positions, vocabulary]")
    return logits


def log_softmax(logits: np.ndarray) -> np.ndarray:
    x = np.asarray(logits, np.float64)
    x = x - x.max(axis=1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=1, keepdims=True))


def distance(truth: np.ndarray, engine: np.ndarray) -> Distance:
    if truth.shape != engine.shape:
        raise ValueError(f"shapes differ: truth {truth.shape}, engine {engine.shape}")
    positions, width = truth.shape
    kl, same_top = np.empty(positions), np.empty(positions, bool)
    step = max(1, CHUNK_VALUES // width)
    for first in range(0, positions, step):
        at = slice(first, first + step)
        if not (np.isfinite(truth[at]).all() and np.isfinite(engine[at]).all()):
            raise ValueError(f"a logit in rows {first} and following is not a finite number")
        log_p, log_q = log_softmax(truth[at]), log_softmax(engine[at])
        kl[at] = (np.exp(log_p) * (log_p - log_q)).sum(axis=1)
        same_top[at] = log_p.argmax(axis=1) == log_q.argmax(axis=1)
    return Distance(kl, same_top)


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray) -> Ratio:
    """The ratio of the means, with a paired percentile bootstrap over positions."""
    if not denominator.mean() > 0:
        return Ratio(float("nan"), float("nan"), float("nan"))
    picks = np.random.default_rng(SEED).integers(0, len(numerator), (SAMPLES, len(numerator)))
    low, high = np.quantile(
        numerator[picks].mean(axis=1) / denominator[picks].mean(axis=1), [0.025, 0.975]
    )
    return Ratio(float(numerator.mean() / denominator.mean()), float(low), float(high))


def join(parts: list[Distance]) -> Distance:
    kl, same_top = (np.concatenate([getattr(p, f) for p in parts]) for f in ("kl", "same_top"))
    return Distance(kl, same_top)


def compare(label: str, truths: list[np.ndarray], engines: dict[str, list[np.ndarray]]) -> dict:
    """The row as plain data. `ratios` are the first engine's over the named engine's."""
    for name, logits in engines.items():
        if len(logits) != len(truths):
            raise ValueError(f"{name} has {len(logits)} sequences, the truth {len(truths)}")
    distances = {name: join(list(map(distance, truths, ls))) for name, ls in engines.items()}
    first, *others = distances
    return {
        "label": label,
        "positions": len(distances[first].kl),
        "vocabulary": truths[0].shape[1],
        "engines": {
            name: {"kl": float(d.kl.mean()), "top1": float(d.same_top.mean())}
            for name, d in distances.items()
        },
        "ratios": {
            name: dataclasses.asdict(ratio_of_means(distances[first].kl, distances[name].kl))
            for name in others
        },
    }


def table(row: dict) -> str:
    """A Markdown table of this one row."""
    first = next(iter(row["engines"]))
    cells = [("model", row["label"])]
    cells += [(f"KL {name}", f"{e['kl']:.3e}") for name, e in row["engines"].items()]
    for name, r in row["ratios"].items():
        text = f"{r['value']:.3f} [{r['low']:.3f}, {r['high']:.3f}]"
        cells.append((f"{first} / {name}", text))
    cells += [(f"top-1 {name}", f"{100 * e['top1']:.1f} %") for name, e in row["engines"].items()]
    heads, values = zip(*cells)
    return "\n".join("| " + " | ".join(r) + " |" for r in (heads, ["---"] * len(heads), values))


def named_file(text: str) -> tuple[str, str]:
    name, separator, path = text.partition("=")
    if not (name and separator and path):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=FILE")
    return name, path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truth", required=True, action="append", metavar="FILE",
                        help="logits of the truth, .npy; may be repeated")
    parser.add_argument("--engine", required=True, action="append", type=named_file,
                        metavar="NAME=FILE", help="an engine's logits; may be repeated")
    parser.add_argument("--raw", type=int, metavar="SKIP",
                        help="files not named .npy are float32 rows after SKIP bytes")
    parser.add_argument("--label", default="", help="what stands in the row's first column")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args()
    try:
        truths = [load_logits(path) for path in args.truth]
        engines: dict[str, list[np.ndarray]] = {}
        for name, path in args.engine:
            engines.setdefault(name, []).append(load_logits(path, args.raw, truths[0].shape[1]))
        row = compare(args.label, truths, engines)
    except (OSError, ValueError) as error:
        sys.exit(f"kl_table: {error}")
    print(json.dumps(row) if args.json else table(row))


if __name__ == "__main__":
    main()
