"""Metadata and random tensors, under GGUF's names, of layers that keep states. Those of a gated
delta rule are here, those of short convolutions in conv_tensors.py.

    attn_qkv       [2 key heads + value heads, length] rows: queries, keys, values
    attn_gate      [value heads, length] rows
    ssm_conv1d     [channels, taps]
    ssm_alpha, ssm_beta, or ssm_ba     [value heads] rows each
    ssm_a, ssm_dt.bias                 [value heads]
    ssm_norm       [length]
    ssm_out        [embedding, value heads length]
"""

from __future__ import annotations

import numpy as np

import conv_tensors
import draws
import hybrid
import quants
from gguf_io import Value, ValueType, array, u32
from model_specs import Spec
from quants import Type


def keys(spec: Spec) -> dict[str, Value]:
    if spec.conv:
        return conv_tensors.keys(spec)
    d = spec.delta
    out = {
        "ssm.conv_kernel": u32(d.taps),
        "ssm.state_size": u32(d.length),
        "ssm.group_count": u32(d.keys),
        "ssm.time_step_rank": u32(d.values),
        "ssm.inner_size": u32(d.values * d.length),
    }
    if spec.arch in hybrid.DEALT:
        # These are sections of pictures' positions. They do not affect a text, whose position is
        # one.
        part = spec.key // 4 // 3
        sections = [spec.key // 4 - 2 * part, part, part, 0]
        out["rope.dimension_sections"] = array(ValueType.INT32, sections)
    if d.full:
        recurrent = [not full for full in d.full]
        out["attention.recurrent_layers"] = array(ValueType.BOOL, recurrent)
    else:
        out["full_attention_interval"] = u32(d.interval)
    return out


def linears(spec: Spec, gain: float) -> list[tuple[str, int, int, float]]:
    """(name, columns, rows, gain) of a layer's matrices. `gain` is that of the layer's output."""
    if spec.conv:
        return conv_tensors.linears(spec, gain)
    d, width = spec.delta, spec.embedding
    values = d.values * d.length
    gates = [("ssm_alpha", width, d.values, 1.0), ("ssm_beta", width, d.values, 1.0)]
    if spec.arch in hybrid.BESIDE:
        gates = [("ssm_ba", width, 2 * d.values, 1.0)]
    rows = 2 * d.keys * d.length + values
    return [("attn_qkv", width, rows, 1.5), ("attn_gate", width, values, 1.5), *gates,
            ("ssm_out", values, width, gain)]  # fmt: skip


def tensors(spec: Spec, r: np.random.Generator, prefix: str):
    """Yields (name, values) of the other tensors. Decays have all sizes, so that states reach far.
    """
    if spec.conv:
        yield from conv_tensors.tensors(spec, r, prefix)
        return
    d = spec.delta
    channels = (2 * d.keys + d.values) * d.length
    yield prefix + "ssm_conv1d.weight", r.standard_normal((channels, d.taps)) / np.sqrt(d.taps)
    # Directories hold the logarithm.
    logarithm = quants.round_to(Type.BF16 if spec.twin else Type.F32, r.uniform(-4, 1, d.values))
    yield prefix + "ssm_a", -np.exp(logarithm)
    yield prefix + "ssm_dt.bias", r.standard_normal(d.values)
    yield prefix + "ssm_norm.weight", draws.norm(r, d.length, 1.5)
