"""The block types with blocks of 32 weights, and NVFP4, with 64 and a scale for 16."""

from __future__ import annotations

import numpy as np

from block_type import (
    HALF, MINUS_ONE, ONE, TWO, BlockType, Fields, edited, gather, half, half_bytes, join, nearest,
    nibble_bytes, nibbles, reciprocal, repeat, round_codes, round_half, signed_peak, spread,
    weights,
)  # fmt: skip
from e4m3 import E4M3, E4M3_MAX, to_e4m3


def _scaled(zero: int):
    """The values d * (code - zero)."""
    return lambda f: f["d"].astype(np.float64)[:, None] * (f["codes"].astype(np.float64) - zero)


def _quantize_symmetric(zero: int):
    """Codes 0 .. 2 * zero - 1 around `zero`. The peak gets the code 0, on the longer side."""

    def quantize(x: np.ndarray) -> Fields:
        d = round_half(signed_peak(x) / -zero)
        codes = round_codes(x * reciprocal(d.astype(np.float64))[:, None] + zero, 0, 2 * zero - 1)
        return {"d": d, "codes": codes.astype(np.uint8)}

    return quantize


def _values_with_minimum(f: Fields) -> np.ndarray:
    """The values d * code + m."""
    d, m = f["d"].astype(np.float64)[:, None], f["m"].astype(np.float64)[:, None]
    return d * f["codes"].astype(np.float64) + m


def _quantize_with_minimum(top: int):
    def quantize(x: np.ndarray) -> Fields:
        m = round_half(x.min(axis=1))
        d = round_half((x.max(axis=1) - m.astype(np.float64)) / top)
        offset = x - m.astype(np.float64)[:, None]
        codes = round_codes(offset * reciprocal(d.astype(np.float64))[:, None], 0, top)
        return {"d": d, "m": m, "codes": codes.astype(np.uint8)}

    return quantize


def _unpack_q4_0(raw):
    return {"d": half(raw[:, :2]), "codes": nibbles(raw[:, 2:])}


def _pack_q4_0(f):
    return join(half_bytes(f["d"]), nibble_bytes(f["codes"]))


Q4_0 = BlockType(
    "Q4_0", number=2, length=32, bytes=18,
    unpack=_unpack_q4_0, pack=_pack_q4_0,
    values=_scaled(8), quantize=_quantize_symmetric(8),
    known=(TWO + edited(16, 0x88, {0: 0x9F}), weights(32, (0, 14.0), (16, 2.0))),
    error=0.095,
)  # fmt: skip


def _unpack_q4_1(raw):
    return {"d": half(raw[:, :2]), "m": half(raw[:, 2:4]), "codes": nibbles(raw[:, 4:])}


def _pack_q4_1(f):
    return join(half_bytes(f["d"]), half_bytes(f["m"]), nibble_bytes(f["codes"]))


Q4_1 = BlockType(
    "Q4_1", number=3, length=32, bytes=20,
    unpack=_unpack_q4_1, pack=_pack_q4_1,
    values=_values_with_minimum, quantize=_quantize_with_minimum(15),
    known=(
        HALF + MINUS_ONE + edited(16, 0, {3: 0x2F}),
        weights(32, (3, 6.5), (19, 0.0), rest=-1.0),
    ),
    error=0.085,
)  # fmt: skip


def _fifth_bits(raw: np.ndarray) -> np.ndarray:
    """4 bytes -> bit j for weight j."""
    return np.unpackbits(np.ascontiguousarray(raw), axis=1, bitorder="little")


def _fifth_bit_bytes(codes: np.ndarray) -> np.ndarray:
    return np.packbits((codes >> 4) & 1, axis=1, bitorder="little")


def _unpack_q5_0(raw):
    codes = nibbles(raw[:, 6:]) | (_fifth_bits(raw[:, 2:6]) << 4)
    return {"d": half(raw[:, :2]), "codes": codes}


def _pack_q5_0(f):
    codes = f["codes"]
    return join(half_bytes(f["d"]), _fifth_bit_bytes(codes), nibble_bytes(codes))


Q5_0 = BlockType(
    "Q5_0", number=6, length=32, bytes=22,
    unpack=_unpack_q5_0, pack=_pack_q5_0,
    values=_scaled(16), quantize=_quantize_symmetric(16),
    known=(
        ONE + b"\x01\x00\x00\x80" + edited(16, 0, {0: 0x03, 15: 0x40}),
        weights(32, (0, 3.0), (31, 4.0), rest=-16.0),
    ),
    error=0.048,
)  # fmt: skip


def _unpack_q5_1(raw):
    codes = nibbles(raw[:, 8:]) | (_fifth_bits(raw[:, 4:8]) << 4)
    return {"d": half(raw[:, :2]), "m": half(raw[:, 2:4]), "codes": codes}


def _pack_q5_1(f):
    d, m, codes = half_bytes(f["d"]), half_bytes(f["m"]), f["codes"]
    return join(d, m, _fifth_bit_bytes(codes), nibble_bytes(codes))


Q5_1 = BlockType(
    "Q5_1", number=7, length=32, bytes=24,
    unpack=_unpack_q5_1, pack=_pack_q5_1,
    values=_values_with_minimum, quantize=_quantize_with_minimum(31),
    known=(
        ONE + TWO + b"\x01\x00\x00\x80" + edited(16, 0, {0: 0x03, 15: 0x40}),
        weights(32, (0, 21.0), (31, 22.0), rest=2.0),
    ),
    error=0.042,
)  # fmt: skip


def _unpack_q8_0(raw):
    return {"d": half(raw[:, :2]), "codes": raw[:, 2:]}


