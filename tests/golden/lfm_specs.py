"""The tiny models of LFM2: kernels of 3, 5 and 1, widths that fill no block, experts after a dense
layer."""

from __future__ import annotations

from model_specs import Conv, Experts, Spec
from quants import Type

# Positional numbers below are: for a Spec embedding, heads, kv_heads, ffn, vocab, tokens; for
# Experts count, used, ffn.


def _lfm(name: str, arch: str, features: tuple[str, ...], *sizes: int, **more) -> Spec:
    return Spec(name, arch, features, *sizes,
                **{"layers": 3, "tied": True, "rope": {"freq_base": 1e6},
                   "conv": Conv(3, (False, True, False)), **more})  # fmt: skip


def lfm_models() -> list[Spec]:
    def mixture(*sizes: int) -> Experts:
        return Experts(*sizes, dense=1, sigmoid=True, gating_key=True, bias=0.3)

    return [
        _lfm("lfm2-f32", "lfm2", ("3 taps", "width 84"), 84, 7, 1, 140, 301, 70),
        _lfm("lfm2-f32-taps", "lfm2", ("5 taps", "attention first", "untied"), 100, 5, 5, 96, 263,
             50, tied=False, conv=Conv(5, (True, False, False))),
        _lfm("lfm2-f16-one", "lfm2", ("1 tap", "width 160"), 160, 5, 1, 100, 263, 40, layers=2,
             type=Type.F16, conv=Conv(1, (False, True))),
        _lfm("lfm2-bf16", "lfm2", ("3 taps", "BF16 values throughout"), 96, 6, 3, 172, 301, 60,
             type=Type.BF16, twin=True),
        _lfm("lfm2-q4_k_m", "lfm2", ("Q4_K with Q6_K",), 256, 4, 2, 512, 301, 40, type=Type.Q4_K,
             overrides={"ffn_down": Type.Q6_K, "token_embd": Type.Q6_K}),
        _lfm("lfm2moe-f32", "lfm2moe", ("7 experts, 2 used", "one dense layer"), 84, 6, 2, 140, 301,
             24, experts=mixture(7, 2, 44)),
        _lfm("lfm2moe-q8_0", "lfm2moe", ("5 experts, 3 used",), 96, 6, 3, 160, 301, 24,
             type=Type.Q8_0, experts=mixture(5, 3, 64)),
    ]
