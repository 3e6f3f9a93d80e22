"""LFM2 as directories, written and read independently.

config.json gives the width of an FFN without a gate. Two thirds of it are taken, rounded up to a
multiple. The convolution's weights have a dimension of 1.
"""

from __future__ import annotations

import numpy as np

from model_specs import Spec
from quants import Type

MULTIPLE = 4  # multiple of FFNs' widths in these models
_NAMES = {
    "attn_norm": "operator_norm", "ffn_norm": "ffn_norm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.out_proj", "attn_q_norm": "self_attn.q_layernorm",
    "attn_k_norm": "self_attn.k_layernorm", "shortconv.in_proj": "conv.in_proj",
    "shortconv.conv": "conv.conv", "shortconv.out_proj": "conv.out_proj",
    "ffn_gate": "feed_forward.w1", "ffn_up": "feed_forward.w3", "ffn_down": "feed_forward.w2",
    "ffn_gate_inp": "feed_forward.gate",
}  # fmt: skip
_TOP = {"token_embd": "model.embed_tokens", "token_embd_norm": "model.embedding_norm",
        "output": "lm_head"}  # fmt: skip
_EXPERTS = {"gate": "w1", "up": "w3", "down": "w2"}


def weights(spec: Spec, tensors: list) -> dict[str, tuple[np.ndarray, Type]]:
    """The weights under the directory's names, each with GGUF's type."""
    out = {}
    for t in tensors:
        x, name = t.values().reshape(t.shape[::-1]), t.name.removesuffix(".weight")
        if not name.startswith("blk."):
            out[f"{_TOP[name]}.weight"] = x, t.type
            continue
        _, layer, part = name.split(".", 2)
        there = f"model.layers.{layer}."
        if part == "exp_probs_b.bias":
            out[there + "feed_forward.expert_bias"] = x, t.type
        elif part.endswith("_exps"):
            end = _EXPERTS[part.removeprefix("ffn_").removesuffix("_exps")]
            for e, matrix in enumerate(x):
                out[f"{there}feed_forward.experts.{e}.{end}.weight"] = matrix, t.type
        else:
            x = x[:, None] if part == "shortconv.conv" else x
            out[f"{there}{_NAMES[part]}.weight"] = x, t.type
    return out


def config(spec: Spec, epsilon: float, named_kinds: bool) -> dict:
    full = spec.conv.full
    out = {"conv_L_cache": spec.conv.taps, "conv_bias": False, "norm_eps": epsilon,
           "tie_embedding": spec.tied}  # fmt: skip
    if named_kinds:
        out["layer_types"] = ["full_attention" if f else "conv" for f in full]
    else:
        out["full_attn_idxs"] = [i for i, f in enumerate(full) if f]
    if e := spec.experts:
        return out | {"num_experts": e.count, "num_experts_per_tok": e.used,
                      "moe_intermediate_size": e.ffn, "num_dense_layers": e.dense,
                      "use_expert_bias": True, "norm_topk_prob": True,
                      "routed_scaling_factor": 1.0}  # fmt: skip
    given = next(n for n in range(spec.ffn, 2 * spec.ffn) if feed_forward(n, MULTIPLE) == spec.ffn)
    return out | {"block_ff_dim": given, "block_auto_adjust_ff_dim": True,
                  "block_ffn_dim_multiplier": 1.0, "block_multiple_of": MULTIPLE}  # fmt: skip


def feed_forward(given: int, multiple: int) -> int:
    return -(-(2 * given // 3) // multiple) * multiple


def attending(settings) -> tuple[bool, ...]:
    layers = range(settings["num_hidden_layers"])
    if kinds := settings.get("layer_types"):
        return tuple(kinds[i] == "full_attention" for i in layers)
    return tuple(i in settings["full_attn_idxs"] for i in layers)


def layer(w, there: str, settings, i: int) -> dict[str, np.ndarray]:
    """A layer's tensors by GGUF's names."""
    out = {f"{k}.weight": w[f"{there}{name}.weight"] for k, name in _NAMES.items()
           if f"{there}{name}.weight" in w}  # fmt: skip
    if "shortconv.conv.weight" in out:
        out["shortconv.conv.weight"] = out["shortconv.conv.weight"][:, 0]
    if i >= settings.get("num_dense_layers", settings["num_hidden_layers"]):
        out["exp_probs_b.bias"] = w[there + "feed_forward.expert_bias"]
        for kind, end in _EXPERTS.items():
            each = [w[f"{there}feed_forward.experts.{e}.{end}.weight"]
                    for e in range(settings["num_experts"])]  # fmt: skip
            out[f"ffn_{kind}_exps.weight"] = np.stack(each)
    return out
