"""A golden model as a directory: config.json and safetensors, as transformers' models have them.

A directory differs from GGUF. Llama's queries and keys turn value i with value i + length / 2 of a
head, not with its neighbour, so their rows are in that order. Experts are modules of their own. K
and V of latent attention are one matrix, kv_b_proj, with K's rows and then V's of each head. A norm
of Gemma is one less than its factor.
"""

from __future__ import annotations

import json
import pathlib

import numpy as np

import draws
import gemma
import gemma4_folder
import gguf_io
import gptoss
import hf_hybrid
import hf_lfm
import hf_layouts
import safetensors_io
from hf_specs import ROPE_PARAMETERS, Directory
from model_specs import Spec
from quants import Type
from safetensors_io import Stored

EPSILON = 1e-5
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}

_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
_LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "attn_q_a": "self_attn.q_a_proj",
    "attn_q_a_norm": "self_attn.q_a_layernorm", "attn_q_b": "self_attn.q_b_proj",
    "attn_kv_a_mqa": "self_attn.kv_a_proj_with_mqa", "attn_kv_b": "self_attn.kv_b_proj",
    "attn_kv_a_norm": "self_attn.kv_a_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "ffn_gate_inp": "mlp.gate", "ffn_gate_shexp": "mlp.shared_experts.gate_proj",
    "ffn_up_shexp": "mlp.shared_experts.up_proj",
    "ffn_down_shexp": "mlp.shared_experts.down_proj",
    "nextn.eh_proj": "eh_proj", "nextn.enorm": "enorm", "nextn.hnorm": "hnorm",
    "nextn.embed_tokens": "embed_tokens", "nextn.shared_head_head": "shared_head.head",
    "nextn.shared_head_norm": "shared_head.norm",
}  # fmt: skip
_GEMMA = {
    **_LAYER, "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}  # fmt: skip
_GPT_OSS = {**_LAYER, "ffn_gate_inp": "mlp.router"}
_MIXTRAL = {"gate": "w1", "up": "w3", "down": "w2"}
_BLOCK_SPARSE = ("llama", "minimax-m2")  # their experts have these names


def _name(spec: Spec, name: str) -> str:
    stem, end = name.rsplit(".", 1)
    if not stem.startswith("blk."):
        return f"{_TOP[stem]}.{end}"
    _, layer, part = stem.split(".", 2)
    if part == "exp_probs_b":
        of = "block_sparse_moe" if spec.arch in _BLOCK_SPARSE else "mlp.gate"
        return f"model.layers.{layer}.{of}.e_score_correction_bias"
    if spec.arch in _BLOCK_SPARSE and part == "ffn_gate_inp":
        return f"model.layers.{layer}.block_sparse_moe.gate.{end}"
    if part == "attn_sinks":
        return f"model.layers.{layer}.self_attn.sinks"
    names = _GEMMA if spec.gemma else _GPT_OSS if spec.arch == gptoss.ARCHITECTURE else _LAYER
    return f"model.layers.{layer}.{names[part]}.{end}"


def _expert_name(spec: Spec, prefix: str, expert: int, part: str) -> str:
    layer = prefix.removeprefix("blk.").removesuffix(".")
    if spec.arch in _BLOCK_SPARSE:
        return f"model.layers.{layer}.block_sparse_moe.experts.{expert}.{_MIXTRAL[part]}.weight"
    return f"model.layers.{layer}.mlp.experts.{expert}.{part}_proj.weight"


def _to_halves(x: np.ndarray, heads: int) -> np.ndarray:
    """Moves rows of a head that turn with each other from neighbouring places to half a head apart.
    """
    parts = x.reshape(heads, -1, 2, *x.shape[1:])
    return np.swapaxes(parts, 1, 2).reshape(x.shape)


def _weights(spec: Spec, tensors: list[gguf_io.Tensor]) -> dict[str, tuple[np.ndarray, Type]]:
    """The model's tensors under the names that transformers gives them."""
    if spec.gemma4:
        return gemma4_folder.weights(spec, tensors)
    out, latents = {}, {}
    for t in tensors:
        values = t.values().reshape(t.shape[::-1])
        prefix, _, part = t.name.removesuffix(".weight").rpartition(".")
        if t.name == "rope_freqs.weight":
            continue  # config.json says how to compute it
        if part.endswith("_exps"):
            kinds = part.removeprefix("ffn_").removesuffix("_exps").split("_")
            for e, matrix in enumerate(values):
                for kind, rows in zip(kinds, np.split(matrix, len(kinds))):
                    out[_expert_name(spec, prefix + ".", e, kind)] = rows, t.type
        elif part in ("attn_k_b", "attn_v_b"):
            latents[part] = values
            if part == "attn_v_b":
                both = np.concatenate([np.swapaxes(latents["attn_k_b"], 1, 2), values], axis=1)
                name = _name(spec, f"{prefix}.attn_kv_b.weight")
                out[name] = both.reshape(-1, both.shape[2]), t.type
        else:
            if spec.arch == "llama" and ".attn_q." in t.name:
                values = _to_halves(values, spec.heads)
            if spec.arch == "llama" and ".attn_k." in t.name:
                values = _to_halves(values, spec.kv_heads)
            if spec.gemma and values.ndim == 1:
                values = values - gemma.NORM_SHIFT
            out[_name(spec, t.name)] = values, t.type
    return out


def _all_experts(spec: Spec, tensors: list[gguf_io.Tensor]) -> dict[str, tuple[np.ndarray, Type]]:
    """The experts of gpt-oss, as one tensor for all."""
    values = {t.name: (t.values().reshape(t.shape[::-1]), t.type) for t in tensors}
    out = {}
    for layer in range(spec.layers):
        here, there = f"blk.{layer}.ffn_", f"model.layers.{layer}.mlp.experts."
        for end, to in (("weight", ""), ("bias", "_bias")):
            (gate, kind), (up, _) = (values[f"{here}{n}_exps.{end}"] for n in ("gate", "up"))
            down = values[f"{here}down_exps.{end}"][0]
            both = gptoss.interleaved(gate, up)
            if end == "weight" and kind != Type.MXFP4:  # floats are transposed
                both, down = np.swapaxes(both, 1, 2), np.swapaxes(down, 1, 2)
            out[f"{there}gate_up_proj{to}"] = both, kind
            out[f"{there}down_proj{to}"] = down, kind
    return out


def _stays(name: str, shape: tuple[int, ...], directory: Directory) -> bool:
    """Whether a quantiser leaves the tensor alone: it takes only matrices of certain modules."""
    module = name.rsplit(".", 1)[0]
    apart = module.endswith(("mlp.gate", "block_sparse_moe.gate", "embed_tokens", "lm_head"))
    nested = module.replace("model.", "model.language_model.", 1) if directory.nested else module
    return len(shape) != 2 or apart or nested in directory.not_converted


def _input_of(module: str) -> str:
    """A name shared by the Linears that read the same activations."""
    layer, name = module.rsplit(".", 1)
    same = {"k_proj": "q_proj", "v_proj": "q_proj", "up_proj": "gate_proj"}
    return f"{layer}.{same.get(name, name)}"


def _stored(directory: Directory, tensors: list[gguf_io.Tensor]) -> dict[str, Stored]:
    out, spec = {}, directory.of
    if spec.delta:
        weights = hf_hybrid.weights(spec, tensors)
    elif spec.conv:
        weights = hf_lfm.weights(spec, tensors)
    elif spec.arch == gptoss.ARCHITECTURE:
        weights = _weights(spec, [t for t in tensors if "_exps." not in t.name])
        weights.update(_all_experts(spec, tensors))
    else:
        weights = _weights(spec, tensors)
    for name, (values, kind) in weights.items():
        if kind == Type.MXFP4:
            out.update({name + end: part for end, part in gptoss.blocks(values).items()})
        elif name.endswith(("e_score_correction_bias", "expert_bias")):
            out[name] = safetensors_io.stored("F32", values)
        elif directory.fp8_scales and not _stays(name, values.shape, directory):
            codes, scales = safetensors_io.quantise_fp8(values, directory.fp8_scales)
            out[name], out[name + "_scale_inv"] = codes, scales
        elif directory.layout and not _stays(name, values.shape, directory):
            module = name.removesuffix(".weight")
            drawn = module if directory.layout.own_orders else _input_of(module)
            parts = hf_layouts.parts(directory.layout, values, draws.generator(drawn, "order"))
            out.update({f"{module}.{ending}": part for ending, part in parts.items()})
        elif directory.fp8_scales or directory.layout or directory.of.twin:
            out[name] = safetensors_io.stored("BF16", values)
        else:
            out[name] = safetensors_io.stored(kind.name, values)
    return out


def _rope_scaling(directory: Directory) -> dict | None:
    spec = directory.of
    if spec.llama3_factor:
        return {"rope_type": "llama3", "factor": spec.llama3_factor, **LLAMA3}
    kind, factor = spec.rope.get("scaling.type"), spec.rope.get("scaling.factor")
    # The oldest files use this key for the type.
    name = "rope_type" if directory.form == ROPE_PARAMETERS else "type"
    if kind == "linear":
        return {name: "linear", "factor": factor}
    if kind != "yarn":
        return None
    out = {name: "yarn", "factor": factor, "beta_fast": 32, "beta_slow": 1,
           "original_max_position_embeddings": spec.rope["scaling.original_context_length"]}
    if not spec.rope.get("scaling.yarn_truncate", True):
        out["truncate"] = False
    if multiplier := spec.rope.get("scaling.yarn_log_multiplier"):
        out["mscale"] = out["mscale_all_dim"] = round(10 * multiplier, 6)
    return out


def _gemma_rope(directory: Directory) -> dict:
    """The RoPE parameters. Each kind of layer has its own base, and the scaling is for layers
    without a window."""
    spec, scaling = directory.of, None
    if "scaling.type" in spec.rope:
        scaling = {"rope_type": "linear", "factor": spec.rope["scaling.factor"]}
    base, local = spec.rope["freq_base"], spec.rope.get("freq_base_swa", gemma.LOCAL_BASE)
    if directory.form == ROPE_PARAMETERS:
        full = {"rope_theta": base, **(scaling or {"rope_type": "default"})}
        windowed = {"rope_theta": local, "rope_type": "default"}
        return {"rope_parameters": {"full_attention": full, "sliding_attention": windowed}}
    return {"rope_theta": base, "rope_local_base_freq": local, "rope_scaling": scaling}


def _rope(directory: Directory) -> dict:
    spec, scaling = directory.of, _rope_scaling(directory)
    if spec.gemma:
        return _gemma_rope(directory)
    base, partial = spec.rope.get("freq_base", 10000.0), {}
    if spec.arch == "glm4moe" or spec.delta:
        partial = {"partial_rotary_factor": spec.rope["dimension_count"] / spec.key}
    if directory.form == ROPE_PARAMETERS:
        inner = scaling or {"rope_type": "default"}
        return {"rope_parameters": {"rope_theta": base, **inner, **partial}}
    return {"rope_theta": base, "rope_scaling": scaling, **partial}


def _expert_config(spec: Spec) -> dict:
    e = spec.experts
    out = {"num_experts_per_tok": e.used}
    if spec.delta or spec.conv:
        return {}  # hf_hybrid or hf_lfm writes it
    if spec.arch == "llama":
        return {**out, "num_local_experts": e.count}
    if spec.arch == gptoss.ARCHITECTURE:
        return {**out, "num_local_experts": e.count, "swiglu_limit": gptoss.LIMIT,
                "experts_per_token": e.used, "router_aux_loss_coef": 0.9}
    if spec.arch == "minimax-m2":
        return {**out, "num_local_experts": e.count, "scoring_func": "sigmoid",
                "shared_intermediate_size": 0, "use_routing_bias": True, "use_qk_norm": True,
                "qk_norm_type": "per_layer", "attn_type_list": [1] * spec.layers,
                "rotary_dim": spec.rope["dimension_count"]}  # fmt: skip
    out["moe_intermediate_size"] = e.ffn
    if spec.arch == "qwen3moe":
        return {**out, "num_experts": e.count, "norm_topk_prob": e.normed is not False,
                "decoder_sparse_step": 1, "mlp_only_layers": []}
    out.update({
        "n_routed_experts": e.count, "n_shared_experts": e.shared, "first_k_dense_replace": e.dense,
        "norm_topk_prob": bool(e.normed), "routed_scaling_factor": e.scale,
        "n_group": e.groups or 1, "topk_group": e.groups_used or 1,
    })  # fmt: skip
    if spec.arch == "glm4moe":
        return {**out, "num_nextn_predict_layers": e.nextn}
    method = "greedy" if e.groups <= 1 else "group_limited_greedy"
    return {**out, "moe_layer_freq": 1, "scoring_func": "sigmoid" if e.sigmoid else "softmax",
            "topk_method": "noaux_tc" if e.sigmoid else method}


def _class(spec: Spec) -> tuple[str, str]:
    """The name of the architecture, and model_type."""
    if spec.arch == "llama" and spec.experts:
        return "MixtralForCausalLM", "mixtral"
    if spec.arch == "llama" and spec.window:
        return "MistralForCausalLM", "mistral"
    if spec.arch == "deepseek2" and spec.experts.sigmoid:
        return "DeepseekV3ForCausalLM", "deepseek_v3"
    return {
        "llama": ("LlamaForCausalLM", "llama"),
        "qwen2": ("Qwen2ForCausalLM", "qwen2"),
        "qwen3": ("Qwen3ForCausalLM", "qwen3"),
        "qwen3moe": ("Qwen3MoeForCausalLM", "qwen3_moe"),
        "glm4moe": ("Glm4MoeForCausalLM", "glm4_moe"),
        "deepseek2": ("DeepseekV2ForCausalLM", "deepseek_v2"),
        "gemma3": ("Gemma3ForCausalLM", "gemma3_text"),
        "minimax-m2": ("MiniMaxM2ForCausalLM", "minimax_m2"),
        gptoss.ARCHITECTURE: ("GptOssForCausalLM", "gpt_oss"),
        "lfm2": ("Lfm2ForCausalLM", "lfm2"), "lfm2moe": ("Lfm2MoeForCausalLM", "lfm2_moe"),
        "qwen35": ("Qwen3_5ForCausalLM", "qwen3_5_text"),
        "qwen35moe": ("Qwen3_5MoeForCausalLM", "qwen3_5_moe_text"),
        "qwen3next": ("Qwen3NextForCausalLM", "qwen3_next"),
    }[spec.arch]


def _gemma_config(directory: Directory) -> dict:
    spec, period = directory.of, directory.of.period or gemma.PERIOD
    kinds = {True: "sliding_attention", False: "full_attention"}
    out = {"hidden_activation": "gelu_pytorch_tanh", "sliding_window": spec.window,
           "query_pre_attn_scalar": spec.query_scalar or spec.key,
           "attn_logit_softcapping": None, "final_logit_softcapping": None}  # fmt: skip
    if directory.form == ROPE_PARAMETERS:
        return {**out, "layer_types": [kinds[w] for w in gemma.windowed(spec.layers, period)]}
    return {**out, "sliding_window_pattern": period}


def _gptoss_config(directory: Directory) -> dict:
    kept = ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens",
            "lm_head"]  # fmt: skip
    out = {"sliding_window": directory.of.window, "initial_context_length": 64}
    if directory.of.overrides:  # the experts are MXFP4
        out["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": kept}
    if directory.form == ROPE_PARAMETERS:
        kinds = ("sliding_attention", "full_attention")
        out["layer_types"] = [kinds[i % 2] for i in range(directory.of.layers)]
    return out


