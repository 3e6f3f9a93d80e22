"""The model of a directory as Hugging Face's hub has them: config.json and safetensors.

It is read independently, as transformers' models define it, and computed by reference.py. Names
become GGUF's; values stay in their order. So llama's heads turn halves, and nothing is permuted.
"""

from __future__ import annotations

import json
import math
import pathlib

import numpy as np

import experts
import gemma
import gemma4
import gemma4_folder
import gptoss
import hf_hybrid
import hf_layouts
import hf_lfm
import hybrid
import lfm
import mla
import reference
import rope
import safetensors_io

ARCHITECTURES = {
    "LlamaForCausalLM": "llama", "MistralForCausalLM": "llama", "MixtralForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2", "Qwen3ForCausalLM": "qwen3", "Qwen3MoeForCausalLM": "qwen3moe",
    "Glm4MoeForCausalLM": "glm4moe", "DeepseekV2ForCausalLM": "deepseek2",
    "DeepseekV3ForCausalLM": "deepseek2", "Gemma3ForCausalLM": "gemma3",
    "Gemma3ForConditionalGeneration": "gemma3", "MiniMaxM2ForCausalLM": "minimax-m2",
    "GptOssForCausalLM": gptoss.ARCHITECTURE, "Glm4MoeLiteForCausalLM": "deepseek2",
    "Qwen3_5ForCausalLM": "qwen35", "Qwen3_5ForConditionalGeneration": "qwen35",
    "Qwen3_5MoeForCausalLM": "qwen35moe", "Qwen3_5MoeForConditionalGeneration": "qwen35moe",
    "Qwen3NextForCausalLM": "qwen3next",
    "Lfm2ForCausalLM": "lfm2", "Lfm2MoeForCausalLM": "lfm2moe",
    "Gemma4ForCausalLM": gemma4.ARCHITECTURE,
    "Gemma4ForConditionalGeneration": gemma4.ARCHITECTURE,
}  # fmt: skip


def _growth(factor: float, mscale: float) -> float:
    return 1 + 0.1 * mscale * math.log(factor) if factor > 1 else 1.0


