#!/usr/bin/env python3
"""Tests of the reference's gpt-oss: against a forward pass in loops, and numbers worked out by
hand."""

from __future__ import annotations

import cmath
import dataclasses
import math
import unittest

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import gguf_io
import gptoss
import gptoss_specs
import model_specs
import reference
import safetensors_io


def spec_named(name: str) -> model_specs.Spec:
    return next(s for s in gptoss_specs.gptoss_models() if s.name == name)


def model_of(spec: model_specs.Spec) -> reference.Model:
    tensors = {t.name: t for t in make_models.tensors(spec)}
    return reference.Model(gguf_io.Gguf(make_models.metadata(spec), tensors))


def rms(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x * weight.reshape(-1) / math.sqrt(float(x @ x) / len(x) + make_models.EPSILON)


class Loops:
    """The forward pass, one position after the other, head by head, key by key, expert by expert.
    """

    def __init__(self, spec: model_specs.Spec, model: reference.Model):
        self.spec, self.w = spec, model.weights

    def turned(self, head: np.ndarray, position: int) -> np.ndarray:
        """Turns values i and i + half, taken as the parts of a complex number, by YaRN."""
        half, turn = len(head) // 2, self.spec.rope
        base, factor = turn.get("freq_base", 10000.0), turn.get("scaling.factor", 1.0)
        out = []
        for i in range(half):
            fast = base ** (-i / half)
            share = 1.0  # of the trained frequency
            if factor != 1:
                ends = [half * math.log(turn["scaling.original_context_length"] / (2 * math.pi * n))
                        / math.log(base) for n in (32, 1)]  # fmt: skip
                if turn.get("scaling.yarn_truncate", True):
                    ends = [math.floor(ends[0]), math.ceil(ends[1])]
                low, high = max(ends[0], 0), min(ends[1], 2 * half - 1)
                share = 1 - min(max((i - low) / (high - low), 0), 1)
            angle = position * (fast * share + fast / factor * (1 - share))
            growth = 1 + 0.1 * math.log(factor)
            out.append(complex(head[i], head[i + half]) * cmath.rect(growth, angle))
        return np.array([z.real for z in out] + [z.imag for z in out])

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return self.w[name + ".weight"] @ x + self.w[name + ".bias"].reshape(-1)

    def attend(self, prefix: str, layer: int, normed: list[np.ndarray]) -> list[np.ndarray]:
        s, out = self.spec, []
        heads = {n: [self.linear(x, prefix + n).reshape(-1, s.key) for x in normed]
                 for n in ("attn_q", "attn_k", "attn_v")}  # fmt: skip
        sinks = self.w[prefix + "attn_sinks.weight"].reshape(-1)
        for p in range(len(normed)):
            first = max(0, p - s.window + 1) if layer % 2 == 0 else 0
            results = []
            for h in range(s.heads):
                g = h * s.kv_heads // s.heads
                q = self.turned(heads["attn_q"][p][h], p)
                terms = [math.exp(q @ self.turned(heads["attn_k"][j][g], j) / math.sqrt(s.key))
                         for j in range(first, p + 1)]  # fmt: skip
                total = sum(terms) + math.exp(sinks[h])
                results.append(sum(t / total * heads["attn_v"][first + i][g]
                                   for i, t in enumerate(terms)))  # fmt: skip
            out.append(self.linear(np.concatenate(results), prefix + "attn_output"))
        return out

    def experts(self, prefix: str, x: np.ndarray) -> np.ndarray:
        e = self.spec.experts
        logits = self.linear(x, prefix + "ffn_gate_inp").tolist()
        chosen = sorted(range(e.count), key=lambda i: (-logits[i], i))[: e.used]
        total, out = sum(math.exp(logits[i]) for i in chosen), 0.0
        for i in chosen:
            of = {n: (self.w[f"{prefix}ffn_{n}_exps.weight"].reshape(e.count, -1, k)[i],
                      self.w[f"{prefix}ffn_{n}_exps.bias"].reshape(e.count, -1)[i])
                  for n, k in (("gate", len(x)), ("up", len(x)), ("down", e.ffn))}  # fmt: skip
            hidden = []
            for g, u in zip(*(of[n][0] @ x + of[n][1] for n in ("gate", "up"))):
                g, u = min(g, 7.0), max(-7.0, min(u, 7.0))
                hidden.append(g / (1 + math.exp(-1.702 * g)) * (u + 1))
            y = of["down"][0] @ np.array(hidden) + of["down"][1]
            out = out + math.exp(logits[i]) / total * y
        return out

    def logits(self, tokens: list[int]) -> np.ndarray:
        stream = [self.w["token_embd.weight"][t] for t in tokens]
        for layer in range(self.spec.layers):
            prefix = f"blk.{layer}."
            normed = [rms(x, self.w[prefix + "attn_norm.weight"]) for x in stream]
            stream = [x + y for x, y in zip(stream, self.attend(prefix, layer, normed))]
            for i, x in enumerate(stream):
                n = rms(x, self.w[prefix + "post_attention_norm.weight"])
                stream[i] = x + self.experts(prefix, n)
        head = self.w.get("output.weight", self.w["token_embd.weight"])
        return np.array([head @ rms(x, self.w["output_norm.weight"]) for x in stream])


class GptOssTest(unittest.TestCase):
    def test_models_against_loops(self):
        for name in ("gpt-oss-f32", "gpt-oss-f32-top1", "gpt-oss-f32-lose", "gpt-oss-mxfp4"):
            spec = spec_named(name)
            model = model_of(spec)
            tokens = make_models.prompt(spec)[:18]
            np.testing.assert_allclose(model.logits(tokens), Loops(spec, model).logits(tokens),
                                       rtol=0, atol=1e-10)  # fmt: skip

    def test_every_part_changes_the_result(self):
        """The models reach their sinks, windows, biases and limits."""
        spec = spec_named("gpt-oss-f32")
        tokens = make_models.prompt(spec)
        exact = model_of(spec).logits(tokens)
        for part in ("attn_sinks.weight", "exps.bias", "ffn_gate_inp.bias", "attn_v.bias"):
            model = model_of(spec)
            of = -np.inf if part == "attn_sinks.weight" else 0.0
            for name in model.weights:
                if name.endswith(part):
                    model.weights[name] = np.full_like(model.weights[name], of)
            self.assertGreater(np.abs(model.logits(tokens) - exact).max(), 0.1, part)
        wide = model_of(spec)
        wide.config = dataclasses.replace(wide.config, window=1000)
        self.assertGreater(np.abs(wide.logits(tokens) - exact).max(), 0.1)
        limit = gptoss.LIMIT
        try:
            gptoss.LIMIT = 1e9
            self.assertGreater(np.abs(model_of(spec).logits(tokens) - exact).max(), 0.1)
        finally:
            gptoss.LIMIT = limit

    def test_sinks_by_hand(self):
        scores = np.log(np.array([[1.0, 2.0], [3.0, 4.0]]))
        np.testing.assert_allclose(gptoss.weights_beside(scores, math.log(5)),
                                   [[1 / 8, 2 / 8], [3 / 12, 4 / 12]], rtol=1e-14)  # fmt: skip
        np.testing.assert_allclose(gptoss.weights_beside(scores[:1], 90.0), 0, atol=1e-30)

    def test_limits_by_hand(self):
        half = 1 / (1 + math.exp(-1.702))
        gate, up = np.array([1.0, 0.0, 9.0, 1.0, 1.0]), np.array([2.0, 5.0, 0.0, 9.0, -9.0])
        top = 7 / (1 + math.exp(-1.702 * 7))
        np.testing.assert_allclose(gptoss.swiglu(gate, up),
                                   [3 * half, 0, top, 8 * half, -6 * half], rtol=1e-13)  # fmt: skip

    def test_blocks_by_hand(self):
        values = np.zeros((1, 2, 32))
        values[0, 0, :4] = [6.0, -1.5, 0.0, 0.5]
        values[0, 1, [0, 31]] = [-12.0, 4.0]
        stored = gptoss.blocks(values)
        first = np.frombuffer(stored["_blocks"].data, np.uint8).reshape(stored["_blocks"].shape)
        self.assertEqual(stored["_blocks"].shape, (1, 2, 1, 16))
        self.assertEqual(first[0, 0, 0, :2].tolist(), [0xB7, 0x10])
        self.assertEqual(list(stored["_scales"].data), [127, 128])
        by_name = {"x" + end: part for end, part in stored.items()}
        np.testing.assert_array_equal(gptoss.block_values(by_name, "x"), values)
        raw = safetensors_io.Stored("U8", (1, 1, 1, 16), bytes([0x21] + [0] * 14 + [0xF0]))
        scale = safetensors_io.Stored("U8", (1, 1, 1), bytes([126]))
        read = gptoss.block_values({"x_blocks": raw, "x_scales": scale}, "x")
        self.assertEqual(read[0, 0, [0, 1, 30, 31]].tolist(), [0.25, 0.5, 0.0, -3.0])


if __name__ == "__main__":
    unittest.main()