def _nest(config: dict) -> dict:
    """The config as part of a vision model's, without settings that equal the defaults."""
    text = {k: v for k, v in config.items() if k not in gemma.DEFAULTS or gemma.DEFAULTS[k] != v}
    del text["architectures"]
    own = {k: text.pop(k) for k in ("bos_token_id", "eos_token_id", "torch_dtype")}
    return {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", **own,
            "text_config": text, "image_token_index": 262144,
            "vision_config": {"model_type": "siglip_vision_model"}}  # fmt: skip


def _beside_others(tensors: dict[str, Stored]) -> dict[str, Stored]:
    """The language model's tensors as part of a larger model, and some of the vision part."""
    r = draws.generator("vision")
    others = {name: safetensors_io.stored("BF16", r.standard_normal(shape)) for name, shape in (
        ("multi_modal_projector.mm_input_projection_weight", (24, 96)),
        ("multi_modal_projector.mm_soft_emb_norm.weight", (24,)),
        ("vision_tower.vision_model.encoder.layers.0.self_attn.q_proj.weight", (24, 24)),
        ("vision_tower.vision_model.post_layernorm.bias", (24,)))}  # fmt: skip
    return {**{"language_model." + name: t for name, t in tensors.items()}, **others}


def _quantization_config(directory: Directory) -> dict:
    spec = directory.of
    if directory.layout:
        gates = [f"model.layers.{i}.mlp.gate" for i in range(spec.layers) if spec.experts]
        return hf_layouts.config(directory.layout, ["lm_head", *gates])
    out = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic",
           "weight_block_size": [safetensors_io.SCALE_BLOCK] * 2}  # fmt: skip
    if directory.not_converted:
        gates = [f"model.layers.{i}.mlp.gate" for i in range(spec.layers) if spec.experts]
        out["modules_to_not_convert"] = ["lm_head", *gates, *directory.not_converted]
    return out