class Settings:
    """config.json, including its spelling of RoPE."""

    def __init__(self, folder: pathlib.Path):
        whole = json.loads((folder / "config.json").read_text())
        self.arch = ARCHITECTURES[whole["architectures"][0]]
        of_families = {gemma.ARCHITECTURE: gemma.DEFAULTS, gptoss.ARCHITECTURE: gptoss.DEFAULTS}
        defaults = of_families.get(self.arch, {})
        self.all = {**defaults, **whole, **whole.get("text_config", {})}
        scaling = self.all.get("rope_scaling") or {}
        parameters = self.all.get("rope_parameters") or {**self.all, **scaling}
        self.turning = parameters.get("full_attention", parameters)
        self.scaling = self.turning.get("rope_type", self.turning.get("type", "default"))

    def __getitem__(self, key: str):
        return self.all[key]

    def get(self, key: str, default=None):
        return self.all.get(key, default)

    def head(self) -> int:
        return self.get("head_dim") or self["hidden_size"] // self["num_attention_heads"]

    def rope(self) -> rope.RopeConfig:
        turn, latent = self.turning, self.arch == "deepseek2"
        length = self["qk_rope_head_dim"] if latent else self.head()
        config = {
            "layout": rope.NORM if latent else rope.NEOX,
            "dimensions": self.get(
                "rotary_dim", int(length * turn.get("partial_rotary_factor", 1.0))
            ),
            "base": turn["rope_theta"],
        }
        if self.scaling in ("linear", "yarn"):
            config.update(scaling=self.scaling, factor=turn["factor"])
        if self.scaling == "yarn":
            config["original_context"] = turn["original_max_position_embeddings"]
            config.update({k: float(turn[k]) for k in ("beta_fast", "beta_slow") if k in turn})
            wanted = _growth(turn["factor"], turn.get("mscale", 1.0))
            if "mscale" in turn and "mscale_all_dim" in turn:
                wanted /= _growth(turn["factor"], turn["mscale_all_dim"])
            config["attention_factor"] = wanted / _growth(turn["factor"], 1.0)
            config["whole_pairs"] = turn.get("truncate", True)
        return rope.RopeConfig(**config)

    def routing(self) -> experts.Routing | None:
        count = self.get("num_experts", self.get("num_local_experts", self.get("n_routed_experts")))
        if count is None:
            return None
        return experts.Routing(
            count=count,
            used=self.get("top_k_experts") or self["num_experts_per_tok"],
            dense=self.get("first_k_dense_replace", self.get("num_dense_layers", 0)),
            sigmoid=self["architectures"][0].startswith(("Glm4Moe", "Lfm2Moe"))
            or self.get("scoring_func") == "sigmoid",
            groups=1 if self.get("topk_method") == "greedy" else self.get("n_group", 1),
            groups_used=self.get("topk_group", 1),
            normed=self.get("norm_topk_prob", True),
            scale=self.get("routed_scaling_factor", 1.0),
            of_chosen=self.arch == gptoss.ARCHITECTURE,
        )

    def latent(self) -> mla.Shape | None:
        if self.arch != "deepseek2":
            return None
        nope, turned = self["qk_nope_head_dim"], self["qk_rope_head_dim"]
        grown = 1.0
        if self.scaling == "yarn":
            grown = _growth(self.turning["factor"], self.turning.get("mscale_all_dim", 0.0))
        scale = grown**2 / math.sqrt(nope + turned)
        return mla.Shape(self["kv_lora_rank"], nope, turned, self["v_head_dim"], scale)

    def gemma(self) -> gemma.Shape | None:
        if self.arch != gemma.ARCHITECTURE:
            return None
        windowed = gemma.windowed(self["num_hidden_layers"], self["sliding_window_pattern"])
        if kinds := self.get("layer_types"):
            windowed = tuple(kind == "sliding_attention" for kind in kinds)
        of_windows = self.get("rope_parameters", {}).get("sliding_attention", {})
        base = of_windows.get("rope_theta", self["rope_local_base_freq"])
        local = gemma.local_rope(self.rope(), base)
        return gemma.Shape(windowed, local, self["query_pre_attn_scalar"] ** -0.5)

    def config(self) -> reference.Config:
        return reference.Config(
            arch=self.arch,
            layers=self["num_hidden_layers"],
            heads=self["num_attention_heads"],
            kv_heads=self["num_key_value_heads"],
            key_length=self.head(),
            value_length=self.head(),
            epsilon=self.get("rms_norm_eps", self.get("norm_eps")),
            window=self.get("sliding_window") or 0,
            rope=self.rope(),
            ffn=self.get("intermediate_size", 0),
            causal=True,
            alibi=(),
            experts=self.routing(),
            mla=self.latent(),
            gemma=self.gemma(),
            hybrid=hf_hybrid.shape(self),
            gemma4=gemma4_folder.shape(self.get) if self.arch == gemma4.ARCHITECTURE else None,
            attending=hf_lfm.attending(self) if self.arch in lfm.ARCHITECTURES else (),
        )


