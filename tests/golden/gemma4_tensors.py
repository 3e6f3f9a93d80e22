"""The metadata and random layer tensors of Gemma 4 that other decoders lack, under GGUF's names."""

from __future__ import annotations

import numpy as np

import draws
import expert_tensors
from gguf_io import Value, ValueType, array, f32, u32
from model_specs import Spec

# Scores have no scale, so norms of queries and keys keep them small.
HEAD_GAIN = 0.7


def _by_layer(values: tuple, kind: ValueType, spec: Spec, one) -> Value:
    """An array if layers differ, else the one value."""
    return array(kind, list(values)) if len(set(values)) > 1 else one(values[0])


def keys(spec: Spec) -> dict[str, Value]:
    g = spec.gemma4
    out = {
        "attention.head_count_kv": _by_layer(g.kv_heads, ValueType.UINT32, spec, u32),
        "feed_forward_length": _by_layer(g.ffn, ValueType.UINT32, spec, u32),
        "attention.sliding_window_pattern": array(ValueType.BOOL, list(g.windowed)),
        "attention.key_length_swa": u32(g.local_key),
        "attention.value_length_swa": u32(g.local_key),
        "rope.dimension_count": u32(spec.key),
        "rope.dimension_count_swa": u32(g.local_key),
        "attention.shared_kv_layers": u32(g.shared),
        "embedding_length_per_layer_input": u32(g.per_layer),
    }
    if g.cap is not None:
        out["final_logit_softcapping"] = f32(g.cap)
    return out


def shared_tensors(spec: Spec, r: np.random.Generator):
    """Yields (name, values) of tensors that layers share. Only the first pairs turn."""
    if spec.gemma4.turned:
        divisors = np.full(spec.key // 2, 1e30)
        divisors[: spec.gemma4.turned] = 1.0
        yield "rope_freqs.weight", divisors
    if n := spec.gemma4.per_layer:
        all_layers = n * spec.layers
        # The stream starts with unit size and is divided by the root of the width, so rows are
        # larger by that root.
        yield "per_layer_model_proj.weight", draws.matrix(
            r, spec.embedding, all_layers, np.sqrt(spec.embedding))  # fmt: skip
        yield "per_layer_proj_norm.weight", draws.norm(r, n, 1.0)
        table = r.standard_normal((spec.vocab, all_layers)) / np.sqrt(n)
        yield "per_layer_token_embd.weight", table


def _matrices(spec: Spec, layer: int, out: float) -> list[tuple[str, int, int, float]]:
    g, d = spec.gemma4, spec.embedding
    length = g.local_key if g.windowed[layer] else spec.key
    q, k, ffn = spec.heads * length, g.kv_heads[layer] * length, g.ffn[layer]
    matrices = [("attn_q", d, q, 1.0)]
    if layer < spec.layers - g.shared or g.unused_keys:
        matrices.append(("attn_k", d, k, 1.0))
        if g.windowed[layer] or not g.keys_as_values:
            matrices.append(("attn_v", d, k, 1.0))
    return matrices + [("attn_output", q, d, out), ("ffn_gate", d, ffn, 1.5),
                       ("ffn_up", d, ffn, 1.5), ("ffn_down", ffn, d, out)]  # fmt: skip


def layer(spec: Spec, r: np.random.Generator, number: int, gain: float):
    """Yields (name, values) of a layer; `gain` is that of its output."""
    g, d, prefix = spec.gemma4, spec.embedding, f"blk.{number}."
    length = g.local_key if g.windowed[number] else spec.key
    names = {"attn_norm": 1.0, "ffn_norm": 1.0, "post_attention_norm": gain, "post_ffw_norm": gain}
    if spec.experts:
        names |= {"post_ffw_norm_1": 1.0, "pre_ffw_norm_2": 1.0, "post_ffw_norm_2": 1.0}
    for name, size in names.items():
        yield f"{prefix}{name}.weight", draws.norm(r, d, size)
    yield prefix + "attn_q_norm.weight", draws.norm(r, length, HEAD_GAIN)
    matrices = _matrices(spec, number, 1.0)
    if any(name == "attn_k" for name, *_ in matrices):
        yield prefix + "attn_k_norm.weight", draws.norm(r, length, HEAD_GAIN)
    for name, n, rows, size in matrices:
        yield f"{prefix}{name}.weight", draws.matrix(r, n, rows, size)
    if n := g.per_layer:
        yield prefix + "post_norm.weight", draws.norm(r, d, gain)
        yield prefix + "inp_gate.weight", draws.matrix(r, d, n, 1.5)
        yield prefix + "proj.weight", draws.matrix(r, n, d, 1.0)
    if spec.experts:
        yield from expert_tensors.feed_forward(spec, r, prefix, 1.0)
        # Logits are divided by the root of the width.
        yield prefix + "ffn_gate_inp.scale", np.sqrt(d) * r.uniform(0.6, 1.4, d)
        yield prefix + "ffn_down_exps.scale", r.uniform(0.5, 1.5, spec.experts.count)
    if g.scaled:
        yield prefix + "layer_output_scale.weight", r.uniform(0.7, 1.3, 1)
