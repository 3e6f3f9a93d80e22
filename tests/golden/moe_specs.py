"""The tiny models with mixtures of experts: every way of routing, odd numbers of experts, widths
that no block divides."""

from __future__ import annotations

from gemma_specs import gemma_moe_models
from gptoss_specs import gptoss_models
from model_specs import Experts, Spec
from quants import Type

# Positional numbers below are: for a Spec embedding, heads, kv_heads, ffn, vocab, tokens; for
# Experts count, used, ffn.


def _qwen3moe(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
    return Spec(name, "qwen3moe", features, *sizes,
                **{"key_length": 32, "value_length": 32, "rope": {"freq_base": 1e6}, **more})


def _qwen3_models() -> list[Spec]:
    return [
        _qwen3moe("qwen3moe-f32", ("7 experts, 3 used", "ffn of 44"), 84, 6, 3, 100, 301, 24,
                  experts=Experts(7, 3, 44)),
        _qwen3moe("qwen3moe-f32-top1", ("5 experts, 1 used", "tied", "weights normed by key"), 52,
                  3, 1, 100, 263, 24, tied=True, experts=Experts(5, 1, 36, normed=True)),
        _qwen3moe("qwen3moe-f32-ties", ("equal rows in the router", "all of an FFN's rows odd"), 76,
                  5, 5, 100, 271, 24, experts=Experts(7, 3, 37, twins=((0, 5), (1, 4), (2, 6)))),
        _qwen3moe("qwen3moe-f32-all", ("5 experts, all used", "gate and up in one"), 64, 4, 2, 100,
                  263, 24, experts=Experts(5, 5, 40, fused=True)),
        _qwen3moe("qwen3moe-f16", ("10 experts, 4 used", "gate and up in one"), 96, 6, 2, 100, 301,
                  24, type=Type.F16, experts=Experts(10, 4, 52, fused=True)),
        _qwen3moe("qwen3moe-bf16", ("7 experts, 2 used", "3 layers", "BF16 values throughout"), 96,
                  5, 5, 172, 301, 24, type=Type.BF16, layers=3, twin=True,
                  experts=Experts(7, 2, 76)),
        _qwen3moe("qwen3moe-q8_0", ("7 experts, 3 used", "ffn of 96"), 96, 6, 3, 100, 301, 24,
                  type=Type.Q8_0, experts=Experts(7, 3, 96)),
        _qwen3moe("qwen3moe-q8_0-down-f16", ("ffn of 76: down stays f16", "top-1"), 96, 6, 3, 100,
                  301, 24, type=Type.Q8_0, experts=Experts(5, 1, 76)),
        _qwen3moe("qwen3moe-q4_0", ("ffn of 224, not a multiple of 128", "gate and up in one"), 160,
                  5, 5, 100, 301, 24, type=Type.Q4_0,
                  experts=Experts(5, 2, 224, fused=True)),
        _qwen3moe("qwen3moe-q4_k_m", ("ffn of 256", "Q4_K with Q6_K"), 256, 4, 2, 100, 301, 24,
                  type=Type.Q4_K, experts=Experts(5, 2, 256),
                  overrides={"blk.0.attn_v": Type.Q6_K, "blk.0.ffn_down_exps": Type.Q6_K,
                             "token_embd": Type.Q6_K}),
        _qwen3moe("qwen3moe-ud-iq2_m", ("3 experts, 2 used", "i-quants beside K-quants"), 256, 4, 2,
                  100, 301, 24, type=Type.Q5_K, key_length=64, value_length=64,
                  experts=Experts(3, 2, 256),
                  overrides={"blk.0.ffn_gate_exps": Type.IQ2_XXS, "blk.0.ffn_up_exps": Type.IQ2_S,
                             "blk.0.ffn_down_exps": Type.IQ3_S, "blk.1.ffn_gate_exps": Type.IQ1_M,
                             "blk.1.ffn_up_exps": Type.Q2_K, "blk.1.ffn_down_exps": Type.IQ4_XS,
                             "blk.1.attn_output": Type.IQ3_XXS}),
        _qwen3moe("qwen3moe-nvfp4", ("7 experts, 3 used", "ffn of 192", "a factor per expert and "
                                     "matrix"), 128, 4, 2, 100, 301, 24, type=Type.NVFP4,
                  scaled=True, experts=Experts(7, 3, 192), tied=True,
                  overrides={"token_embd": Type.Q8_0}),
        _qwen3moe("qwen3moe-q4_k-narrow", ("ffn of 96: down falls back to Q5_0",), 256, 4, 2, 100,
                  301, 24, type=Type.Q4_K, experts=Experts(7, 3, 96)),
    ]


def _mixtral_models() -> list[Spec]:
    return [
        Spec("mixtral-f32", "llama", ("8 experts, 2 used", "mixtral"), 84, 6, 2, 60, 301, 24,
             experts=Experts(8, 2, 60)),
        Spec("mixtral-bf16", "llama", ("7 experts, 2 used", "BF16 values throughout"), 96, 4, 2, 76,
             301, 24, type=Type.BF16, twin=True, rope={"freq_base": 1e6},
             experts=Experts(7, 2, 76)),
        Spec("mixtral-q4_0", "llama", ("5 experts, 2 used", "gate and up in one"), 160, 5, 1, 96,
             301, 24, type=Type.Q4_0, experts=Experts(5, 2, 96, fused=True)),
        Spec("mixtral-q8_0-window", "llama", ("5 experts, 3 used", "sliding window 17"), 128, 4, 2,
             160, 301, 24, type=Type.Q8_0, window=17, experts=Experts(5, 3, 160)),
    ]


def _glm4moe(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
    head = more.pop("head", 32)
    rope = {"freq_base": 1e6, "dimension_count": head // 2}
    return Spec(name, "glm4moe", features, *sizes, layers=3, key_length=head, value_length=head,
                **{"rope": rope, **more})


def _glm_models() -> list[Spec]:
    biases = ("attn_q", "attn_k", "attn_v")

    def glm_experts(*sizes: int, **more) -> Experts:
        return Experts(*sizes, **{"dense": 1, "shared": 1, "sigmoid": True, "gating_key": True,
                                  "bias": 0.3, "normed": True, "scale": 2.5, "nextn": 1, **more})

    return [
        _glm4moe("glm4moe-f32", ("qkv bias", "a bias that changes the choice", "rope 12 of 24",
                                 "a layer for further tokens"), 84, 6, 2, 140, 301, 24, head=24,
                 biases=biases, experts=glm_experts(7, 3, 44)),
        _glm4moe("glm4moe-f32-qk-norm", ("qk norm", "no bias of qkv", "top-1", "weights not normed",
                                         "no further layer", "gating by default"), 72, 3, 1, 100,
                 263, 24, head_norms=True,
                 experts=glm_experts(5, 1, 36, normed=None, scale=1.5, nextn=0, gating_key=False)),
        _glm4moe("glm4moe-f16", ("no dense layer", "two shared experts", "one group by key"), 96, 4,
                 2, 100, 301, 24, type=Type.F16, biases=biases,
                 experts=glm_experts(8, 2, 52, dense=0, shared=2, groups=1, groups_used=1, nextn=0,
                                     scale=1.0)),
        _glm4moe("glm4moe-bf16", ("qkv bias", "qk norm", "BF16 values throughout"), 96, 5, 5, 172,
                 301, 24, type=Type.BF16, twin=True, biases=biases, head_norms=True,
                 experts=glm_experts(7, 2, 76)),
        _glm4moe("glm4moe-q8_0", ("qkv bias", "two dense layers"), 96, 6, 3, 160, 301, 24,
                 type=Type.Q8_0, biases=biases, experts=glm_experts(7, 3, 96, dense=2)),
        _glm4moe("glm4moe-q4_0", ("qk norm", "ffn of 76: down stays f16"), 160, 4, 2, 160, 301, 24,
                 type=Type.Q4_0, head_norms=True,
                 experts=glm_experts(5, 2, 76, shared=2)),
        _glm4moe("glm4moe-q4_k", ("qkv bias", "ffn of 256"), 256, 4, 2, 256, 301, 24,
                 type=Type.Q4_K, biases=biases,
                 experts=glm_experts(5, 2, 256, nextn=0)),
    ]


def _minimax_models() -> list[Spec]:
    def minimax(name: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
        key, routing = more.pop("key", 24), {"sigmoid": True, "gating_key": True, "bias": 0.3}
        count, used = more.pop("experts")
        return Spec(name, "minimax-m2", features, *sizes, 301, 24, key_length=key,
                    value_length=key, rope={"freq_base": 5e6, "dimension_count": key // 2},
                    experts=Experts(count, used, sizes[3], **routing), **more)

    return [
        minimax("minimax-f32", ("norms of rows", "7 experts, 3 used"), 84, 6, 3, 44,
                experts=(7, 3)),
        minimax("minimax-bf16", ("norms of rows", "BF16 values throughout"), 96, 5, 5, 76,
                experts=(7, 2), type=Type.BF16, twin=True),
        minimax("minimax-q8_0", ("norms of rows", "mqa"), 96, 7, 1, 96, key=32, experts=(5, 2),
                type=Type.Q8_0),
    ]


def moe_models() -> list[Spec]:
    others = gptoss_models() + gemma_moe_models()
    return _qwen3_models() + _mixtral_models() + _glm_models() + _minimax_models() + others
