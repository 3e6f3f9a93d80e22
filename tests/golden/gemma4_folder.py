"""Gemma 4 as a directory: its names of tensors and its config.json (transformers'
Gemma4TextConfig). Writes a golden model in this form, and reads it independently.

Norms hold the factor itself. The part of a head's pairs that turn is given
(rope_parameters.full_attention, "proportional"). Layers with a window have `head_dim`, others
`global_head_dim`. With use_double_wide_mlp, the last `num_kv_shared_layers` have FFNs of twice the
width. With `enable_moe_block`, experts of a layer are two tensors, one of which has gates above
ups.
"""

from __future__ import annotations

import numpy as np

import draws
import gemma4
import rope
import safetensors_io

_TOP = {
    "token_embd": "embed_tokens", "output_norm": "norm",
    "per_layer_token_embd": "embed_tokens_per_layer",
    "per_layer_model_proj": "per_layer_model_projection",
    "per_layer_proj_norm": "per_layer_projection_norm",
}  # fmt: skip
_LAYER = {
    "attn_norm": "input_layernorm", "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm", "post_ffw_norm": "post_feedforward_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "inp_gate": "per_layer_input_gate",
    "proj": "per_layer_projection", "post_norm": "post_per_layer_input_norm",
    "post_ffw_norm_1": "post_feedforward_layernorm_1",
    "pre_ffw_norm_2": "pre_feedforward_layernorm_2",
    "post_ffw_norm_2": "post_feedforward_layernorm_2", "ffn_gate_inp": "router.proj",
}  # fmt: skip
_WHOLE = {
    "layer_output_scale.weight": "layer_scalar", "ffn_gate_inp.scale": "router.scale",
    "ffn_down_exps.scale": "router.per_expert_scale",
    "ffn_down_exps.weight": "experts.down_proj",
    "ffn_gate_up_exps.weight": "experts.gate_up_proj",
}  # fmt: skip
_NESTED = "model.language_model."


def _names(layers: int):
    """Yields (GGUF's name, the directory's name without a prefix) of all possible tensors."""
    for here, there in _TOP.items():
        yield here + ".weight", there + ".weight"
    for i in range(layers):
        for here, there in _WHOLE.items():
            yield f"blk.{i}.{here}", f"layers.{i}.{there}"
        for here, there in _LAYER.items():
            yield f"blk.{i}.{here}.weight", f"layers.{i}.{there}.weight"


def weights(spec, tensors: list) -> dict:
    """A golden model's tensors under the directory's names, with their types."""
    names, values = dict(_names(spec.layers)), {}
    for t in tensors:
        values[t.name] = t.values().reshape(t.shape[::-1]), t.type
    for i in range(spec.layers if spec.experts else 0):
        (gate, kind), (up, _) = (values.pop(f"blk.{i}.ffn_{n}_exps.weight") for n in ("gate", "up"))
        values[f"blk.{i}.ffn_gate_up_exps.weight"] = np.concatenate([gate, up], axis=1), kind
    values.pop("rope_freqs.weight", None)
    return {"model." + names[name]: value for name, value in values.items()}


def beside_others(tensors: dict) -> dict:
    """The text's tensors as part of a larger model, and some of its vision and audio parts."""
    r = draws.generator("vision")
    others = {name: safetensors_io.stored("BF16", r.standard_normal(shape)) for name, shape in (
        ("model.vision_tower.encoder.layers.0.self_attn.q_proj.linear.weight", (24, 24)),
        ("model.audio_tower.output_proj.bias", (24,)),
        ("model.embed_vision.embedding_projection.weight", (24, 96)))}  # fmt: skip
    return {**{_NESTED + n.removeprefix("model."): t for n, t in tensors.items()}, **others}


def config(directory) -> dict:
    spec, g, e = directory.of, directory.of.gemma4, directory.of.experts
    kinds = {True: "sliding_attention", False: "full_attention"}
    part = 2 * g.turned / spec.key
    text = {
        "model_type": "gemma4_text", "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": spec.embedding, "intermediate_size": g.ffn[0],
        "num_hidden_layers": spec.layers, "num_attention_heads": spec.heads,
        "num_key_value_heads": g.kv_heads[g.windowed.index(True)], "head_dim": g.local_key,
        "num_global_key_value_heads": g.kv_heads[g.windowed.index(False)],
        "global_head_dim": spec.key, "attention_k_eq_v": g.keys_as_values, "rms_norm_eps": 1e-5,
        "vocab_size": spec.vocab, "vocab_size_per_layer_input": spec.vocab,
        "hidden_size_per_layer_input": g.per_layer, "num_kv_shared_layers": g.shared,
        "use_double_wide_mlp": g.ffn[-1] != g.ffn[0], "max_position_embeddings": spec.context,
        "layer_types": [kinds[w] for w in g.windowed], "sliding_window": spec.window,
        "final_logit_softcapping": g.cap, "attention_bias": False, "enable_moe_block": bool(e),
        "num_experts": e.count if e else None, "top_k_experts": e.used if e else None,
        "moe_intermediate_size": e.ffn if e else None, "tie_word_embeddings": True,
        "use_bidirectional_attention": "vision" if directory.nested and e else None,
        "rope_parameters": {
            "full_attention": {"partial_rotary_factor": part, "rope_theta": spec.rope["freq_base"],
                               "rope_type": "proportional"},
            "sliding_attention": {"rope_theta": spec.rope["freq_base_swa"],
                                  "rope_type": "default"}},
    }  # fmt: skip
    own = {"bos_token_id": 1, "eos_token_id": 2, "dtype": "float32"}
    if not directory.nested:
        return {"architectures": ["Gemma4ForCausalLM"], **own, **text}
    return {"architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", **own,
            "text_config": text, "vision_config": {"model_type": "gemma4_vision"},
            "audio_config": {"model_type": "gemma4_audio"}}  # fmt: skip


def shape(get) -> gemma4.Shape:
    """The shape given by config.json, which `get` reads."""
    turning = get("rope_parameters")
    full = rope.RopeConfig(rope.NEOX, get("global_head_dim"),
                           turning["full_attention"]["rope_theta"])  # fmt: skip
    local = rope.RopeConfig(rope.NEOX, get("head_dim"), turning["sliding_attention"]["rope_theta"])
    kv_heads = get("num_key_value_heads")
    others = get("num_global_key_value_heads") if get("attention_k_eq_v") else kv_heads
    windowed = [kind == "sliding_attention" for kind in get("layer_types")]
    layers = []
    for i, w in enumerate(windowed):
        length = get("head_dim") if w else get("global_head_dim")
        source = gemma4.source_of(i, windowed, get("num_kv_shared_layers"))
        layers.append(gemma4.Layer(kv_heads if w else others, length, length,
                                   get("sliding_window") if w else 0, local if w else full,
                                   not w, source))  # fmt: skip
    return gemma4.Shape(tuple(layers), get("final_logit_softcapping"),
                        get("hidden_size_per_layer_input"))  # fmt: skip


def values(tensors: dict[str, safetensors_io.Stored], get) -> dict[str, np.ndarray]:
    """A directory's weights by GGUF's names."""
    prefix = _NESTED if _NESTED + "norm.weight" in tensors else "model."
    out = {here: tensors[prefix + there].values()
           for here, there in _names(get("num_hidden_layers")) if prefix + there in tensors}
    pairs = get("global_head_dim") // 2
    turned = int(get("rope_parameters")["full_attention"]["partial_rotary_factor"] * pairs)
    out["rope_freqs.weight"] = np.where(np.arange(pairs) < turned, 1.0, np.inf)
    return out