class Weights:
    """The tensors of a directory, with FP8 and codes decoded exactly. If the language model is a
    part of a larger one, only its tensors."""

    def __init__(self, folder: pathlib.Path, quantization: dict | None):
        self.quantization = quantization or {}
        stored = safetensors_io.read_directory(folder)
        self.tensors = {
            name.removeprefix("language_model.").replace("model.language_model.", "model."): t
            for name, t in stored.items()
        }

    def __contains__(self, name: str) -> bool:
        module = name.removesuffix("weight")
        return any(n in self.tensors for n in (name, module + "qweight", name + "_packed"))

    def parts(self, name: str) -> dict[str, safetensors_io.Stored]:
        """The tensors of the Linear X.weight: those that begin with X, by the rest of their names.
        """
        module = name.removesuffix("weight")
        found = {n.removeprefix(module): t for n, t in self.tensors.items() if n.startswith(module)}
        others = [n for n in found if n.endswith("bias") or n.startswith("input_")]
        return {n: t for n, t in found.items() if n not in others}

    def blocks(self, name: str) -> np.ndarray:
        """The MXFP4 values of all experts, [experts, rows, columns]."""
        return gptoss.block_values(self.tensors, name)

    def __getitem__(self, name: str) -> np.ndarray:
        if self.quantization.get("quant_method", "fp8") != "fp8" and name.endswith(".weight"):
            found = self.parts(name)
            if len(found) > 1:
                return hf_layouts.values(found, self.quantization)
        values = self.tensors[name].values()
        if self.tensors[name].type == safetensors_io.F8:
            scales = self.tensors[name + "_scale_inv"].values()
            values = values * safetensors_io.spread(scales, values.shape)
        return values


def _attention(w: Weights, there: str, config: reference.Config) -> dict[str, np.ndarray]:
    """The tensors of a layer's attention that the directory has, by GGUF's names."""
    names = {
        "attn_q": "q_proj", "attn_k": "k_proj", "attn_v": "v_proj", "attn_output": "o_proj",
        "attn_q_norm": "q_norm", "attn_k_norm": "k_norm", "attn_q_a": "q_a_proj",
        "attn_q_a_norm": "q_a_layernorm", "attn_q_b": "q_b_proj",
        "attn_kv_a_mqa": "kv_a_proj_with_mqa", "attn_kv_a_norm": "kv_a_layernorm",
    }  # fmt: skip
    out = {
        f"{here}.{end}": w[f"{there}self_attn.{name}.{end}"]
        for here, name in names.items()
        for end in ("weight", "bias")
        if f"{there}self_attn.{name}.{end}" in w
    }
    if there + "self_attn.sinks" in w:
        out["attn_sinks.weight"] = w[there + "self_attn.sinks"]
    if config.mla:
        both = w[there + "self_attn.kv_b_proj.weight"].reshape(config.heads, -1, config.mla.latent)
        keys, values = np.split(both, [config.mla.nope], axis=1)
        out["attn_k_b.weight"], out["attn_v_b.weight"] = np.swapaxes(keys, 1, 2), values
    return out


def _all_experts(w: Weights, there: str) -> dict[str, np.ndarray]:
    """The experts of gpt-oss, whose gates and ups alternate."""
    mlp = there + "mlp."
    bias = w[mlp + "experts.gate_up_proj_bias"]
    out = {f"ffn_gate_inp.{end}": w[f"{mlp}router.{end}"] for end in ("weight", "bias")}
    if mlp + "experts.down_proj" in w:  # as floats, [experts, columns, rows]
        both = np.swapaxes(w[mlp + "experts.gate_up_proj"], 1, 2)
        out["ffn_down_exps.weight"] = np.swapaxes(w[mlp + "experts.down_proj"], 1, 2)
    else:
        both = w.blocks(mlp + "experts.gate_up_proj")
        out["ffn_down_exps.weight"] = w.blocks(mlp + "experts.down_proj")
    out["ffn_down_exps.bias"] = w[mlp + "experts.down_proj_bias"]
    for first, name in enumerate(("gate", "up")):
        out[f"ffn_{name}_exps.weight"] = both[:, first::2]
        out[f"ffn_{name}_exps.bias"] = bias[:, first::2]
    return out


