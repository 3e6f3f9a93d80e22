"""Linears as quantisers store them in directories: parts of X.weight, by the ends of their names.

    parts(layout, x, r) -> {ending: Stored}    of weights x [N][K]; r draws orders of columns
    config(layout, kept) -> dict               quantization_config; `kept` modules are left alone
    values(parts, config) -> float64 [N][K]    the weights that the parts represent

Codes are the nearest for a scale taken from the largest weight, or the range, of the group that
shares it. Writing shifts codes into words by place, in each quantiser's packing order. Reading does
not use `Layout`: it finds every code by the formula of its layout:

    packed   word [n][k / per], place k % per                       (compressed-tensors)
    gptq     word [k / per][n], place k % per; zeros are one less in its first format
    awq      word [k][n / 8], place (0 4 1 5 2 6 3 7)[n % 8]
    pairs    byte [n][k / 2], place k % 2, E2M1                     (NVFP4, MXFP4)
"""

from __future__ import annotations

import dataclasses

import numpy as np

import safetensors_io
from safetensors_io import E4M3, E4M3_MAX, F8, Stored

E2M1 = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
E2M1_MAX = 6.0
WORD_BITS = 32
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]
NVFP4_GROUP, MX_GROUP = 16, 32


@dataclasses.dataclass(frozen=True)
class Layout:
    name: str  # fp8-tensor, fp8-row, mxfp8, mxfp4, nvfp4, nvfp4-packed, packed, int8, gptq, awq
    bits: int = 4
    group: int = 0  # columns of a scale; 0: a row
    zeros: bool = False
    scale: str = "F16"
    shuffled: bool = False  # columns belong to groups in another order than they are stored in
    own_orders: bool = False  # the order differs for every Linear, not only for every input
    first_format: bool = True  # of gptq

    @property
    def type(self) -> str:
        """The type under which the manifest counts such a matrix."""
        if self.name.startswith("fp8"):
            return F8
        own = {"packed": f"packed{self.bits}", "gptq": f"gptq{self.bits}", "awq": "awq4",
               "nvfp4-packed": "nvfp4"}  # fmt: skip
        return own.get(self.name, self.name)


def _i32(x: np.ndarray) -> Stored:
    return Stored("I32", x.shape, np.ascontiguousarray(x, np.int64).astype("<u4").tobytes())


def _u8(x: np.ndarray, kind: str = "U8") -> Stored:
    return Stored(kind, x.shape, np.ascontiguousarray(x).astype(np.uint8).tobytes())


def _number(x: float, shape: tuple[int, ...] = ()) -> Stored:
    return safetensors_io.stored("F32", np.full(shape, x))


def _words(codes: np.ndarray, bits: int) -> np.ndarray:
    """Codes along the last axis, the low bits first."""
    per = WORD_BITS // bits
    pad = -codes.shape[1] % per
    wide = np.pad(codes, ((0, 0), (0, pad))).reshape(len(codes), -1, per).astype(np.int64)
    return (wide << (bits * np.arange(per))).sum(axis=2)


def _peaks(x: np.ndarray, group: int) -> np.ndarray:
    return np.abs(x).reshape(len(x), -1, group).max(axis=2)


