"""Random blocks of every tensor type, and their values.

    write(path)     a GGUF file with two tensors a type: `q4_0`, blocks of any bits whose values are
                    finite, and `q4_0.values`, what quants.py makes of them, in F32
"""

from __future__ import annotations

import numpy as np

import draws
import gguf_io
import quants
from quants import Type

BLOCKS = 256  # at most
DRAWN = 16 * BLOCKS  # of NVFP4, one block in 16 has four scales that are not NaN


def finite_blocks(kind: Type) -> tuple[bytes, np.ndarray]:
    length = quants.block_length(kind)
    r = draws.generator("blocks", kind.name)
    raw = r.integers(0, 256, (DRAWN, quants.block_bytes(kind)), dtype=np.uint8)
    with np.errstate(all="ignore"):
        values = quants.dequantize(kind, raw.tobytes(), DRAWN, length).astype(np.float32)
    keep = np.flatnonzero(np.isfinite(values).all(axis=1))[:BLOCKS]
    return raw[keep].tobytes(), values[keep]


def write(path: str) -> None:
    tensors = []
    for kind in Type:
        name, (raw, values) = kind.name.lower(), finite_blocks(kind)
        tensors.append(gguf_io.Tensor(name, kind, (values.size,), raw))
        stored = quants.quantize(Type.F32, values.reshape(1, -1))
        tensors.append(gguf_io.Tensor(f"{name}.values", Type.F32, (values.size,), stored))
    gguf_io.write(path, {}, tensors)
