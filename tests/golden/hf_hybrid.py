"""Qwen's hybrids as directories, written and read independently.

A directory differs from GGUF: the value heads of a key head always lie beside each other. The decay
is the logarithm A_log, which GGUF has as -e^A_log. The convolution's weights have a dimension of 1.
Norms are one less than the factor, except linear_attn.norm. Qwen3.5 has one projection for q, k, v
together, one each for the gates z, a and b, and all experts of a layer in two tensors. Qwen3-Next
has one projection with each key head's q, k, v's and z's, and one with its b's and a's.
"""

from __future__ import annotations

import numpy as np

import draws
import hybrid
import quants
import safetensors_io
from model_specs import Spec
from quants import Type

NORM_SHIFT = 1.0
APART = "qwen3next"  # its experts are separate and its projections joined
_NAMES = {
    "attn_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "ffn_gate_inp": "mlp.gate",
    "ffn_gate_shexp": "mlp.shared_expert.gate_proj", "ffn_up_shexp": "mlp.shared_expert.up_proj",
    "ffn_down_shexp": "mlp.shared_expert.down_proj",
    "ffn_gate_inp_shexp": "mlp.shared_expert_gate", "attn_qkv": "linear_attn.in_proj_qkv",
    "attn_gate": "linear_attn.in_proj_z", "ssm_alpha": "linear_attn.in_proj_a",
    "ssm_beta": "linear_attn.in_proj_b", "ssm_ba": "linear_attn.in_proj_ba",
    "ssm_conv1d": "linear_attn.conv1d", "ssm_norm": "linear_attn.norm",
    "ssm_out": "linear_attn.out_proj",
}  # fmt: skip
_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def is_shifted(name: str) -> bool:
    """Whether GGUF's tensor is the directory's plus one."""
    return name.endswith("norm.weight") and not name.endswith("ssm_norm.weight")


def _grouped(x: np.ndarray, spec: Spec) -> np.ndarray:
    """Value heads along the first axis, reordered so that those of a key head are neighbours."""
    if spec.arch not in hybrid.DEALT:
        return x
    keys, each = spec.delta.keys, spec.delta.values // spec.delta.keys
    return np.swapaxes(x.reshape(each, keys, -1, *x.shape[1:]), 0, 1).reshape(x.shape)


def _mixed(x: np.ndarray, spec: Spec) -> np.ndarray:
    at = 2 * spec.delta.keys * spec.delta.length
    return np.concatenate([x[:at], _grouped(x[at:], spec)])


def _logarithm(decay: np.ndarray, kind: Type) -> np.ndarray:
    """Values x of a type such that -e^x, rounded to F32, equals the decay."""
    first = quants.round_to(kind, np.log(-decay))
    step = np.abs(first) * (2.0**-8 if kind == Type.BF16 else 2.0**-23)
    out = np.full(decay.shape, np.nan)
    for steps in range(-4, 5):
        x = quants.round_to(kind, first + steps * step / 2)
        hits = -np.exp(x).astype(np.float32) == decay.astype(np.float32)
        out = np.where(hits, x, out)
    if np.isnan(out).any():
        raise ValueError("a decay is that of no logarithm")
    return out


def _joined(layer: dict[str, np.ndarray], spec: Spec) -> np.ndarray:
    d = spec.delta
    each, keys = d.values // d.keys, d.keys * d.length
    qkv, z = layer.pop("attn_qkv"), layer.pop("attn_gate")
    q, k, v = np.split(qkv, [keys, 2 * keys])
    parts = [x.reshape(d.keys, n * d.length, -1) for x, n in ((q, 1), (k, 1), (v, each), (z, each))]
    return np.concatenate(parts, axis=1).reshape(-1, qkv.shape[1])


def weights(spec: Spec, tensors: list) -> dict[str, tuple[np.ndarray, Type]]:
    """The weights under the directory's names, each with GGUF's type."""
    out: dict[str, tuple[np.ndarray, Type]] = {}
    joined: dict[str, dict[str, np.ndarray]] = {}
    stacks: dict[str, np.ndarray] = {}
    for t in tensors:
        x = t.values().reshape(t.shape[::-1])
        x = x - NORM_SHIFT if is_shifted(t.name) else x
        if not t.name.startswith("blk."):
            out[f"{_TOP[t.name.removesuffix('.weight')]}.weight"] = x, t.type
            continue
        _, layer, part = t.name.removesuffix(".weight").split(".", 2)
        there = f"model.layers.{layer}."
        if part == "attn_qkv" or part == "ssm_conv1d":
            x = _mixed(x, spec)
        if part in ("attn_gate", "ssm_alpha", "ssm_beta", "ssm_a", "ssm_dt.bias"):
            x = _grouped(x, spec)
        if part == "ssm_out":
            x = _grouped(x.T, spec).T
        if part == "ssm_conv1d":
            x = x[:, None]
        if part == "ffn_gate_inp_shexp":
            x = x.reshape(1, -1)
        if spec.arch == APART and part in ("attn_qkv", "attn_gate"):
            joined.setdefault(there, {})[part] = x
            if len(joined[there]) == 2:
                rows = _joined(joined[there], spec)
                out[there + "linear_attn.in_proj_qkvz.weight"] = rows, t.type
        elif part == "ssm_a":
            kind = Type.BF16 if spec.twin else Type.F32
            out[there + "linear_attn.A_log"] = _logarithm(x, kind), t.type
        elif part == "ssm_dt.bias":
            out[there + "linear_attn.dt_bias"] = x, t.type
        elif part.endswith("_exps"):
            kind = part.removeprefix("ffn_").removesuffix("_exps")
            stacks[kind] = x
            if spec.arch == APART:
                for e, matrix in enumerate(x):
                    out[f"{there}mlp.experts.{e}.{kind}_proj.weight"] = matrix, t.type
            elif kind == "down":
                out[there + "mlp.experts.down_proj"] = x, t.type
            elif kind == "up":
                both = np.concatenate([stacks["gate"], x], axis=1)
                out[there + "mlp.experts.gate_up_proj"] = both, t.type
        else:
            out[f"{there}{_NAMES[part]}.weight"] = x, t.type
    return out


