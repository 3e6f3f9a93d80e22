"""The tensor types of GGUF files: values to bytes and back.

    dequantize(kind, raw, rows, n) -> float64 [rows, n]
    quantize(kind, x) -> bytes      x: [rows, n], rounded to float32 first

`dequantize` gives the exact value that a block stands for: ggml's formulas evaluated in float64,
where every product and difference of them is exact. `quantize` is a plain and valid quantiser, not
ggml's: nearest codes for a scale taken from the largest magnitude.

The layout and meaning of a block are in its type's row (block_type.py).
"""

from __future__ import annotations

import enum

import numpy as np

import types_32
import types_iq
import types_k
import types_ternary
from block_type import BlockType

ROWS = {
    row.name: row for row in (*types_32.ROWS, *types_k.ROWS, *types_iq.ROWS, *types_ternary.ROWS)
}
_NUMBERS = {"F32": 0, "F16": 1, "BF16": 30, **{row.name: row.number for row in ROWS.values()}}

Type = enum.IntEnum("Type", sorted(_NUMBERS.items(), key=lambda item: item[1]))

FLOAT_TYPES = (Type.F32, Type.F16, Type.BF16)
BLOCK_TYPES = tuple(Type[name] for name in ROWS)


def row_of(kind: Type) -> BlockType:
    return ROWS[kind.name]


def block_length(kind: Type) -> int:
    """Weights per block; a row holds whole blocks."""
    return 1 if kind in FLOAT_TYPES else row_of(kind).length


def block_bytes(kind: Type) -> int:
    if kind in FLOAT_TYPES:
        return 4 if kind == Type.F32 else 2
    return row_of(kind).bytes


def size_in_bytes(kind: Type, rows: int, n: int) -> int:
    if n % block_length(kind):
        raise ValueError(f"a row of {n} is not a whole number of {kind.name} blocks")
    return rows * (n // block_length(kind)) * block_bytes(kind)


def _to_bf16(x: np.ndarray) -> np.ndarray:
    """float32 -> its upper 16 bits, rounded to nearest even. The input must be finite."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def round_to(kind: Type, x: np.ndarray) -> np.ndarray:
    """x rounded to a float type."""
    x32 = np.asarray(x, np.float32)
    return dequantize(kind, quantize(kind, x32.reshape(1, -1)), 1, x32.size).reshape(x32.shape)


def dequantize(kind: Type, raw: bytes, rows: int, n: int) -> np.ndarray:
    if len(raw) != size_in_bytes(kind, rows, n):
        raise ValueError(f"{len(raw)} bytes for {rows} x {n} of {kind.name}")
    if kind == Type.F32:
        return np.frombuffer(raw, "<f4").astype(np.float64).reshape(rows, n)
    if kind == Type.F16:
        return np.frombuffer(raw, "<f2").astype(np.float64).reshape(rows, n)
    if kind == Type.BF16:
        bits = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
        return bits.view(np.float32).astype(np.float64).reshape(rows, n)
    blocks = np.frombuffer(raw, np.uint8).reshape(-1, block_bytes(kind))
    return row_of(kind).values(row_of(kind).unpack(blocks)).reshape(rows, n)


def quantize(kind: Type, x: np.ndarray) -> bytes:
    """x: finite, [rows, n] with n a multiple of the block length; taken as float32."""
    x32 = np.ascontiguousarray(x, np.float32)
    size_in_bytes(kind, *x32.shape)
    if kind == Type.F32:
        return x32.astype("<f4").tobytes()
    if kind == Type.F16:
        return x32.astype("<f2").tobytes()
    if kind == Type.BF16:
        return _to_bf16(x32).tobytes()
    blocks = x32.astype(np.float64).reshape(-1, block_length(kind))
    return row_of(kind).pack(row_of(kind).quantize(blocks)).tobytes()
