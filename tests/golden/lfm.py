"""Layers of LFM2 (Liquid AI 2025, arXiv 2511.23404): short convolutions with gates where
attention.head_count_kv is 0, and attention elsewhere.

    B, C, X = the three parts of Win n, one above the other
    y_t = C_t sum over j < K of w[:, j] (B X)_{t - K + 1 + j}
    Wout y

The last norm is called token_embd_norm.
"""

from __future__ import annotations

import numpy as np

import gguf_io
import hybrid

ARCHITECTURES = ("lfm2", "lfm2moe")
LAST_NORM = "token_embd_norm"


def attending(file: gguf_io.Gguf) -> tuple[bool, ...]:
    """Whether each layer has attention; () for another architecture."""
    arch = file.get("general.architecture")
    if arch not in ARCHITECTURES:
        return ()
    return tuple(heads > 0 for heads in file.get(f"{arch}.attention.head_count_kv"))


def attend(model, x: np.ndarray, prefix: str) -> np.ndarray:
    n = len(x)
    shared = n if model.alternatives == 1 else n - model.alternatives
    before, after, given = np.split(model.linear(x, prefix + "shortconv.in_proj"), 3, axis=1)
    mixed = hybrid.mix(before * given, model.weights[prefix + "shortconv.conv.weight"], shared)
    return model.linear(after * mixed, prefix + "shortconv.out_proj")
