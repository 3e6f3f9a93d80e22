#!/usr/bin/env python3
"""Computes the vectors of a BERT in float64: tests/golden/reference.py over a whole GGUF file.

    truth.py MODEL.gguf TEXTS OUT.npy    TEXTS: a line each, token ids; OUT: float64 [texts, width]

Weights are dequantised exactly. Vectors are pooled as the file says and divided by their length.
Takes 8 bytes of memory a weight, and the file's size besides.
"""

from __future__ import annotations

import sys

import bert_file
import cases

sys.path.insert(0, str(bert_file.ROOT / "tests" / "golden"))

import gguf_io  # noqa: E402
import numpy as np  # noqa: E402
import reference  # noqa: E402


def pooled(hidden: np.ndarray, pooling: str) -> np.ndarray:
    row = {"cls": hidden[0], "last": hidden[-1], "mean": hidden.mean(axis=0)}[pooling]
    return row / np.linalg.norm(row)


def true_vectors(path: str, texts: list[list[int]]) -> np.ndarray:
    pooling = bert_file.BertFile(path).pooling
    model = reference.Model(gguf_io.read(path))
    return np.stack([pooled(model.hidden(text), pooling) for text in texts])


def distance(vectors: np.ndarray, truth: np.ndarray) -> float:
    """The largest difference of an element over the largest element of the text's true vector. The
    figure is that of the worst text."""
    largest = np.abs(truth).max(axis=1)
    return float((np.abs(vectors - truth).max(axis=1) / largest).max())


def mean_length(vectors: np.ndarray, truth: np.ndarray) -> float:
    """The length of the difference of two vectors of length 1: the root of its mean square over the
    texts. Unlike the largest element, it varies little with few texts."""
    return float(np.sqrt(((vectors - truth) ** 2).sum(axis=1).mean()))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("truth.py MODEL.gguf TEXTS OUT.npy")
    np.save(sys.argv[3], true_vectors(sys.argv[1], cases.read_texts(sys.argv[2])))