def _feed_forward(w: Weights, there: str, config: reference.Config, layer: int) -> dict:
    if config.arch == gptoss.ARCHITECTURE:
        return _all_experts(w, there)
    if config.hybrid and config.experts:
        return hf_hybrid.experts(w, there, config.experts.count)
    mlp, kinds = there + "mlp.", {"gate": "gate_proj", "up": "up_proj", "down": "down_proj"}
    if config.experts is None or layer < config.experts.dense:
        return {f"ffn_{k}.weight": w[f"{mlp}{name}.weight"] for k, name in kinds.items()}
    shared = kinds
    if there + "block_sparse_moe.gate.weight" in w:
        mlp, kinds = there + "block_sparse_moe.", {"gate": "w1", "up": "w3", "down": "w2"}
    out = {"ffn_gate_inp.weight": w[mlp + "gate.weight"]}
    for name in ("gate.e_score_correction_bias", "e_score_correction_bias"):
        if mlp + name in w:
            out["exp_probs_b.bias"] = w[mlp + name]
    for k, name in kinds.items():
        each = [w[f"{mlp}experts.{e}.{name}.weight"] for e in range(config.experts.count)]
        out[f"ffn_{k}_exps.weight"] = np.concatenate(each)
    for k, name in shared.items():
        if f"{mlp}shared_experts.{name}.weight" in w:
            out[f"ffn_{k}_shexp.weight"] = w[f"{mlp}shared_experts.{name}.weight"]
    return out


def _norms(w: Weights, there: str, config: reference.Config) -> dict[str, np.ndarray]:
    """The norms of a layer that have its width, by GGUF's names."""
    others = (*reference.SECOND_NORM, gemma.ARCHITECTURE, *hybrid.ARCHITECTURES)
    behind = "post_attention_norm" if config.arch in others else "ffn_norm"
    names = {"attn_norm": "input_layernorm", behind: "post_attention_layernorm"}
    if config.gemma:
        names["ffn_norm"] = "pre_feedforward_layernorm"
        names["post_ffw_norm"] = "post_feedforward_layernorm"
    return {f"{here}.weight": w[f"{there}{name}.weight"] for here, name in names.items()}


def _layer(w: Weights, there: str, config: reference.Config, i: int) -> dict[str, np.ndarray]:
    if config.hybrid and not config.hybrid.full[i]:
        attention = hf_hybrid.recurrent_layer(w, there, config.hybrid)
    else:
        attention = _attention(w, there, config)
    return {**attention, **_feed_forward(w, there, config, i), **_norms(w, there, config)}


class Model(reference.Model):
    def __init__(self, folder: pathlib.Path, noise: reference.Noise = reference.Noise()):
        settings = Settings(folder)
        w = Weights(folder, settings.get("quantization_config"))
        config = settings.config()
        if config.gemma4:
            stored = safetensors_io.read_directory(folder)
            return self.begin(config, gemma4_folder.values(stored, settings.get), noise)
        of_lfm = bool(config.attending)
        last, name = ("token_embd_norm", "embedding_norm") if of_lfm else ("output_norm", "norm")
        out = {
            "token_embd.weight": w["model.embed_tokens.weight"],
            f"{last}.weight": w[f"model.{name}.weight"],
        }
        if not settings.get("tie_embedding", settings.get("tie_word_embeddings")):
            out["output.weight"] = w["lm_head.weight"]
        if settings.scaling == "llama3":
            turn = settings.turning
            out["rope_freqs.weight"] = rope.llama3_divisors(
                settings.rope().dimensions, turn["rope_theta"], turn["factor"],
                turn["low_freq_factor"], turn["high_freq_factor"],
                turn["original_max_position_embeddings"],
            )  # fmt: skip
        for i in range(config.layers):
            there = f"model.layers.{i}."
            layer = hf_lfm.layer(w, there, settings, i) if of_lfm else _layer(w, there, config, i)
            out.update({f"blk.{i}.{name}": values for name, values in layer.items()})
        if config.hybrid:
            more, shifted = hf_hybrid.NORM_SHIFT, hf_hybrid.is_shifted
            out = {n: x + more if shifted(n) else x for n, x in out.items()}
        if config.gemma:
            more = gemma.NORM_SHIFT
            out = {n: x + more if n.endswith("norm.weight") else x for n, x in out.items()}
        self.begin(config, out, noise)
