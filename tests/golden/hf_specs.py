"""The golden models that are directories, as Hugging Face's hub has them. Some are twins of GGUF
files with the same weights; others can exist only as a directory."""

from __future__ import annotations

import dataclasses

import gemma_specs
import gptoss_specs
import hybrid_specs
import mla_specs
import moe_specs
import model_specs
from hf_layouts import Layout
from model_specs import Delta, Experts, Mla, Spec

ROPE_SCALING, ROPE_PARAMETERS = "rope_scaling", "rope_parameters"  # forms of config.json


@dataclasses.dataclass(frozen=True)
class Directory:
    name: str
    of: Spec  # the model that it holds
    features: tuple[str, ...]
    twin: str = ""  # the GGUF model with the same weights
    form: str = ROPE_SCALING
    shards: int = 1
    fp8_scales: str = ""  # F32 or BF16: matrices are F8_E4M3, with scales of that type
    not_converted: tuple[str, ...] = ()  # modules that stay BF16 in an FP8 directory
    layout: Layout | None = None  # of Linears, as another quantiser stores them
    nested: bool = False  # the language model is a part of a larger one, such as a vision model
    architecture: str = ""  # its name in config.json, where several have these tensors


def _twin_of(specs: list[Spec]):
    """A function from a GGUF model's name to the directory with its weights."""
    named = {s.name: s for s in specs}

    def twin(name: str, *features: str, **more) -> Directory:
        return Directory(f"hf-{name}", named[name], features, twin=name, **more)

    return twin


def _twins() -> list[Directory]:
    twin = _twin_of(model_specs.specs() + moe_specs.moe_models() + mla_specs.mla_models())
    return [
        twin("llama-bf16-llama3", "llama3 as rope_parameters", "three files", "F32 vectors",
             form=ROPE_PARAMETERS, shards=3),
        twin("llama-f32-llama3", "llama3 as rope_scaling", "tied"),
        twin("llama-f32-linear", "linear as rope_scaling", "tied"),
        twin("llama-f16-bias", "attention_bias", "no rope_scaling"),
        twin("mistral-f32-window", "sliding window"),
        twin("qwen2-f32", "qkv bias", "tied"),
        twin("qwen2-f16-yarn", "qkv bias", "yarn as rope_parameters", form=ROPE_PARAMETERS),
        twin("qwen3-bf16", "qk norm", "head_dim 40", "tied", form=ROPE_PARAMETERS),
        twin("qwen3-f32", "qk norm", "head_dim 80"),
        twin("qwen3moe-f32", "7 experts"),
        twin("qwen3moe-bf16", "two files", form=ROPE_PARAMETERS, shards=2),
        twin("mixtral-f32", "8 experts"),
        twin("mixtral-bf16", "7 experts"),
        twin("glm4moe-f32", "qkv bias", "partial_rotary_factor", "a layer for further tokens"),
        twin("glm4moe-bf16", "qkv bias", "qk norm", "a layer for further tokens",
             form=ROPE_PARAMETERS),
        twin("minimax-f32", "rotary_dim", "norms of rows"),
        twin("minimax-bf16", "norms of rows", form=ROPE_PARAMETERS),
        twin("deepseek2-f32-v2", "group_limited_greedy", form=ROPE_PARAMETERS),
        twin("deepseek2-f16", "one group", "the GGUF file has gate and up in one"),
        twin("deepseek2-bf16", "noaux_tc", "two files", shards=2),
        twin("deepseek2-bf16-lite", "greedy", "no q-LoRA"),
    ]