def _pack_q8_0(f):
    return join(half_bytes(f["d"]), f["codes"])


def _values_q8_0(f: Fields) -> np.ndarray:
    return f["d"].astype(np.float64)[:, None] * f["codes"].view(np.int8).astype(np.float64)


def _quantize_q8_0(x: np.ndarray) -> Fields:
    d = round_half(np.abs(x).max(axis=1) / 127)
    codes = round_codes(x * reciprocal(d.astype(np.float64))[:, None], -127, 127)
    return {"d": d, "codes": codes.astype(np.int8).view(np.uint8)}


Q8_0 = BlockType(
    "Q8_0", number=8, length=32, bytes=34,
    unpack=_unpack_q8_0, pack=_pack_q8_0,
    values=_values_q8_0, quantize=_quantize_q8_0,
    known=(HALF + edited(32, 0, {0: 0x80, 31: 0x7F}), weights(32, (0, -64.0), (31, 63.5))),
    error=0.006,
)  # fmt: skip


IQ4_NL_VALUES = np.array(
    [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64
)


def _values_iq4_nl(f: Fields) -> np.ndarray:
    return f["d"].astype(np.float64)[:, None] * IQ4_NL_VALUES[f["codes"]]


def _quantize_iq4_nl(x: np.ndarray) -> Fields:
    d = round_half(signed_peak(x) / IQ4_NL_VALUES[0])
    scaled = x * reciprocal(d.astype(np.float64))[:, None]
    return {"d": d, "codes": nearest(scaled, IQ4_NL_VALUES)}


IQ4_NL = BlockType(
    "IQ4_NL", number=20, length=32, bytes=18,
    unpack=_unpack_q4_0, pack=_pack_q4_0,
    values=_values_iq4_nl, quantize=_quantize_iq4_nl,
    known=(TWO + edited(16, 0x88, {0: 0xF0}), weights(32, (0, -254.0), (16, 226.0), rest=2.0)),
    error=0.088,
)  # fmt: skip


def _unpack_mxfp4(raw):
    return {"e": raw[:, 0], "codes": nibbles(raw[:, 1:])}


def _pack_mxfp4(f):
    return join(f["e"].reshape(-1, 1), nibble_bytes(f["codes"]))


E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float64)


def _values_mxfp4(f: Fields) -> np.ndarray:
    """The values 2^(e - 127) * E2M1[code]: the OCP microscaling format in blocks of 32."""
    return np.ldexp(1.0, f["e"].astype(np.int64) - 127)[:, None] * E2M1[f["codes"]]


def _quantize_mxfp4(x: np.ndarray) -> Fields:
    """The OCP rule: the scale's exponent is the peak's exponent less that of E2M1's largest value
    (2)."""
    peak = np.abs(x).max(axis=1)
    exponent = np.frexp(np.where(peak > 0, peak, 1.0))[1] - 1 - 2
    exponent = np.clip(exponent, -127, 127)
    scaled = x * np.ldexp(1.0, -exponent)[:, None]
    return {"e": (exponent + 127).astype(np.uint8), "codes": nearest(scaled, E2M1)}


MXFP4 = BlockType(
    "MXFP4", number=39, length=32, bytes=17,
    unpack=_unpack_mxfp4, pack=_pack_mxfp4,
    values=_values_mxfp4, quantize=_quantize_mxfp4,
    known=(
        b"\x80" + edited(16, 0, {0: 0x72, 1: 0x9F}),
        weights(32, (0, 2.0), (16, 12.0), (1, -12.0), (17, -1.0)),
    ),
    error=0.13,
)  # fmt: skip


def _values_nvfp4(f: Fields) -> np.ndarray:
    """The values scale * E2M1[code]. Scales are E4M3 without a sign; a byte from 0x7F on is NaN."""
    scales = np.where(f["scales"] < 0x7F, E4M3[f["scales"]], np.nan)
    return repeat(scales, 64) * E2M1[f["codes"]]


def _quantize_nvfp4(x: np.ndarray) -> Fields:
    """Makes the largest of 16 weights 6 times their scale."""
    parts = x.reshape(len(x), 4, 16)
    peaks = signed_peak(parts)
    scales = to_e4m3(np.minimum(np.abs(peaks) / E2M1.max(), E4M3_MAX))
    scaled = (parts * reciprocal(E4M3[scales])[:, :, None]).reshape(x.shape)
    codes = nearest(scaled, E2M1).reshape(parts.shape)
    of_peaks = np.where(peaks < 0, 15, 7).astype(np.uint8)
    at = np.abs(parts).argmax(axis=2)
    np.put_along_axis(codes, at[:, :, None], of_peaks[:, :, None], axis=2)
    return {"scales": scales, "codes": codes.reshape(x.shape)}


NVFP4 = BlockType(
    "NVFP4", number=40, length=64, bytes=36,
    unpack=lambda raw: {"scales": raw[:, :4], "codes": spread(raw[:, 4:], 8, 4)},
    pack=lambda f: join(f["scales"], gather(f["codes"], 8, 4)),
    values=_values_nvfp4, quantize=_quantize_nvfp4,
    known=(
        b"\x38\x40\x01\x7e" + edited(32, 0, {0: 0x72, 8: 0x20, 19: 0x9F, 24: 0x07}),
        weights(64, (0, 1.0), (8, 6.0), (24, 2.0), (35, -6 * 2.0**-9), (43, -(2.0**-10)),
                (48, 2688.0)),
    ),
    error=0.105,
)  # fmt: skip


ROWS = (Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, IQ4_NL, MXFP4, NVFP4)