def config_json(directory: Directory) -> dict:
    spec = directory.of
    if spec.gemma4:
        return gemma4_folder.config(directory)
    architecture, kind = _class(spec)
    architecture = directory.architecture or architecture
    scaling = _rope_scaling(directory) or {}
    original = scaling.get("original_max_position_embeddings", 0)
    context = int(scaling.get("factor", 1) * original) or spec.context
    dtype = "bfloat16" if directory.fp8_scales or directory.layout else {
        Type.F32: "float32", Type.F16: "float16", Type.BF16: "bfloat16"}[spec.type]  # fmt: skip
    out = {
        "architectures": [architecture], "model_type": kind, "hidden_act": "silu",
        "hidden_size": spec.embedding, "intermediate_size": spec.ffn,
        "num_hidden_layers": spec.layers, "num_attention_heads": spec.heads,
        "num_key_value_heads": spec.heads if spec.mla else spec.kv_heads,
        "rms_norm_eps": EPSILON, "vocab_size": spec.vocab, "max_position_embeddings": context,
        "tie_word_embeddings": spec.tied, "bos_token_id": 1, "eos_token_id": 2,
        "dtype" if directory.form == ROPE_PARAMETERS else "torch_dtype": dtype,
        **_rope(directory),
    }  # fmt: skip
    if spec.mla:
        m = spec.mla
        out.update({"kv_lora_rank": m.latent, "q_lora_rank": m.query or None,
                    "qk_nope_head_dim": m.nope, "qk_rope_head_dim": m.rope,
                    "v_head_dim": m.value})  # fmt: skip
    elif spec.key_length:
        out["head_dim"] = spec.key_length
    if spec.arch == "llama" and spec.window:
        out["sliding_window"] = spec.window
    if spec.arch == gptoss.ARCHITECTURE:
        out.update(_gptoss_config(directory))
    if spec.gemma:
        del out["hidden_act"]
        out.update(_gemma_config(directory))
    if spec.arch != "qwen2":
        out["attention_bias"] = bool(spec.biases)
    if spec.arch == "glm4moe":
        out["use_qk_norm"] = spec.head_norms
    if spec.experts:
        out.update(_expert_config(spec))
    if spec.conv:
        for key in ("rms_norm_eps", "tie_word_embeddings", "hidden_act", "attention_bias"):
            del out[key]
        out.update(hf_lfm.config(spec, EPSILON, directory.form == ROPE_PARAMETERS))
    if spec.delta:
        out.update(hf_hybrid.config(spec, directory.form == ROPE_PARAMETERS))
        if spec.arch == "qwen35moe":
            del out["intermediate_size"]
    if directory.architecture.startswith("Glm4MoeLite"):
        del out["scoring_func"], out["moe_layer_freq"]
    if directory.fp8_scales or directory.layout:
        out["quantization_config"] = _quantization_config(directory)
    if not directory.nested:
        return out
    return hf_hybrid.nest(out) if spec.delta else _nest(out)


def write(directory: Directory, tensors: list[gguf_io.Tensor], folder: pathlib.Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(config_json(directory), indent=2) + "\n"
    (folder / "config.json").write_text(text)
    stored = _stored(directory, tensors)
    if directory.nested:
        beside = hf_hybrid.beside_others if directory.of.delta else _beside_others
        beside = gemma4_folder.beside_others if directory.of.gemma4 else beside
        stored = beside(stored)
    safetensors_io.write_directory(folder, stored, directory.shards)