def _fp8_models() -> list[Directory]:
    """Models with widths over 128 that are not multiples of it, and heads that straddle blocks of
    scales."""
    llama = Spec("hf-llama-fp8", "llama", (), 160, 5, 1, 200, 301, 50, key_length=48,
                 value_length=48)
    qwen3 = Spec("hf-qwen3-fp8", "qwen3", (), 136, 6, 2, 264, 301, 50, key_length=40,
                 value_length=40, tied=True)
    qwen3moe = Spec("hf-qwen3moe-fp8", "qwen3moe", (), 192, 5, 5, 100, 263, 24, key_length=32,
                    value_length=32, experts=Experts(5, 2, 144))
    deepseek = Spec("hf-deepseek3-fp8", "deepseek2", (), 160, 5, 1, 200, 263, 24, layers=3,
                    mla=Mla(144, 40, 16, 24, query=136), rope=mla_specs.yarn(4.0, 512, 0.1),
                    experts=mla_specs.v3(6, 2, 136, groups=3, groups_used=2))
    dense = Spec("hf-deepseek3-fp8-dense", "deepseek2", (), 144, 6, 1, 200, 263, 24, layers=3,
                 mla=Mla(136, 32, 16, 40, query=160), rope=mla_specs.yarn(4.0, 512, 0.1),
                 experts=mla_specs.v3(2, 2, 136, dense=3))
    return [
        Directory(llama.name, llama, ("F32 scales", "heads of 48 straddle blocks"),
                  fp8_scales="F32"),
        Directory(qwen3.name, qwen3, ("BF16 scales", "modules_to_not_convert"), fp8_scales="BF16",
                  not_converted=("model.layers.0.self_attn.o_proj", "model.layers.1.mlp.up_proj")),
        Directory(qwen3moe.name, qwen3moe, ("BF16 scales", "modules_to_not_convert", "two files"),
                  fp8_scales="BF16", shards=2, form=ROPE_PARAMETERS,
                  not_converted=tuple(f"model.layers.1.mlp.experts.{e}.down_proj"
                                      for e in range(qwen3moe.experts.count))),
        Directory(deepseek.name, deepseek, ("F32 scales", "kv_b_proj", "noaux_tc"),
                  fp8_scales="F32"),
        Directory(dense.name, dense, ("BF16 scales", "no experts in any layer"),
                  fp8_scales="BF16"),
    ]


def _scaled_rows() -> list[Directory]:
    """FP8 models with a scale for each row, and with one for a matrix."""
    llama = Spec("hf-llama-fp8-rows", "llama", (), 136, 3, 1, 152, 263, 24, key_length=40,
                 value_length=40)
    qwen3moe = Spec("hf-qwen3moe-fp8-tensor", "qwen3moe", (), 136, 3, 1, 100, 263, 24, layers=1,
                    key_length=32, value_length=32, experts=Experts(3, 2, 72))
    return [
        Directory(llama.name, llama, ("float-quantized", "BF16 scales", "two files"), shards=2,
                  layout=Layout("fp8-row", scale="BF16")),
        Directory(qwen3moe.name, qwen3moe, ("modelopt", "input_scale"),
                  layout=Layout("fp8-tensor")),
    ]


def code_directories() -> list[Directory]:
    """Linears as codes of other quantisers."""
    layouts = {
        "mxfp8": Layout("mxfp8"), "mxfp4": Layout("mxfp4"), "nvfp4": Layout("nvfp4"),
        "nvfp4-packed": Layout("nvfp4-packed"),
        "packed4": Layout("packed", group=32, scale="BF16"),
        "packed4-zeros": Layout("packed", group=64, scale="BF16", zeros=True),
        "packed4-order": Layout("packed", group=32, scale="BF16", shuffled=True),
        "packed4-orders": Layout("packed", group=32, scale="BF16", shuffled=True, own_orders=True),
        "packed8": Layout("packed", bits=8, scale="BF16"),
        "int8": Layout("int8", scale="BF16"),
        "gptq4": Layout("gptq", group=64), "gptq4-zeros": Layout("gptq", group=32, zeros=True),
        "gptq4-order": Layout("gptq", group=32, shuffled=True),
        "gptq8": Layout("gptq", bits=8, zeros=True, first_format=False),
        "awq4": Layout("awq", group=64, zeros=True),
    }  # fmt: skip
    out = []
    for name, layout in layouts.items():
        spec = Spec(f"hf-llama-{name}", "llama", (), 192, 3, 1, 320, 263, 24, layers=1,
                    key_length=64, value_length=64)
        out.append(Directory(spec.name, spec, (name, "three files"), layout=layout, shards=3))
    return out + _experts_of_codes() + _gptoss_directories()


def _experts_of_codes() -> list[Directory]:
    layouts = {"nvfp4": Layout("nvfp4"),
               "packed4": Layout("packed", group=32, scale="BF16", zeros=True),
               "gptq4-order": Layout("gptq", group=32, shuffled=True)}  # fmt: skip
    out = []
    for name, layout in layouts.items():
        spec = Spec(f"hf-qwen3moe-{name}", "qwen3moe", (), 128, 3, 1, 128, 263, 24, layers=1,
                    key_length=32, value_length=32, experts=Experts(3, 2, 64))
        out.append(Directory(spec.name, spec, (name, "3 experts"), layout=layout))
    latent = Spec("hf-deepseek3-packed4", "deepseek2", (), 96, 3, 1, 96, 263, 24, layers=2,
                  mla=Mla(64, 32, 32, 32, query=64), rope=mla_specs.yarn(4.0, 512, 0.1),
                  experts=mla_specs.v3(4, 2, 64, groups=2, groups_used=1))
    out.append(Directory(latent.name, latent, ("packed4", "kv_b_proj"),
                         layout=Layout("packed", group=32, scale="BF16")))
    return out


