"""The demo model in PyTorch: a small model with Qwen3's layers (Yang et al. 2025).

RMS norms, grouped-query attention with RMS-normed queries and keys and rotary positions in halves
(pair i with i + d/2), SwiGLU, the embedding as output matrix. Weights are stored [out, in] and
named as GGUF names them, so that export.py has nothing to permute.
"""

from __future__ import annotations

import dataclasses
import math

import torch
import torch.nn.functional as F


# Normed queries and keys bound a score by sqrt(head width) times both gains. With gains of 1, that
# is 5.7 for heads of 32, too little to find one word among hundreds. So the gains begin higher.
SHARPNESS = 1.5


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int
    width: int = 192
    layers: int = 4
    heads: int = 6
    kv_heads: int = 3
    head_width: int = 32
    inner: int = 384
    context: int = 512
    rope_base: float = 10000.0
    epsilon: float = 1e-6


def shapes(config: Config) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor."""
    c = config
    found: dict[str, tuple[int, ...]] = {"token_embd": (c.vocabulary, c.width)}
    for i in range(c.layers):
        found |= {
            f"blk.{i}.attn_norm": (c.width,),
            f"blk.{i}.attn_q": (c.heads * c.head_width, c.width),
            f"blk.{i}.attn_k": (c.kv_heads * c.head_width, c.width),
            f"blk.{i}.attn_v": (c.kv_heads * c.head_width, c.width),
            f"blk.{i}.attn_q_norm": (c.head_width,),
            f"blk.{i}.attn_k_norm": (c.head_width,),
            f"blk.{i}.attn_output": (c.width, c.heads * c.head_width),
            f"blk.{i}.ffn_norm": (c.width,),
            f"blk.{i}.ffn_gate": (c.inner, c.width),
            f"blk.{i}.ffn_up": (c.inner, c.width),
            f"blk.{i}.ffn_down": (c.width, c.inner),
        }
    return found | {"output_norm": (c.width,)}


def initial_weights(config: Config, seed: int) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    weights = {}
    for name, shape in shapes(config).items():
        if len(shape) == 1:
            sharp = name.endswith(("q_norm", "k_norm"))
            weights[name] = torch.full(shape, SHARPNESS if sharp else 1.0)
            continue
        spread = 0.05 if name == "token_embd" else 1 / math.sqrt(shape[1])
        if name.endswith(("attn_output", "ffn_down")):
            spread /= math.sqrt(2 * config.layers)
        weights[name] = torch.randn(shape, generator=generator) * spread
    return {name: weight.requires_grad_() for name, weight in weights.items()}


class _Normed(torch.autograd.Function):
    """x / rms(x), in as few passes over memory as its gradient allows."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, epsilon: float) -> torch.Tensor:
        size = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scale = torch.rsqrt(size.square() / x.shape[-1] + epsilon)
        out = x * scale
        ctx.save_for_backward(out, scale)
        return out

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> tuple:
        out, scale = ctx.saved_tensors
        along = (gradient * out).mean(-1, keepdim=True)
        return torch.addcmul(gradient, out, along, value=-1).mul_(scale), None


class _SwiGlu(torch.autograd.Function):
    """silu(gate) * up. PyTorch's own silu takes ten times as long in bfloat16."""

    @staticmethod
    def forward(ctx, gate_up: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(gate_up)
        gate, up = gate_up.float().chunk(2, dim=-1)
        return (torch.sigmoid(gate).mul_(gate).mul_(up)).bfloat16()

    @staticmethod
    def backward(ctx, gradient: torch.Tensor) -> torch.Tensor:
        gate, up = ctx.saved_tensors[0].float().chunk(2, dim=-1)
        gradient = gradient.float()
        sigmoid = torch.sigmoid(gate)
        silu = sigmoid * gate
        slope = torch.addcmul(silu, sigmoid, silu, value=-1).add_(sigmoid)
        slope.mul_(up).mul_(gradient)
        return torch.cat((slope, silu.mul_(gradient)), dim=-1).bfloat16()


def _rotate(x: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosines - b * sines, b * cosines + a * sines), dim=-1)


class Model:
    """Tokens [batch, length] to logits; matrix products and attention run in bfloat16."""

    def __init__(self, config: Config, weights: dict[str, torch.Tensor]):
        self.config, self.weights = config, weights

    def _normed(self, x: torch.Tensor) -> torch.Tensor:
        return _Normed.apply(x, self.config.epsilon)

    def _linear(self, x: torch.Tensor, *names: str, gain: str = "") -> torch.Tensor:
        """The product with the weights of these names. A norm's gain is multiplied into the
        weights, which are smaller than activations."""
        weight = torch.cat([self.weights[name] for name in names])
        weight = weight * self.weights[gain] if gain else weight
        return F.linear(x.bfloat16(), weight.bfloat16())

    def _attention(self, x: torch.Tensor, i: int, rope: tuple, mask: torch.Tensor) -> torch.Tensor:
        c, w, layer = self.config, self.weights, f"blk.{i}."
        batch, length, _ = x.shape
        names = [f"{layer}attn_{part}" for part in "qkv"]
        qkv = self._linear(self._normed(x), *names, gain=f"{layer}attn_norm")
        qkv = qkv.view(batch, length, -1, c.head_width).transpose(1, 2)
        q, k, v = qkv.split([c.heads, c.kv_heads, c.kv_heads], dim=1)
        q_gain = w[f"{layer}attn_q_norm"] * c.head_width**-0.5
        q = _rotate(self._normed(q.float()) * q_gain, *rope).bfloat16()
        k = _rotate(self._normed(k.float()) * w[f"{layer}attn_k_norm"], *rope).bfloat16()
        # The query heads that share a KV head are rows of one product.
        pairs, rows = batch * c.kv_heads, c.heads // c.kv_heads * length
        scores = torch.bmm(q.reshape(pairs, rows, -1), k.reshape(pairs, length, -1).transpose(1, 2))
        scores = torch.softmax(scores.view(pairs, -1, length, length).add_(mask), dim=-1)
        out = torch.bmm(scores.view(pairs, rows, length), v.reshape(pairs, length, -1))
        out = out.view(batch, c.heads, length, -1).transpose(1, 2).reshape(batch, length, -1)
        return self._linear(out, f"{layer}attn_output")

    def _ffn(self, x: torch.Tensor, i: int) -> torch.Tensor:
        names = [f"blk.{i}.ffn_gate", f"blk.{i}.ffn_up"]
        gate_up = self._linear(self._normed(x), *names, gain=f"blk.{i}.ffn_norm")
        return self._linear(_SwiGlu.apply(gate_up), f"blk.{i}.ffn_down")

    def logits(self, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Logits of only the `wanted` positions (a mask), [their number, vocabulary]."""
        c = self.config
        length = tokens.shape[1]
        turns = c.rope_base ** (-torch.arange(0, c.head_width, 2) / c.head_width)
        angles = torch.arange(length)[:, None] * turns
        rope = (angles.cos(), angles.sin())
        mask = torch.full((length, length), -torch.inf).triu(1).bfloat16()
        x = F.embedding(tokens, self.weights["token_embd"])
        for i in range(c.layers):
            x = x + self._attention(x, i, rope, mask)
            x = x + self._ffn(x, i)
        return self._linear(self._normed(x[wanted]), "token_embd", gain="output_norm")
