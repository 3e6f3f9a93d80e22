"""The metadata and random tensors of mixtures of experts and of latent attention, under GGUF's
names.

    ffn_gate_inp            [experts, embedding]        the router
    exp_probs_b.bias        [experts]                   added to scores for the choice alone
    ffn_{gate,up}_exps      [experts, ffn, embedding]
    ffn_down_exps           [experts, embedding, ffn]
    ffn_gate_up_exps        [experts, 2 ffn, embedding] gates above ups, in place of the two
    ffn_{gate,up,down}_exps.bias                        [experts, rows], and ffn_gate_inp.bias
    ffn_{gate,up,down}_shexp                            an expert that every token takes
    ffn_gate_inp_shexp      [embedding]                 the weights of its gate
    nextn.*                                             of layers that predict further tokens, which
                                                        come after the others and are never run

    attn_q, or attn_q_a, attn_q_a_norm and attn_q_b     of each head first the nope part, which
                                                        meets the latent, then the rope part
    attn_kv_a_mqa           [latent + rope, embedding]  attn_kv_a_norm: of the latent
    attn_k_b                [heads, latent, nope]
    attn_v_b                [heads, value, latent]
"""

from __future__ import annotations

import math

import numpy as np

import draws
from gguf_io import Value, boolean, f32, u32
from model_specs import Experts, Spec

ROUTER_GAIN = 1.5
SOFTMAX, SIGMOID, SOFTMAX_OF_CHOSEN = 1, 2, 3


def keys(spec: Spec) -> dict[str, Value]:
    e = spec.experts
    out = {"expert_count": u32(e.count), "expert_used_count": u32(e.used)}
    if spec.arch != "llama":
        out["expert_feed_forward_length"] = u32(e.ffn)
    if e.gate:
        out["expert_shared_feed_forward_length"] = u32(e.shared * e.ffn)
    elif e.shared:
        out["expert_shared_count"] = u32(e.shared)
    if e.dense:
        out["leading_dense_block_count"] = u32(e.dense)
    if e.gating_key:
        plain = SOFTMAX_OF_CHOSEN if e.of_chosen else SOFTMAX
        out["expert_gating_func"] = u32(SIGMOID if e.sigmoid else plain)
    if e.groups:
        out["expert_group_count"] = u32(e.groups)
        out["expert_group_used_count"] = u32(e.groups_used)
    if e.normed is not None:
        out["expert_weights_norm"] = boolean(e.normed)
    if e.scale:
        out["expert_weights_scale"] = f32(e.scale)
    if e.nextn:
        out["nextn_predict_layers"] = u32(e.nextn)
    return out


def latent_keys(spec: Spec) -> dict[str, Value]:
    m = spec.mla
    out = {
        "attention.head_count_kv": u32(1),
        "attention.kv_lora_rank": u32(m.latent),
        "attention.key_length": u32(m.latent + m.rope),
        "attention.value_length": u32(m.latent),
        "attention.key_length_mla": u32(m.nope + m.rope),
        "attention.value_length_mla": u32(m.value),
        "rope.dimension_count": u32(m.rope),
    }
    if m.query:
        out["attention.q_lora_rank"] = u32(m.query)
    return out


def latent_linears(spec: Spec) -> list[tuple[str, int, int, float]]:
    """(name, columns, rows, gain) of the matrices of two dimensions before the output matrix."""
    m, d = spec.mla, spec.embedding
    q = spec.heads * (m.nope + m.rope)
    queries = [("attn_q", d, q, 1.4)]
    if m.query:
        queries = [("attn_q_a", d, m.query, 1.0), ("attn_q_b", m.query, q, 1.4)]
    return queries + [("attn_kv_a_mqa", d, m.latent + m.rope, 1.4)]


def latent_tensors(spec: Spec, r: np.random.Generator, prefix: str):
    """Yields (name, values) of the other tensors: norms and the matrices after the latent."""
    m = spec.mla
    if m.query:
        yield prefix + "attn_q_a_norm.weight", draws.norm(r, m.query, 1.0)
    yield prefix + "attn_kv_a_norm.weight", draws.norm(r, m.latent, 1.0)
    keys_of_heads = _stacked(r, m.latent, m.nope, 1.4, spec.heads)
    yield prefix + "attn_k_b.weight", np.swapaxes(keys_of_heads, 1, 2)
    yield prefix + "attn_v_b.weight", _stacked(r, m.latent, m.value, 1.0, spec.heads)


def _router(r: np.random.Generator, e: Experts, d: int) -> np.ndarray:
    rows = draws.matrix(r, d, e.count, ROUTER_GAIN)
    for one, other in e.twins:
        rows[other] = rows[one]
    return rows


def _stacked(r: np.random.Generator, n: int, rows: int, gain: float, count: int) -> np.ndarray:
    return np.stack([draws.matrix(r, n, rows, gain) for _ in range(count)])


def feed_forward(spec: Spec, r: np.random.Generator, prefix: str, gain: float):
    """Yields (name, values) of a layer's experts; `gain` is that of their output."""
    e, d = spec.experts, spec.embedding
    yield prefix + "ffn_gate_inp.weight", _router(r, e, d)
    if e.bias:
        yield prefix + "exp_probs_b.bias", e.bias * r.uniform(-1, 1, e.count)
    # Models with biases have limits too, and these sizes make gates and ups reach the limits.
    size, less = (4.0, 8.0) if e.biases else (1.5, 1.0)
    gate, up = (_stacked(r, d, e.ffn, size, e.count) for _ in range(2))
    if e.fused:
        yield prefix + "ffn_gate_up_exps.weight", np.concatenate([gate, up], axis=1)
    else:
        yield prefix + "ffn_gate_exps.weight", gate
        yield prefix + "ffn_up_exps.weight", up
    gain = gain / max(1.0, e.scale) / less
    yield prefix + "ffn_down_exps.weight", _stacked(r, e.ffn, d, gain, e.count)
    if e.biases:
        yield prefix + "ffn_gate_inp.bias", 0.5 * r.standard_normal(e.count)
        for name, rows, of in (("gate", e.ffn, 1.0), ("up", e.ffn, 1.0), ("down", d, 0.3)):
            yield f"{prefix}ffn_{name}_exps.bias", of * r.standard_normal((e.count, rows))
    if e.shared:
        width = e.shared * e.ffn
        for name in ("ffn_gate_shexp", "ffn_up_shexp"):
            yield f"{prefix}{name}.weight", draws.matrix(r, d, width, 1.5)
        yield prefix + "ffn_down_shexp.weight", draws.matrix(r, width, d, gain)
    if e.gate:
        yield prefix + "ffn_gate_inp_shexp.weight", draws.matrix(r, d, 1, 1.0).reshape(-1)


def next_token_layer(spec: Spec, r: np.random.Generator, prefix: str):
    """Yields the tensors that a layer which predicts further tokens has besides a layer's usual
    ones."""
    d = spec.embedding
    yield prefix + "nextn.eh_proj.weight", draws.matrix(r, 2 * d, d, 1.0)
    for name in ("enorm", "hnorm", "shared_head_norm"):
        yield f"{prefix}nextn.{name}.weight", draws.norm(r, d, 1.0)
    yield prefix + "nextn.embed_tokens.weight", draws.matrix(r, d, spec.vocab, math.sqrt(d))
    yield prefix + "nextn.shared_head_head.weight", draws.matrix(r, d, spec.vocab, 1.0)
