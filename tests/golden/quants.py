"""The tensor types of GGUF files: values to bytes and back.

    dequantize(kind, raw, rows, n) -> float64 [rows, n]
    quantize(kind, x) -> bytes      x: [rows, n], rounded to float32 first

`dequantize` gives the exact value that a block stands for: ggml's formulas evaluated in float64,
where every product and difference of them is exact. `quantize` is a plain and valid quantiser, not
ggml's: nearest codes for a scale taken from the largest magnitude.

What a code means, by type (d, m, dmin half precision; sc, mn integers of a sub-block):

    Q4_0, Q5_0, Q8_0   d * (code - 8), d * (code - 16), d * int8
    Q4_1, Q5_1         d * code + m
    IQ4_NL             d * IQ4_NL_VALUES[code]
    MXFP4              2^(e - 127) * E2M1[code]   (the OCP microscaling format, blocks of 32)
    Q2_K, Q4_K, Q5_K   d * sc * code - dmin * mn
    Q3_K, Q6_K         d * (sc - 32) * (code - 4), d * sc * (code - 32)
"""

from __future__ import annotations

import enum

import numpy as np

import block_layouts


class Type(enum.IntEnum):
    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    IQ4_NL = 20
    BF16 = 30
    MXFP4 = 39


FLOAT_TYPES = (Type.F32, Type.F16, Type.BF16)
K_QUANTS = (Type.Q2_K, Type.Q3_K, Type.Q4_K, Type.Q5_K, Type.Q6_K)

IQ4_NL_VALUES = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64
)
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float64)

HALF_MAX = 65504.0


def block_length(kind: Type) -> int:
    """Weights per block; a row holds whole blocks."""
    if kind in FLOAT_TYPES:
        return 1
    return 256 if kind in K_QUANTS else 32


def block_bytes(kind: Type) -> int:
    if kind in FLOAT_TYPES:
        return 4 if kind == Type.F32 else 2
    return block_layouts.BLOCK_BYTES[kind.name]