def _integers(layout: Layout, x: np.ndarray) -> tuple[np.ndarray, Stored, np.ndarray]:
    """Codes [N][K], scales and zeros [N][groups], of columns in the order of their groups."""
    rows, k = x.shape
    group, most = layout.group or k, 2**layout.bits - 1
    wide = x.reshape(rows, -1, group)
    if layout.zeros:
        low, high = np.minimum(wide.min(axis=2), 0), np.maximum(wide.max(axis=2), 0)
        scales = safetensors_io.stored(layout.scale, (high - low) / most)
        # The first format of gptq cannot represent a zero point of 0.
        zeros = np.clip(np.round(-low / scales.values()), 1, most).astype(np.int64)
    else:
        scales = safetensors_io.stored(layout.scale, _peaks(x, group) / (most // 2))
        zeros = np.full(wide.shape[:2], (most + 1) // 2)
    codes = np.round(wide / scales.values()[..., None]) + zeros[..., None]
    return np.clip(codes, 0, most).astype(np.int64).reshape(rows, k), scales, zeros


def _grouped(layout: Layout, x: np.ndarray, r: np.random.Generator):
    """_integers for columns in stored order, and the group of each."""
    k = x.shape[1]
    group = np.arange(k) // (layout.group or k)
    if layout.shuffled:
        group = r.permutation(group)
    order = np.argsort(group, kind="stable")
    codes = np.empty(x.shape, np.int64)
    codes[:, order], scales, zeros = _integers(layout, x[:, order])
    return codes, scales, zeros, group


def _transposed(t: Stored) -> Stored:
    return safetensors_io.stored(t.type, t.values().T)


def _packed(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    codes, scales, zeros, group = _grouped(layout, x, r)
    shape = np.array(x.shape, "<i8")
    out = {"weight_packed": _i32(_words(codes, layout.bits)), "weight_scale": scales,
           "weight_shape": Stored("I64", (2,), shape.tobytes())}  # fmt: skip
    if layout.zeros:
        out["weight_zero_point"] = _i32(_words(zeros.T, layout.bits).T)
    if layout.shuffled:
        out["weight_g_idx"] = _i32(group)
    return out


def _gptq(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    codes, scales, zeros, group = _grouped(layout, x, r)
    stored = zeros - 1 if layout.first_format else zeros
    return {"qweight": _i32(_words(codes, layout.bits).T), "scales": _transposed(scales),
            "qzeros": _i32(_words(stored.T, layout.bits)), "g_idx": _i32(group)}  # fmt: skip


def _awq(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    codes, scales, zeros, _ = _grouped(layout, x, r)
    order = (np.arange(len(x)).reshape(-1, 8)[:, AWQ_ORDER]).reshape(-1)
    return {"qweight": _i32(_words(codes.T[:, order], 4)), "scales": _transposed(scales),
            "qzeros": _i32(_words(zeros.T[:, order], 4))}  # fmt: skip


def _int8(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    scales = safetensors_io.stored(layout.scale, _peaks(x, x.shape[1]) / 127)
    codes = np.clip(np.round(x / scales.values()), -128, 127).astype(np.int64)
    return {"weight": _u8(codes & 255, "I8"), "weight_scale": scales}


def _fp8(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    peaks = _peaks(x, x.shape[1])
    if layout.name == "fp8-tensor":
        scales = _number(peaks.max() / E4M3_MAX)
    else:
        scales = safetensors_io.stored(layout.scale, peaks / E4M3_MAX)
    codes = safetensors_io.to_e4m3(np.clip(x / scales.values(), -E4M3_MAX, E4M3_MAX))
    more = {"input_scale": _number(0.25)} if layout.name == "fp8-tensor" else {}
    return {"weight": _u8(codes, F8), "weight_scale": scales, **more}


def _spread(scales: np.ndarray, group: int) -> np.ndarray:
    return np.repeat(scales, group, axis=1)


def _to_e2m1(x: np.ndarray) -> np.ndarray:
    codes = np.abs(np.abs(x)[..., None] - E2M1).argmin(axis=-1)
    return codes | np.where(np.signbit(x), 8, 0)


def _to_pairs(codes: np.ndarray) -> np.ndarray:
    return codes[:, 0::2] | codes[:, 1::2] << 4


def _mxfp8(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    exponents = np.ceil(np.log2(_peaks(x, MX_GROUP) / E4M3_MAX))
    codes = safetensors_io.to_e4m3(x / _spread(2.0**exponents, MX_GROUP))
    return {"weight": _u8(codes, F8), "weight_scale_inv": _u8(exponents + 127)}


def mxfp4_pairs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bytes [N][K / 2] and exponents [N][K / 32] of the nearest codes."""
    exponents = np.floor(np.log2(_peaks(x, MX_GROUP))) - 2
    return _to_pairs(_to_e2m1(x / _spread(2.0**exponents, MX_GROUP))), exponents


def _mxfp4(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    pairs, exponents = mxfp4_pairs(x)
    return {"weight_packed": _u8(pairs), "weight_scale": _u8(exponents + 127)}


def _nvfp4(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    peaks = _peaks(x, NVFP4_GROUP) / E2M1_MAX
    whole = np.float64(np.float32(peaks.max() / E4M3_MAX))
    divided = layout.name == "nvfp4-packed"
    if divided:
        whole = 1 / np.float64(np.float32(1 / whole))
    scales = safetensors_io.to_e4m3(np.clip(peaks / whole, 2.0**-9, E4M3_MAX))
    codes = _to_e2m1(x / (_spread(E4M3[scales], NVFP4_GROUP) * whole))
    out = {"weight_packed" if divided else "weight": _u8(_to_pairs(codes)),
           "weight_scale": _u8(scales, F8)}  # fmt: skip
    if divided:
        return {**out, "weight_global_scale": _number(1 / whole, (1,))}
    return {**out, "weight_scale_2": _number(whole), "input_scale": _number(0.25)}


_WRITERS = {
    "fp8-tensor": _fp8, "fp8-row": _fp8, "mxfp8": _mxfp8, "mxfp4": _mxfp4, "nvfp4": _nvfp4,
    "nvfp4-packed": _nvfp4, "packed": _packed, "int8": _int8, "gptq": _gptq, "awq": _awq,
}  # fmt: skip


def parts(layout: Layout, x: np.ndarray, r: np.random.Generator) -> dict[str, Stored]:
    return _WRITERS[layout.name](layout, x, r)


def _compressed(layout: Layout, kept: list[str]) -> dict:
    kinds = {
        "packed": ("pack-quantized", "int", "group" if layout.group else "channel"),
        "int8": ("int-quantized", "int", "channel"), "fp8-row": ("float-quantized", "float",
        "channel"), "nvfp4-packed": ("nvfp4-pack-quantized", "float", "tensor_group"),
        "mxfp4": ("mxfp4-pack-quantized", "float", "group"),
    }  # fmt: skip
    form, kind, strategy = kinds[layout.name]
    group = {"nvfp4-packed": NVFP4_GROUP, "mxfp4": MX_GROUP}.get(layout.name, layout.group or None)
    bits = 8 if layout.name in ("int8", "fp8-row") else layout.bits
    weights = {"num_bits": bits, "type": kind, "symmetric": not layout.zeros, "dynamic": False,
               "strategy": strategy, "group_size": group,
               "actorder": "group" if layout.shuffled else None}  # fmt: skip
    return {"quant_method": "compressed-tensors", "format": form, "ignore": kept,
            "quantization_status": "compressed", "kv_cache_scheme": None,
            "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights,
                                          "input_activations": None}}}  # fmt: skip


def config(layout: Layout, kept: list[str]) -> dict:
    group = layout.group or -1
    if layout.name == "gptq":
        return {"quant_method": "gptq", "bits": layout.bits, "group_size": group,
                "desc_act": layout.shuffled, "sym": not layout.zeros,
                "checkpoint_format": "gptq" if layout.first_format else "gptq_v2"}  # fmt: skip
    if layout.name == "awq":
        return {"quant_method": "awq", "bits": 4, "group_size": group, "version": "gemm",
                "zero_point": layout.zeros, "modules_to_not_convert": kept}  # fmt: skip
    if layout.name == "mxfp8":
        return {"quant_method": "mxfp8", "modules_to_not_convert": kept}
    if layout.name in ("fp8-tensor", "nvfp4"):
        algorithm = "FP8" if layout.name == "fp8-tensor" else "NVFP4"
        return {"quant_method": "modelopt", "quant_algo": algorithm, "ignore": kept}
    return _compressed(layout, kept)


def _numbers(t: Stored, kind: str) -> np.ndarray:
    return np.frombuffer(t.data, kind).reshape(t.shape).astype(np.int64)


def _codes_at(words: np.ndarray, place: np.ndarray, bits: int) -> np.ndarray:
    return words >> (bits * place) & (2**bits - 1)


def _read_q(found: dict[str, Stored], awq: bool, first_format: bool) -> np.ndarray:
    words, zero_words = _numbers(found["qweight"], "<u4"), _numbers(found["qzeros"], "<u4")
    scales = found["scales"].values()
    rows = scales.shape[1]
    bits = WORD_BITS * zero_words.shape[1] // rows
    per, n = WORD_BITS // bits, np.arange(rows)
    place = np.array([0, 4, 1, 5, 2, 6, 3, 7])[n % 8] if awq else n % per
    zeros = _codes_at(zero_words[:, n // per], place, bits) + (0 if awq else first_format)
    if awq:
        codes, k = _codes_at(words[:, n // per], place, bits), len(words)
        group = np.arange(k) // (k // len(scales))
    else:
        c = np.arange(len(words) * per)
        codes = _codes_at(words[c // per], (c % per)[:, None], bits)
        group = _numbers(found["g_idx"], "<i4")
    return (scales[group] * (codes - zeros[group])).T


def _read_packed(found: dict[str, Stored], config: dict) -> np.ndarray:
    rows, k = _numbers(found["weight_shape"], "<i8")
    words, scales = _numbers(found["weight_packed"], "<u4"), found["weight_scale"].values()
    bits = config["config_groups"]["group_0"]["weights"]["num_bits"]
    per, c, n = WORD_BITS // bits, np.arange(k), np.arange(rows)
    codes = _codes_at(words[:, c // per], c % per, bits)
    group = c // (k // scales.shape[1])
    if "weight_g_idx" in found:
        group = _numbers(found["weight_g_idx"], "<i4")
    zeros = np.full(scales.shape, 2 ** (bits - 1))
    if "weight_zero_point" in found:
        zero_words = _numbers(found["weight_zero_point"], "<u4")
        zeros = _codes_at(zero_words[n // per], (n % per)[:, None], bits)
    return scales[:, group] * (codes - zeros[:, group])


def _read_pairs(t: Stored) -> np.ndarray:
    both = _numbers(t, np.uint8)
    c = np.arange(2 * both.shape[1])
    codes = both[:, c // 2] >> 4 * (c % 2) & 15
    return np.where(codes & 8, -E2M1[codes & 7], E2M1[codes & 7])


def _read_scaled(found: dict[str, Stored]) -> np.ndarray:
    """Decodes codes that are values by themselves, with a scale for each run of columns."""
    codes = found.get("weight_packed") or found["weight"]
    if codes.type == "I8":
        x = _numbers(codes, np.int8).astype(np.float64)
    else:
        x = codes.values() if codes.type == F8 else _read_pairs(codes)
    scales = found.get("weight_scale") or found["weight_scale_inv"]
    by = 2.0 ** (_numbers(scales, np.uint8) - 127.0) if scales.type == "U8" else scales.values()
    if by.size > 1:
        by = by[:, np.arange(x.shape[1]) // (x.shape[1] // by.shape[1])]
    if "weight_scale_2" in found:
        return x * by * found["weight_scale_2"].values()
    if "weight_global_scale" in found:
        return x * by / found["weight_global_scale"].values()
    return x * by


def values(found: dict[str, Stored], config: dict) -> np.ndarray:
    if "qweight" in found:
        first = config.get("checkpoint_format", "gptq") == "gptq"
        return _read_q(found, config["quant_method"] == "awq", first)
    if "weight_shape" in found:
        return _read_packed(found, config)
    return _read_scaled(found)
