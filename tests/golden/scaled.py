"""Matrices of NVFP4, each with a factor beside it."""

from __future__ import annotations

import numpy as np

import e4m3
import gguf_io
import quants
import types_32
from quants import Type


def tensors(name: str, values: np.ndarray) -> list[gguf_io.Tensor]:
    """NVFP4 with a factor for every matrix, such that its largest weight gets the largest scale."""
    matrices = values.reshape(-1, *values.shape[-2:])
    factors = np.abs(matrices).max(axis=(1, 2)) / (types_32.E2M1.max() * e4m3.E4M3_MAX)
    factors = quants.round_to(Type.F32, factors)
    shape = values.shape[::-1]
    raw = quants.quantize(Type.NVFP4, (matrices / factors[:, None, None]).reshape(-1, shape[0]))
    beside = quants.quantize(Type.F32, factors.reshape(1, -1))
    return [
        gguf_io.Tensor(name, Type.NVFP4, shape, raw),
        gguf_io.Tensor(name.removesuffix("weight") + "scale", Type.F32, factors.shape, beside),
    ]