def size_in_bytes(kind: Type, rows: int, n: int) -> int:
    if n % block_length(kind):
        raise ValueError(f"a row of {n} is not a whole number of {kind.name} blocks")
    return rows * (n // block_length(kind)) * block_bytes(kind)


def _to_bf16(x: np.ndarray) -> np.ndarray:
    """float32 -> the upper 16 bits, rounded to nearest even; finite input."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")


def round_to(kind: Type, x: np.ndarray) -> np.ndarray:
    """x, after a trip through a float type."""
    x32 = np.asarray(x, np.float32)
    return dequantize(kind, quantize(kind, x32.reshape(1, -1)), 1, x32.size).reshape(x32.shape)


def _repeat(x: np.ndarray, n: int) -> np.ndarray:
    """One value per sub-block -> one per weight."""
    return np.repeat(x.astype(np.float64), n // x.shape[1], axis=1)


def values_of_blocks(kind: Type, f: block_layouts.Fields) -> np.ndarray:
    """The weights that unpacked blocks stand for, [blocks, block length]."""
    codes = f["codes"].astype(np.float64)
    n = codes.shape[1]
    if kind == Type.MXFP4:
        return np.ldexp(1.0, f["e"].astype(np.int64) - 127)[:, None] * E2M1[f["codes"]]
    d = f["d"].astype(np.float64)[:, None]
    if kind == Type.IQ4_NL:
        return d * IQ4_NL_VALUES[f["codes"]]
    if kind in (Type.Q4_0, Type.Q5_0):
        return d * (codes - (8 if kind == Type.Q4_0 else 16))
    if kind in (Type.Q4_1, Type.Q5_1):
        return d * codes + f["m"].astype(np.float64)[:, None]
    if kind == Type.Q8_0:
        return d * f["codes"].view(np.int8).astype(np.float64)
    if kind == Type.Q3_K:
        return d * (_repeat(f["scales"], n) - 32) * (codes - 4)
    if kind == Type.Q6_K:
        return d * _repeat(f["scales"].view(np.int8), n) * (codes - 32)
    dmin = f["dmin"].astype(np.float64)[:, None]
    return d * _repeat(f["scales"], n) * codes - dmin * _repeat(f["mins"], n)


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
    return values_of_blocks(kind, block_layouts.unpack(kind.name, blocks)).reshape(rows, n)


def _reciprocal(x: np.ndarray) -> np.ndarray:
    """1 / x, and 0 where x is 0: a block of zeros gets zero codes."""
    return np.divide(1.0, x, out=np.zeros_like(x, np.float64), where=x != 0)


def _half(x: np.ndarray) -> np.ndarray:
    return np.clip(x, -HALF_MAX, HALF_MAX).astype(np.float16)


def _signed_peak(x: np.ndarray) -> np.ndarray:
    """Per row, the element of the largest magnitude, with its sign."""
    return np.take_along_axis(x, np.abs(x).argmax(axis=-1)[..., None], axis=-1)[..., 0]


def _codes(x: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.clip(np.rint(x), low, high).astype(np.int64)


def _quantize_symmetric(x: np.ndarray, zero: int) -> block_layouts.Fields:
    """Codes 0 .. 2 * zero - 1 around `zero`: the peak gets the code 0, the longer side."""
    d = _half(_signed_peak(x) / -zero)
    codes = _codes(x * _reciprocal(d.astype(np.float64))[:, None] + zero, 0, 2 * zero - 1)
    return {"d": d, "codes": codes.astype(np.uint8)}


def _quantize_q8_0(x: np.ndarray) -> block_layouts.Fields:
    d = _half(np.abs(x).max(axis=1) / 127)
    codes = _codes(x * _reciprocal(d.astype(np.float64))[:, None], -127, 127)
    return {"d": d, "codes": codes.astype(np.int8).view(np.uint8)}


def _quantize_with_minimum(x: np.ndarray, top: int) -> block_layouts.Fields:
    m = _half(x.min(axis=1))
    d = _half((x.max(axis=1) - m.astype(np.float64)) / top)
    offset = x - m.astype(np.float64)[:, None]
    codes = _codes(offset * _reciprocal(d.astype(np.float64))[:, None], 0, top)
    return {"d": d, "m": m, "codes": codes.astype(np.uint8)}


def _nearest(x: np.ndarray, table: np.ndarray) -> np.ndarray:
    return np.abs(x[:, :, None] - table).argmin(axis=2).astype(np.uint8)


def _quantize_iq4_nl(x: np.ndarray) -> block_layouts.Fields:
    d = _half(_signed_peak(x) / IQ4_NL_VALUES[0])
    scaled = x * _reciprocal(d.astype(np.float64))[:, None]
    return {"d": d, "codes": _nearest(scaled, IQ4_NL_VALUES)}


def _quantize_mxfp4(x: np.ndarray) -> block_layouts.Fields:
    """The OCP rule: the peak's exponent less that of E2M1's largest value (2)."""
    peak = np.abs(x).max(axis=1)
    exponent = np.frexp(np.where(peak > 0, peak, 1.0))[1] - 1 - 2
    exponent = np.clip(exponent, -127, 127)
    scaled = x * np.ldexp(1.0, -exponent)[:, None]
    return {"e": (exponent + 127).astype(np.uint8), "codes": _nearest(scaled, E2M1)}


def _quantize_k_symmetric(x: np.ndarray, kind: Type) -> block_layouts.Fields:
    """Q3_K and Q6_K: 16 sub-blocks of 16, each with a signed integer scale."""
    zero, top = (4, 31) if kind == Type.Q3_K else (32, 127)
    parts = x.reshape(len(x), 16, 16)
    scales = _signed_peak(parts) / -zero
    d = _half(np.abs(scales).max(axis=1) / top)
    integer = _codes(scales * _reciprocal(d.astype(np.float64))[:, None], -top, top)
    step = d.astype(np.float64)[:, None] * integer
    codes = _codes(parts * _reciprocal(step)[:, :, None] + zero, 0, 2 * zero - 1)
    stored = integer + 32 if kind == Type.Q3_K else integer.astype(np.int8)
    return {
        "d": d,
        "scales": stored.astype(np.uint8),
        "codes": codes.reshape(len(x), 256).astype(np.uint8),
    }


def _quantize_k_with_minimum(x: np.ndarray, kind: Type) -> block_layouts.Fields:
    """Q2_K, Q4_K, Q5_K: sub-blocks with an integer scale and an integer minimum, never positive."""
    count, top, limit = (16, 3, 15) if kind == Type.Q2_K else (8, 15, 63)
    if kind == Type.Q5_K:
        top = 31
    parts = x.reshape(len(x), count, -1)
    low = np.maximum(-parts.min(axis=2), 0.0)
    dmin = _half(low.max(axis=1) / limit)
    mins = _codes(low * _reciprocal(dmin.astype(np.float64))[:, None], 0, limit)
    floor = dmin.astype(np.float64)[:, None] * mins
    scales = np.maximum(parts.max(axis=2) + floor, 0.0) / top
    d = _half(scales.max(axis=1) / limit)
    integer = _codes(scales * _reciprocal(d.astype(np.float64))[:, None], 0, limit)
    step = d.astype(np.float64)[:, None] * integer
    codes = _codes((parts + floor[:, :, None]) * _reciprocal(step)[:, :, None], 0, top)
    return {
        "d": d,
        "dmin": dmin,
        "scales": integer.astype(np.uint8),
        "mins": mins.astype(np.uint8),
        "codes": codes.reshape(len(x), 256).astype(np.uint8),
    }


def _fields(kind: Type, x: np.ndarray) -> block_layouts.Fields:
    if kind in (Type.Q4_0, Type.Q5_0):
        return _quantize_symmetric(x, 8 if kind == Type.Q4_0 else 16)
    if kind in (Type.Q4_1, Type.Q5_1):
        return _quantize_with_minimum(x, 15 if kind == Type.Q4_1 else 31)
    if kind == Type.Q8_0:
        return _quantize_q8_0(x)
    if kind == Type.IQ4_NL:
        return _quantize_iq4_nl(x)
    if kind == Type.MXFP4:
        return _quantize_mxfp4(x)
    if kind in (Type.Q3_K, Type.Q6_K):
        return _quantize_k_symmetric(x, kind)
    return _quantize_k_with_minimum(x, kind)


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
    return block_layouts.pack(kind.name, _fields(kind, blocks)).tobytes()
