"""The tiny models of gpt-oss: sinks that win, lose and share, windows shorter than a page and
across spans, one expert of seven, MXFP4 beside F32, BF16 and Q8_0."""

from __future__ import annotations

from model_specs import Experts, Spec
from quants import Type

BIASES = ("attn_q", "attn_k", "attn_v", "attn_output")
MXFP4 = {f"ffn_{part}_exps": Type.MXFP4 for part in ("gate", "up", "down")}
YARN = {"freq_base": 150000.0, "scaling.type": "yarn", "scaling.factor": 8.0,
        "scaling.original_context_length": 64}

# Positional numbers below: embedding, heads, kv_heads, ffn, vocab, tokens; then experts.


def _gptoss(name: str, features: tuple[str, ...], *sizes: int, head: int,
            experts: tuple[int, int], sinks: tuple[float, float], **more) -> Spec:
    count, used = experts
    ffn = sizes[3]
    return Spec(name, "gpt-oss", features, *sizes, key_length=head, value_length=head,
                biases=BIASES, sinks=sinks,
                experts=Experts(count, used, ffn, of_chosen=True, biases=True,
                                gating_key=more.pop("gating_key", False)),
                **{"rope": YARN, **more})


def gptoss_models() -> list[Spec]:
    whole = {**YARN, "scaling.yarn_truncate": False}
    return [
        _gptoss("gpt-oss-f32", ("7 experts, 3 used", "3 layers, window 9", "sinks share"), 84, 6, 2,
                44, 301, 40, head=24, layers=3, window=9, experts=(7, 3), sinks=(-2.0, 3.0)),
        _gptoss("gpt-oss-f32-top1", ("7 experts, 1 used", "mqa", "window 1", "sinks win", "tied",
                                     "gating by key"), 76, 7, 1, 37, 263, 24, head=20, window=1,
                experts=(7, 1), sinks=(5.0, 9.0), tied=True, gating_key=True, rope={}),
        _gptoss("gpt-oss-f32-spans", ("600 tokens, window 100", "all experts used"), 64, 3, 1, 36,
                263, 600, head=24, window=100, experts=(3, 3), sinks=(-3.0, 4.0)),
        _gptoss("gpt-oss-f32-lose", ("mha", "window of a page", "sinks lose",
                                     "yarn without rounding"), 72, 5, 5, 40, 271, 150, head=28,
                layers=3, window=64, experts=(4, 4), sinks=(-40.0, -15.0), rope=whole),
        _gptoss("gpt-oss-mxfp4", ("experts in MXFP4, F32 beside them", "yarn without rounding"),
                96, 8, 2, 64, 301, 24, head=16, layers=2, window=5, experts=(7, 2),
                sinks=(-2.0, 3.0), overrides=MXFP4, rope=whole),
        _gptoss("gpt-oss-mxfp4-bf16", ("experts in MXFP4, BF16 beside them",
                                       "yarn without rounding"), 64, 6, 3, 96, 263, 24,
                head=24, layers=2, window=7, experts=(5, 2), sinks=(0.0, 3.0), type=Type.BF16,
                overrides=MXFP4, twin=True, rope=whole),
        _gptoss("gpt-oss-mxfp4-q8_0", ("experts in MXFP4, Q8_0 beside them",), 128, 6, 3, 64, 301,
                24, head=32, layers=2, window=11, experts=(7, 3), sinks=(-1.0, 4.0),
                type=Type.Q8_0, overrides=MXFP4),
    ]