def _others() -> list[Directory]:
    loose = Spec("hf-qwen3moe-f32-loose", "qwen3moe", (), 72, 3, 1, 100, 263, 24, key_length=32,
                 value_length=32, experts=Experts(7, 2, 44, normed=False))
    yarn = Spec("hf-deepseek3-f32-yarn", "deepseek2", (), 64, 3, 1, 100, 263, 24,
                rope=mla_specs.yarn(8.0, 256, 0.0), mla=Mla(36, 20, 12, 24),
                experts=mla_specs.v3(5, 2, 44, groups=1, groups_used=1))
    lite = Spec("hf-glm4moelite-f32", "deepseek2", (), 72, 3, 1, 100, 263, 24,
                rope={"freq_base": 1e6}, mla=Mla(36, 20, 12, 24, query=28),
                experts=mla_specs.v3(7, 2, 44, groups=1, groups_used=1, scale=1.8))
    return [
        Directory(lite.name, lite, ("GLM-4.7-Flash", "sigmoid by default"),
                  architecture="Glm4MoeLiteForCausalLM"),
        Directory(loose.name, loose, ("norm_topk_prob is false",)),
        Directory(yarn.name, yarn, ("yarn without mscale: cosines grow, scores do not",)),
    ]


def directories() -> list[Directory]:
    return _twins() + _fp8_models() + _scaled_rows() + _others()


def _gptoss_directories() -> list[Directory]:
    twin = _twin_of(gptoss_specs.gptoss_models())
    return [
        twin("gpt-oss-f32", "experts in F32, columns of gates and ups in turns"),
        twin("gpt-oss-mxfp4", "gates and ups in turns", "F32 beside MXFP4"),
        twin("gpt-oss-mxfp4-bf16", "layer_types", "rope_parameters", "two files", shards=2,
             form=ROPE_PARAMETERS),
    ]


def gemma_directories() -> list[Directory]:
    twin = _twin_of(gemma_specs.gemma_models() + gemma_specs.gemma_moe_models())
    scalar = Spec("hf-gemma3-f32-scalar", "gemma3", (), 84, 3, 1, 100, 263, 40, layers=3,
                  key_length=24, value_length=24, tied=True, window=8, period=2, query_scalar=28,
                  rope={"freq_base": 1e6})
    return [
        twin("gemma3-f32", "rope_local_base_freq", "sliding_window_pattern"),
        twin("gemma3-f32-linear", "linear as rope_parameters", "layer_types",
             form=ROPE_PARAMETERS),
        twin("gemma3-bf16", "text_config", "linear as rope_scaling", "two files", nested=True,
             shards=2),
        twin("gemma4-f32", "keys as values, KV heads by kind of layer"),
        twin("gemma4-f32-e", "text_config", "two files", nested=True, shards=2),
        twin("gemma4-f32-moe", "text_config", "experts stacked, gates above ups", nested=True),
        Directory(scalar.name, scalar, ("query_pre_attn_scalar is no head's length",)),
    ]


def hybrid_directories() -> list[Directory]:
    twin = _twin_of(hybrid_specs.hybrid_models())
    fp8 = Spec("hf-qwen35-fp8", "qwen35", (), 136, 4, 1, 200, 263, 24, layers=2, key_length=40,
               value_length=40, rope={"freq_base": 1e7, "dimension_count": 20},
               delta=Delta(4, 8, 128, interval=2))
    return [
        twin("qwen35-f32", "full_attention_interval", "two value heads of a key head"),
        twin("qwen35-bf16", "text_config", "layer_types", "two files", nested=True, shards=2,
             form=ROPE_PARAMETERS),
        twin("qwen35moe-f32", "stacked experts", "three value heads of a key head",
             form=ROPE_PARAMETERS),
        twin("qwen3next-f32", "joined projections", "single experts"),
        Directory(fp8.name, fp8, ("BF16 scales", "heads of 128 columns get another order"),
                  nested=True, fp8_scales="BF16",
                  not_converted=tuple(f"model.language_model.layers.0.linear_attn.in_proj_{p}"
                                      for p in "ab")),
        twin("lfm2-f32-taps", "full_attn_idxs"),
        twin("lfm2-bf16", "layer_types", "two files", form=ROPE_PARAMETERS, shards=2),
        twin("lfm2moe-f32", "7 experts", form=ROPE_PARAMETERS),
    ]
