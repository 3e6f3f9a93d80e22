"""The metadata and random tensors of short convolutions, under GGUF's names.

    shortconv.in_proj      [3 embedding, embedding]
    shortconv.conv         [embedding, taps]
    shortconv.out_proj     [embedding, embedding]
"""

from __future__ import annotations

import numpy as np

from gguf_io import Value, ValueType, array, u32
from model_specs import Spec


def keys(spec: Spec) -> dict[str, Value]:
    heads = [spec.kv_heads if spec.has_attention(i) else 0 for i in range(spec.layers)]
    return {"shortconv.l_cache": u32(spec.conv.taps),
            "attention.head_count_kv": array(ValueType.INT32, heads)}  # fmt: skip


def linears(spec: Spec, gain: float) -> list[tuple[str, int, int, float]]:
    """(name, columns, rows, gain) of a layer's matrices. `gain` is that of the layer's output."""
    width = spec.embedding
    return [("shortconv.in_proj", width, 3 * width, 1.2),
            ("shortconv.out_proj", width, width, gain)]  # fmt: skip


def tensors(spec: Spec, r: np.random.Generator, prefix: str):
    """Yields (name, values) of the other tensors."""
    taps = spec.conv.taps
    w = r.standard_normal((spec.embedding, taps)) / np.sqrt(taps)
    yield prefix + "shortconv.conv.weight", w
