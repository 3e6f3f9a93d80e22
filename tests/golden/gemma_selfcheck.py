#!/usr/bin/env python3
"""Tests of the reference's Gemma 3: against a forward pass in loops, and the windows, RoPE and
scale of scores that files and directories give."""

from __future__ import annotations

import cmath
import dataclasses
import json
import math
import pathlib
import tempfile
import unittest

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import elementary
import gemma
import gemma_specs
import gguf_io
import hf_reference
import hf_specs
import hf_write
import model_specs
import reference
import safetensors_io


def spec_named(name: str) -> model_specs.Spec:
    return next(s for s in gemma_specs.gemma_models() if s.name == name)


def model_of(spec: model_specs.Spec) -> reference.Model:
    tensors = {t.name: t for t in make_models.tensors(spec)}
    return reference.Model(gguf_io.Gguf(make_models.metadata(spec), tensors))


def rms(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return x * weight / math.sqrt(float(x @ x) / len(x) + make_models.EPSILON)


def turned(head: np.ndarray, position: int, base: float, factor: float) -> np.ndarray:
    """Turns values i and i + half, taken as the parts of a complex number."""
    half = len(head) // 2
    z = [complex(head[i], head[i + half]) for i in range(half)]
    z = [x * cmath.rect(1, position / factor * base ** (-i / half)) for i, x in enumerate(z)]
    return np.array([x.real for x in z] + [x.imag for x in z])


class Loops:
    """The forward pass, one position after the other, head by head, key by key."""

    def __init__(self, spec: model_specs.Spec, model: reference.Model):
        self.spec, self.w, self.period = spec, model.weights, spec.period or 6

    def rope(self, layer: int) -> tuple[float, float]:
        if self.spec.window and (layer + 1) % self.period:
            return self.spec.rope.get("freq_base_swa", 10000.0), 1.0
        return self.spec.rope["freq_base"], self.spec.rope.get("scaling.factor", 1.0)

    def heads(self, n: np.ndarray, prefix: str, name: str, position: int, layer: int):
        weight = self.w.get(f"{prefix}{name}_norm.weight")
        for head in (self.w[f"{prefix}{name}.weight"] @ n).reshape(-1, self.spec.key):
            if weight is not None:
                head = turned(rms(head, weight.reshape(-1)), position, *self.rope(layer))
            yield head

    def attention(self, x: np.ndarray, prefix: str, layer: int) -> np.ndarray:
        spec, out = self.spec, []
        n = [rms(row, self.w[prefix + "attn_norm.weight"].reshape(-1)) for row in x]
        q, k, v = ([list(self.heads(row, prefix, name, p, layer)) for p, row in enumerate(n)]
                   for name in ("attn_q", "attn_k", "attn_v"))  # fmt: skip
        for p in range(len(x)):
            windowed = spec.window and (layer + 1) % self.period
            keys = range(max(0, p - spec.window + 1) if windowed else 0, p + 1)
            heads = []
            for h in range(spec.heads):
                g = h * spec.kv_heads // spec.heads
                e = [math.exp(float(q[p][h] @ k[s][g]) / math.sqrt(spec.key)) for s in keys]
                heads.append(sum(y * v[s][g] for y, s in zip(e, keys)) / sum(e))
            out.append(self.w[prefix + "attn_output.weight"] @ np.concatenate(heads))
        return np.array(out)

    def feed_forward(self, row: np.ndarray, prefix: str) -> np.ndarray:
        n = rms(row, self.w[prefix + "ffn_norm.weight"].reshape(-1))
        gate, up = self.w[prefix + "ffn_gate.weight"] @ n, self.w[prefix + "ffn_up.weight"] @ n
        # gelu_tanh is x times the sigmoid of twice the argument of tanh.
        act = [g / (1 + math.exp(-math.sqrt(8 / math.pi) * (g + 0.044715 * g**3))) for g in gate]
        return self.w[prefix + "ffn_down.weight"] @ (np.array(act) * up)

    def logits(self, tokens: list[int]) -> np.ndarray:
        x = self.w["token_embd.weight"][tokens] * self.spec.embedding**0.5
        for layer in range(self.spec.layers):
            prefix = f"blk.{layer}."
            behind = self.w[prefix + "post_attention_norm.weight"].reshape(-1)
            x = x + [rms(row, behind) for row in self.attention(x, prefix, layer)]
            behind = self.w[prefix + "post_ffw_norm.weight"].reshape(-1)
            x = x + [rms(self.feed_forward(row, prefix), behind) for row in x]
        last = self.w["output_norm.weight"].reshape(-1)
        return np.array([self.w["token_embd.weight"] @ rms(row, last) for row in x])


class ReferenceTest(unittest.TestCase):
    def test_against_loops(self):
        for name in ("gemma3-f32", "gemma3-f32-linear", "gemma3-f32-full", "gemma3-q4_0"):
            spec = spec_named(name)
            model, tokens = model_of(spec), make_models.prompt(spec)[:40]
            with self.subTest(name):
                np.testing.assert_allclose(
                    model.logits(tokens), Loops(spec, model).logits(tokens), rtol=0, atol=1e-9
                )

    def test_gelu_by_tanh(self):
        x = np.linspace(-6, 6, 1001)
        near = elementary.gelu_tanh(x)
        np.testing.assert_allclose(near - elementary.gelu_tanh(-x), x, rtol=0, atol=1e-14)
        far = np.abs(near - elementary.gelu(x)).max()
        self.assertTrue(3e-4 < far < 5e-4)

    def test_windows_by_layer(self):
        expected = (True, True, True, True, True, False, True)
        self.assertEqual(model_of(spec_named("gemma3-f32")).config.gemma.windowed, expected)
        by_key = model_of(spec_named("gemma3-f32-linear")).config.gemma
        self.assertEqual(by_key.windowed, (True, True, False, True))
        self.assertEqual((by_key.local.base, by_key.local.scaling), (5000.0, "none"))
        without = model_of(spec_named("gemma3-f32-full")).config.gemma
        self.assertEqual(without.windowed, (False, False))

    def test_scale_of_the_largest_model(self):
        """Gemma 3 27B: 5376 wide, 32 heads of 128."""
        spec = dataclasses.replace(spec_named("gemma3-f32"), layers=62, embedding=5376, heads=32,
                                   key_length=128, value_length=128)  # fmt: skip
        file = gguf_io.Gguf(make_models.metadata(spec), {})
        self.assertAlmostEqual(reference.read_config(file).gemma.scale, 168**-0.5, places=15)
        spec = dataclasses.replace(spec, layers=48)
        file = gguf_io.Gguf(make_models.metadata(spec), {})
        self.assertAlmostEqual(reference.read_config(file).gemma.scale, 128**-0.5, places=15)


# The config.json of gemma-3-4b-it, which leaves the rest to its class.
RELEASED = {
    "architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3",
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
                    "num_hidden_layers": 34, "sliding_window": 1024,
                    "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
    "vision_config": {"hidden_size": 1152, "num_attention_heads": 16, "num_hidden_layers": 27},
}  # fmt: skip


class DirectoryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def read(self, config: dict) -> reference.Config:
        (self.folder / "config.json").write_text(json.dumps(config))
        return hf_reference.Settings(self.folder).config()

    def test_a_released_model(self):
        c = self.read(RELEASED)
        self.assertEqual((c.layers, c.heads, c.kv_heads, c.key_length), (34, 8, 4, 256))
        self.assertEqual((c.window, c.epsilon, c.gemma.scale), (1024, 1e-6, 1 / 16))
        self.assertEqual((c.rope.base, c.rope.scaling, c.rope.factor), (1e6, "linear", 8.0))
        self.assertEqual((c.gemma.local.base, c.gemma.local.scaling), (1e4, "none"))
        full = [i for i, windowed in enumerate(c.gemma.windowed) if not windowed]
        self.assertEqual(full, [5, 11, 17, 23, 29])

    def test_both_forms_say_the_same(self):
        for directory in hf_specs.gemma_directories():
            forms = (hf_specs.ROPE_SCALING, hf_specs.ROPE_PARAMETERS)
            flat = [dataclasses.replace(directory, form=f, nested=False) for f in forms]
            configs = [self.read(hf_write.config_json(d)) for d in (*flat, directory)]
            with self.subTest(directory.name):
                self.assertEqual(configs[0], configs[1])
                self.assertEqual(configs[0], configs[2])

    def test_twins_give_the_same_logits(self):
        for directory in hf_specs.gemma_directories():
            if directory.twin:
                entry = make_models.make(directory.of, self.folder)
                again = make_models.make_directory(directory, self.folder, entry)
                self.assertEqual(again["noise"], entry["noise"], directory.name)

    def test_norms_are_one_less(self):
        directory = next(d for d in hf_specs.gemma_directories() if d.nested)
        tensors = {t.name: t.values() for t in make_models.tensors(directory.of)}
        hf_write.write(directory, make_models.tensors(directory.of), self.folder)
        stored = safetensors_io.read_directory(self.folder)
        for here, there in (("blk.3.post_attention_norm", "layers.3.post_attention_layernorm"),
                            ("blk.3.ffn_norm", "layers.3.pre_feedforward_layernorm"),
                            ("blk.3.attn_k_norm", "layers.3.self_attn.k_norm"),
                            ("output_norm", "norm")):  # fmt: skip
            norm = stored[f"language_model.model.{there}.weight"]
            self.assertEqual(norm.type, "BF16")
            expected = tensors[here + ".weight"].reshape(-1) - gemma.NORM_SHIFT
            np.testing.assert_array_equal(norm.values(), expected)

    def test_the_scale_is_the_files(self):
        directory = next(d for d in hf_specs.gemma_directories() if d.of.query_scalar)
        self.assertAlmostEqual(self.read(hf_write.config_json(directory)).gemma.scale, 28**-0.5)


if __name__ == "__main__":
    unittest.main()
