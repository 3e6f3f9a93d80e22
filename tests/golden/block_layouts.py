"""How each block type of a GGUF file lays its fields out in bytes.

    unpack(kind, raw) -> fields      raw: uint8 [blocks, bytes]
    pack(kind, fields) -> raw        the inverse: every bit of a block belongs to one field

Fields are integers and half-precision scales in the order of the weights they belong to:

    codes    [blocks, n]      unsigned, biased as stored (a Q4_0 code of 8 stands for 0)
    d, m     [blocks] float16 scale and minimum of a block; d and dmin of a K-quant's super-block
    scales, mins [blocks, sub-blocks]  a K-quant's integer scales, biased as stored
    e        [blocks] uint8   the power-of-two scale of MXFP4

The layouts follow ggml's block structures (ggml-common.h). Two habits of theirs explain most lines
below: 4-bit codes of a 32-block sit as weight j in the low and weight j + 16 in the high half of
byte j, and K-quants interleave in runs of 32 weights.
"""

from __future__ import annotations

import numpy as np

Fields = dict[str, np.ndarray]


def _half(raw: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(raw).view("<f2")[:, 0]


def _half_bytes(x: np.ndarray) -> np.ndarray:
    return x.astype("<f2").reshape(-1, 1).view(np.uint8)


def _join(*parts: np.ndarray) -> np.ndarray:
    return np.concatenate([p.astype(np.uint8) for p in parts], axis=1)


def _nibbles(raw: np.ndarray) -> np.ndarray:
    """16 bytes -> 32 codes: low halves first, then high halves."""
    return np.concatenate([raw & 15, raw >> 4], axis=1)


def _nibble_bytes(codes: np.ndarray) -> np.ndarray:
    n = codes.shape[1] // 2
    return (codes[:, :n] & 15) | ((codes[:, n:] & 15) << 4)


def _spread(raw: np.ndarray, run: int, bits: int) -> np.ndarray:
    """Runs of `run` bytes, each byte holding 8 / bits codes: the lowest bits of the whole run come
    first, then the next ones."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    runs = raw.reshape(len(raw), -1, 1, run)
    return ((runs >> shifts[:, None]) & ((1 << bits) - 1)).reshape(len(raw), -1)


def _gather(codes: np.ndarray, run: int, bits: int) -> np.ndarray:
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    runs = codes.reshape(len(codes), -1, len(shifts), run).astype(np.uint8)
    shifted = runs << shifts[:, None]
    return np.bitwise_or.reduce(shifted, axis=2).reshape(len(codes), -1)



def _unpack_q4_0(raw):
    return {"d": _half(raw[:, :2]), "codes": _nibbles(raw[:, 2:])}


def _pack_q4_0(f):
    return _join(_half_bytes(f["d"]), _nibble_bytes(f["codes"]))


def _unpack_q4_1(raw):
    return {"d": _half(raw[:, :2]), "m": _half(raw[:, 2:4]), "codes": _nibbles(raw[:, 4:])}


def _pack_q4_1(f):
    return _join(_half_bytes(f["d"]), _half_bytes(f["m"]), _nibble_bytes(f["codes"]))


def _fifth_bits(raw: np.ndarray) -> np.ndarray:
    """4 bytes -> bit j for weight j."""
    return np.unpackbits(np.ascontiguousarray(raw), axis=1, bitorder="little")


def _fifth_bit_bytes(codes: np.ndarray) -> np.ndarray:
    return np.packbits((codes >> 4) & 1, axis=1, bitorder="little")


def _unpack_q5_0(raw):
    codes = _nibbles(raw[:, 6:]) | (_fifth_bits(raw[:, 2:6]) << 4)
    return {"d": _half(raw[:, :2]), "codes": codes}


def _pack_q5_0(f):
    codes = f["codes"]
    return _join(_half_bytes(f["d"]), _fifth_bit_bytes(codes), _nibble_bytes(codes))


def _unpack_q5_1(raw):
    codes = _nibbles(raw[:, 8:]) | (_fifth_bits(raw[:, 4:8]) << 4)
    return {"d": _half(raw[:, :2]), "m": _half(raw[:, 2:4]), "codes": codes}


def _pack_q5_1(f):
    d, m, codes = _half_bytes(f["d"]), _half_bytes(f["m"]), f["codes"]
    return _join(d, m, _fifth_bit_bytes(codes), _nibble_bytes(codes))


def _unpack_q8_0(raw):
    return {"d": _half(raw[:, :2]), "codes": raw[:, 2:]}


def _pack_q8_0(f):
    return _join(_half_bytes(f["d"]), f["codes"])


def _unpack_mxfp4(raw):
    return {"e": raw[:, 0], "codes": _nibbles(raw[:, 1:])}


def _pack_mxfp4(f):
    return _join(f["e"].reshape(-1, 1), _nibble_bytes(f["codes"]))



def _unpack_q2_k(raw):
    return {
        "scales": raw[:, :16] & 15,
        "mins": raw[:, :16] >> 4,
        "codes": _spread(raw[:, 16:80], 32, 2),
        "d": _half(raw[:, 80:82]),
        "dmin": _half(raw[:, 82:84]),
    }


def _pack_q2_k(f):
    scales = f["scales"] | (f["mins"] << 4)
    d, dmin = _half_bytes(f["d"]), _half_bytes(f["dmin"])
    return _join(scales, _gather(f["codes"], 32, 2), d, dmin)


def _unpack_q3_k(raw):
    """The third bit of all 256 codes comes first: byte l, bit k holds that of weight 32 k + l.
    Of the 16 scales, 8 bytes hold the low four bits and 4 bytes the high two."""
    high = _spread(raw[:, :32], 32, 1)
    low = _spread(raw[:, 32:96], 32, 2)
    scales_low = np.concatenate([raw[:, 96:104] & 15, raw[:, 96:104] >> 4], axis=1)
    scales_high = _spread(raw[:, 104:108], 4, 2)
    return {
        "codes": low | (high << 2),
        "scales": scales_low | (scales_high << 4),
        "d": _half(raw[:, 108:110]),
    }


def _pack_q3_k(f):
    codes, scales = f["codes"], f["scales"]
    high = _gather((codes >> 2) & 1, 32, 1)
    low = _gather(codes & 3, 32, 2)
    scales_low = (scales[:, :8] & 15) | ((scales[:, 8:] & 15) << 4)
    return _join(high, low, scales_low, _gather(scales >> 4, 4, 2), _half_bytes(f["d"]))


def _unpack_scales_and_mins(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """12 bytes -> eight 6-bit scales and eight 6-bit minima. Bytes 0-3 and 4-7 hold the first four
    scales and minima; their top two bits are those of the last four, whose low four bits share
    bytes 8-11, scale below minimum."""
    a, b, c = raw[:, 0:4], raw[:, 4:8], raw[:, 8:12]
    scales = np.concatenate([a & 63, (c & 15) | ((a >> 6) << 4)], axis=1)
    mins = np.concatenate([b & 63, (c >> 4) | ((b >> 6) << 4)], axis=1)
    return scales, mins


def _pack_scales_and_mins(scales: np.ndarray, mins: np.ndarray) -> np.ndarray:
    a = scales[:, :4] | ((scales[:, 4:] >> 4) << 6)
    b = mins[:, :4] | ((mins[:, 4:] >> 4) << 6)
    c = (scales[:, 4:] & 15) | ((mins[:, 4:] & 15) << 4)
    return np.concatenate([a, b, c], axis=1)


def _unpack_q4_k(raw):
    scales, mins = _unpack_scales_and_mins(raw[:, 4:16])
    return {
        "d": _half(raw[:, 0:2]),
        "dmin": _half(raw[:, 2:4]),
        "scales": scales,
        "mins": mins,
        "codes": _spread(raw[:, 16:144], 32, 4),
    }


def _pack_q4_k(f):
    scales = _pack_scales_and_mins(f["scales"], f["mins"])
    d, dmin = _half_bytes(f["d"]), _half_bytes(f["dmin"])
    return _join(d, dmin, scales, _gather(f["codes"], 32, 4))


def _unpack_q5_k(raw):
    scales, mins = _unpack_scales_and_mins(raw[:, 4:16])
    high = _spread(raw[:, 16:48], 32, 1)
    return {
        "d": _half(raw[:, 0:2]),
        "dmin": _half(raw[:, 2:4]),
        "scales": scales,
        "mins": mins,
        "codes": _spread(raw[:, 48:176], 32, 4) | (high << 4),
    }


def _pack_q5_k(f):
    scales = _pack_scales_and_mins(f["scales"], f["mins"])
    d, dmin = _half_bytes(f["d"]), _half_bytes(f["dmin"])
    high, low = _gather(f["codes"] >> 4, 32, 1), _gather(f["codes"] & 15, 32, 4)
    return _join(d, dmin, scales, high, low)


def _unpack_q6_k(raw):
    return {
        "codes": _spread(raw[:, :128], 64, 4) | (_spread(raw[:, 128:192], 32, 2) << 4),
        "scales": raw[:, 192:208],
        "d": _half(raw[:, 208:210]),
    }


def _pack_q6_k(f):
    codes = f["codes"]
    low, high = _gather(codes & 15, 64, 4), _gather(codes >> 4, 32, 2)
    return _join(low, high, f["scales"], _half_bytes(f["d"]))


_LAYOUTS = {
    "Q4_0": (18, _unpack_q4_0, _pack_q4_0),
    "Q4_1": (20, _unpack_q4_1, _pack_q4_1),
    "Q5_0": (22, _unpack_q5_0, _pack_q5_0),
    "Q5_1": (24, _unpack_q5_1, _pack_q5_1),
    "Q8_0": (34, _unpack_q8_0, _pack_q8_0),
    "IQ4_NL": (18, _unpack_q4_0, _pack_q4_0),
    "MXFP4": (17, _unpack_mxfp4, _pack_mxfp4),
    "Q2_K": (84, _unpack_q2_k, _pack_q2_k),
    "Q3_K": (110, _unpack_q3_k, _pack_q3_k),
    "Q4_K": (144, _unpack_q4_k, _pack_q4_k),
    "Q5_K": (176, _unpack_q5_k, _pack_q5_k),
    "Q6_K": (210, _unpack_q6_k, _pack_q6_k),
}

BLOCK_BYTES = {name: layout[0] for name, layout in _LAYOUTS.items()}


def unpack(kind: str, raw: np.ndarray) -> Fields:
    return _LAYOUTS[kind][1](raw)


def pack(kind: str, fields: Fields) -> np.ndarray:
    return _LAYOUTS[kind][2](fields)