def config(spec: Spec, named_kinds: bool) -> dict:
    d = spec.delta
    out = {"linear_num_key_heads": d.keys, "linear_num_value_heads": d.values,
           "linear_key_head_dim": d.length, "linear_value_head_dim": d.length,
           "linear_conv_kernel_dim": d.taps, "attn_output_gate": True}  # fmt: skip
    full = d.full or hybrid.full_layers(spec.layers, d.interval)
    if named_kinds or d.full:
        out["layer_types"] = ["full_attention" if f else "linear_attention" for f in full]
    else:
        out["full_attention_interval"] = d.interval
    if e := spec.experts:
        out |= {"num_experts": e.count, "num_experts_per_tok": e.used,
                "moe_intermediate_size": e.ffn,
                "shared_expert_intermediate_size": e.shared * e.ffn}  # fmt: skip
    if spec.arch == APART:
        out |= {"norm_topk_prob": True, "decoder_sparse_step": 1, "mlp_only_layers": []}
    return out


def nest(config: dict) -> dict:
    """The config as part of a vision model's. Keys that the outer config has are only there."""
    text = dict(config)
    kind = text.pop("architectures")[0].replace("ForCausalLM", "ForConditionalGeneration")
    own = {k: text.pop(k) for k in ("tie_word_embeddings", "quantization_config") if k in text}
    return {"architectures": [kind], "model_type": "qwen3_5", **own, "text_config": text,
            "image_token_id": 248056, "vision_config": {"model_type": "qwen3_5"}}  # fmt: skip


def beside_others(tensors: dict) -> dict:
    """The text's tensors as part of a larger model, with some of the vision part and of further
    tokens."""
    r = draws.generator("qwen vision")
    others = {name: safetensors_io.stored("BF16", r.standard_normal(shape)) for name, shape in (
        ("model.visual.blocks.0.attn.qkv.weight", (72, 24)),
        ("model.visual.merger.norm.bias", (24,)),
        ("mtp.fc.weight", (24, 48)), ("mtp.layers.0.input_layernorm.weight", (24,)))}  # fmt: skip
    named = {n.replace("model.", "model.language_model.", 1): t for n, t in tensors.items()}
    return {**named, **others}


def shape(settings) -> hybrid.Shape | None:
    if settings.arch not in hybrid.ARCHITECTURES:
        return None
    layers = settings["num_hidden_layers"]
    full = hybrid.full_layers(layers, settings.get("full_attention_interval", 4))
    if kinds := settings.get("layer_types"):
        full = tuple(kind == "full_attention" for kind in kinds)
    return hybrid.Shape(settings["linear_num_key_heads"], settings["linear_num_value_heads"],
                        settings["linear_key_head_dim"], settings["linear_conv_kernel_dim"],
                        False, full)  # fmt: skip


def _projections(w, there: str, s: hybrid.Shape) -> dict[str, np.ndarray]:
    if there + "in_proj_qkvz.weight" not in w:
        names = {"attn_qkv": "qkv", "attn_gate": "z", "ssm_alpha": "a", "ssm_beta": "b"}
        return {f"{k}.weight": w[f"{there}in_proj_{name}.weight"] for k, name in names.items()}
    each = s.values // s.keys
    of_heads = w[there + "in_proj_qkvz.weight"].reshape(s.keys, 2 + 2 * each, s.length, -1)
    q, k, v, z = np.split(of_heads, [1, 2, 2 + each], axis=1)
    width = of_heads.shape[3]
    qkv = np.concatenate([x.reshape(-1, width) for x in (q, k, v)])
    return {"attn_qkv.weight": qkv, "attn_gate.weight": z.reshape(-1, width),
            "ssm_ba.weight": w[there + "in_proj_ba.weight"]}  # fmt: skip


def recurrent_layer(w, there: str, s: hybrid.Shape) -> dict[str, np.ndarray]:
    """A layer's tensors by GGUF's names, in the directory's order."""
    there += "linear_attn."
    return {
        **_projections(w, there, s),
        "ssm_conv1d.weight": w[there + "conv1d.weight"].reshape(-1, s.taps),
        "ssm_a": -np.exp(w[there + "A_log"]),
        "ssm_dt.bias": w[there + "dt_bias"],
        "ssm_norm.weight": w[there + "norm.weight"],
        "ssm_out.weight": w[there + "out_proj.weight"],
    }


def experts(w, there: str, count: int) -> dict[str, np.ndarray]:
    mlp, kinds = there + "mlp.", ("gate", "up", "down")
    out = {"ffn_gate_inp.weight": w[mlp + "gate.weight"],
           "ffn_gate_inp_shexp.weight": w[mlp + "shared_expert_gate.weight"]}  # fmt: skip
    for kind in kinds:
        out[f"ffn_{kind}_shexp.weight"] = w[f"{mlp}shared_expert.{kind}_proj.weight"]
    if mlp + "experts.gate_up_proj" in w:
        gate, up = np.split(w[mlp + "experts.gate_up_proj"], 2, axis=1)
        stacks = {"gate": gate, "up": up, "down": w[mlp + "experts.down_proj"]}
    else:
        stacks = {k: np.stack([w[f"{mlp}experts.{e}.{k}_proj.weight"] for e in range(count)])
                  for k in kinds}  # fmt: skip
    return {**out, **{f"ffn_{k}_exps.weight": x for k, x in stacks.items()}}
