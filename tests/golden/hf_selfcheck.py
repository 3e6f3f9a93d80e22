#!/usr/bin/env python3
"""Tests of the directories among the golden models: safetensors to the byte, FP8's codes, and the
config.json of released models."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import struct
import tempfile
import unittest
import unittest.mock

import make_models  # first: it fixes the number of BLAS threads

import numpy as np

import hf_layouts
import hf_reference
import hf_specs
import hf_write
import rope
import safetensors_io
from e4m3 import E4M3, to_e4m3
from safetensors_io import F8, Stored


def named(name: str) -> hf_specs.Directory:
    return next(d for d in hf_specs.directories() if d.name == name)


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class SafetensorsTest(FolderTest):
    def test_bytes_of_a_file(self):
        path = self.folder / "x.safetensors"
        safetensors_io.write(path, {"w": safetensors_io.stored("F16", np.array([[1.0, -2.0]]))})
        header = b'{"__metadata__":{"format":"pt"},"w":{"dtype":"F16","shape":[1,2],'
        header += b'"data_offsets":[0,4]}}'
        header += b" " * (-len(header) % 8)
        data = b"\x00\x3c\x00\xc0"
        self.assertEqual(path.read_bytes(), struct.pack("<Q", len(header)) + header + data)

    def test_directories_come_back(self):
        r = np.random.Generator(np.random.PCG64(31))
        tensors = {
            f"t{i}": safetensors_io.stored(kind, r.standard_normal((3, i + 1)))
            for i, kind in enumerate(("F32", "F16", "BF16", "F32", "BF16"))
        }
        for shards in (1, 2, 3):
            folder = self.folder / str(shards)
            folder.mkdir()
            safetensors_io.write_directory(folder, tensors, shards)
            self.assertEqual(safetensors_io.read_directory(folder), tensors)
            files = [safetensors_io.read(f) for f in folder.glob("*.safetensors")]
            self.assertEqual(len(files), shards)
            self.assertEqual(sum(map(len, files)), len(tensors))
        index = json.loads((self.folder / "2" / safetensors_io.INDEX).read_text())
        self.assertEqual(index["weight_map"]["t1"], "model-00002-of-00002.safetensors")
        self.assertEqual(index["metadata"]["total_size"], 3 * (4 + 4 + 6 + 16 + 10))


class Fp8Test(unittest.TestCase):
    def test_known_codes(self):
        for code, value in ((0x00, 0.0), (0x01, 2.0**-9), (0x07, 7 * 2.0**-9), (0x08, 2.0**-6),
                            (0x38, 1.0), (0x3C, 1.5), (0x7E, 448.0), (0xC0, -2.0)):  # fmt: skip
            self.assertEqual(E4M3[code], value)
        self.assertEqual(np.flatnonzero(np.isnan(E4M3)).tolist(), [0x7F, 0xFF])

    def test_codes_are_the_nearest(self):
        codes = np.flatnonzero(~np.isnan(E4M3))
        np.testing.assert_array_equal(to_e4m3(E4M3[codes]), codes)
        ties = np.array([1.0625, 1.1875, -1.0625, 2.0**-10, 3 * 2.0**-10, 432.0])
        expected = [1.0, 1.25, -1.0, 0.0, 2.0**-8, 416.0 + 32.0]
        np.testing.assert_array_equal(E4M3[to_e4m3(ties)], expected)
        x = np.random.Generator(np.random.PCG64(32)).uniform(-448, 448, 300)
        finite = E4M3[codes]
        nearest = np.abs(x[:, None] - finite).min(axis=1)
        np.testing.assert_allclose(np.abs(E4M3[to_e4m3(x)] - x), nearest, atol=0)

    def test_a_scale_per_block(self):
        """The largest value of a block becomes 448 times its scale. Blocks at the edges are cut
        short."""
        x = np.random.Generator(np.random.PCG64(33)).standard_normal((130, 300))
        x[129, 299] = 100.0
        for kind, bound in (("F32", 1e-6), ("BF16", 2.0**-8)):
            codes, scales = safetensors_io.quantise_fp8(x, kind)
            self.assertEqual((codes.shape, scales.shape), ((130, 300), (2, 3)))
            back = codes.values() * safetensors_io.spread(scales.values(), x.shape)
            self.assertAlmostEqual(back[129, 299] / 100, 1, delta=bound)
            self.assertAlmostEqual(scales.values()[1, 2] * 448 / 100, 1, delta=bound)
            error = np.sqrt(np.mean((back - x)[:128, :256] ** 2))
            self.assertTrue(0.02 < error < 0.035)  # 2^-4 of a value at most, on average 2.6 %


class LayoutTest(FolderTest):
    def test_words(self):
        """Codes 0 to 7 in a row and in a column, and AWQ's order."""
        one = safetensors_io.stored("F16", np.ones((1, 8)))
        words = {"qweight": hf_layouts._i32(np.full((1, 8), 0x76543210)), "scales": one,
                 "qzeros": hf_layouts._i32(np.array([[0x11111110]])),
                 "g_idx": hf_layouts._i32(np.zeros(8))}  # fmt: skip
        gptq = hf_layouts.values(words, {"quant_method": "gptq"})
        np.testing.assert_array_equal(gptq[0], np.arange(8) - 1)
        np.testing.assert_array_equal(gptq[1:], np.tile(np.arange(8) - 2, (7, 1)))
        again = hf_layouts.values(words, {"quant_method": "gptq", "checkpoint_format": "gptq_v2"})
        np.testing.assert_array_equal(again, gptq + 1)
        words["qweight"] = hf_layouts._i32(np.array([[0x75316420]] * 8))
        words["qzeros"] = hf_layouts._i32(np.zeros((1, 1)))
        awq = hf_layouts.values(words, {"quant_method": "awq"})
        np.testing.assert_array_equal(awq, np.repeat(np.arange(8)[:, None], 8, axis=1))
        pairs = {"weight_packed": hf_layouts._u8(np.array([[0x21] * 16])),
                 "weight_scale": hf_layouts._u8(np.array([[128]]))}  # fmt: skip
        np.testing.assert_array_equal(hf_layouts.values(pairs, {})[0], [1.0, 2.0] * 16)

    def test_codes_are_near(self):
        """Rounding errors are about a step. With 4 bits they are spread evenly up to 1 / 14 of the
        largest of a group; with E2M1 they are at most a sixth of a value."""
        x = np.random.Generator(np.random.PCG64(34)).standard_normal((24, 192))
        for directory in (d for d in hf_specs.code_directories() if d.layout):
            layout, r = directory.layout, np.random.Generator(np.random.PCG64(35))
            parts = hf_layouts.parts(layout, x, r)
            found = {n: t for n, t in parts.items() if not n.startswith("input_")}
            back = hf_layouts.values(found, hf_layouts.config(layout, []))
            error = np.sqrt(np.mean((back - x) ** 2))
            with self.subTest(directory.name):
                low, high = (0.06, 0.13) if layout.type.endswith("4") else (0.004, 0.04)
                self.assertTrue(low < error < high, error)

    def test_a_directory_holds_what_its_layout_says(self):
        directory = next(
            d for d in hf_specs.code_directories() if d.name == "hf-llama-gptq4-order"
        )
        weights = make_models.tensors(directory.of)
        hf_write.write(directory, weights, self.folder)
        model = hf_reference.Model(self.folder)
        up = next(t for t in weights if t.name == "blk.0.ffn_up.weight")
        given = up.values().reshape(up.shape[::-1])
        far = np.abs(model.weights["blk.0.ffn_up.weight"] - given).max() / np.abs(given).max()
        self.assertTrue(0.01 < far < 0.1, far)


RELEASED = {
    "DeepSeek-V3": {
        "architectures": ["DeepseekV3ForCausalLM"], "num_hidden_layers": 61, "rms_norm_eps": 1e-6,
        "num_attention_heads": 128, "num_key_value_heads": 128, "hidden_size": 7168,
        "intermediate_size": 18432, "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "n_routed_experts": 256, "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4,
        "first_k_dense_replace": 3, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
        "scoring_func": "sigmoid", "topk_method": "noaux_tc", "rope_theta": 10000,
        "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                         "original_max_position_embeddings": 4096, "beta_fast": 32,
                         "beta_slow": 1},
    },
    "DeepSeek-V2-Lite": {
        "architectures": ["DeepseekV2ForCausalLM"], "num_hidden_layers": 27, "rms_norm_eps": 1e-6,
        "num_attention_heads": 16, "num_key_value_heads": 16, "hidden_size": 2048,
        "intermediate_size": 10944, "kv_lora_rank": 512, "q_lora_rank": None,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 64,
        "num_experts_per_tok": 6, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1,
        "norm_topk_prob": False, "routed_scaling_factor": 1.0, "scoring_func": "softmax",
        "topk_method": "greedy", "rope_theta": 10000,
        "rope_scaling": {"type": "yarn", "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
                         "original_max_position_embeddings": 4096, "beta_fast": 32,
                         "beta_slow": 1},
    },
}  # fmt: skip


class ConfigTest(FolderTest):
    def read(self, config: dict) -> tuple:
        (self.folder / "config.json").write_text(json.dumps(config))
        settings = hf_reference.Settings(self.folder)
        return settings.scaling, settings.config()

    def test_released_models(self):
        _, v3 = self.read(RELEASED["DeepSeek-V3"])
        self.assertAlmostEqual(v3.mla.scale, 0.13523378, places=7)
        self.assertAlmostEqual(rope.magnitude(v3.rope), 1.0, places=14)
        self.assertEqual((v3.rope.dimensions, v3.rope.layout), (64, rope.NORM))
        r = v3.experts
        self.assertEqual((r.count, r.used, r.dense, r.groups, r.groups_used), (256, 8, 3, 8, 4))
        self.assertEqual((r.sigmoid, r.normed, r.scale), (True, True, 2.5))
        _, lite = self.read(RELEASED["DeepSeek-V2-Lite"])
        self.assertAlmostEqual(lite.mla.scale, 0.11472139, places=7)
        self.assertAlmostEqual(rope.magnitude(lite.rope), 1.0, places=14)
        r = lite.experts
        self.assertEqual((r.groups, r.sigmoid, r.normed, r.dense), (1, False, False, 1))

    def test_cosines_grow_by_the_ratio_of_both(self):
        config = json.loads(json.dumps(RELEASED["DeepSeek-V3"]))
        config["rope_scaling"].update(mscale=1.0, mscale_all_dim=0.5)
        grown = self.read(config)[1]
        log = 0.1 * math.log(40)
        self.assertAlmostEqual(rope.magnitude(grown.rope), (1 + log) / (1 + log / 2), places=14)
        self.assertAlmostEqual(grown.mla.scale * math.sqrt(192), (1 + log / 2) ** 2, places=14)
        for name in ("mscale", "mscale_all_dim"):
            del config["rope_scaling"][name]
        plain = self.read(config)[1]
        self.assertAlmostEqual(rope.magnitude(plain.rope), 1 + log, places=14)
        self.assertAlmostEqual(plain.mla.scale, 192**-0.5, places=14)

    def test_both_forms_say_the_same(self):
        for directory in hf_specs.directories():
            read = [
                self.read(hf_write.config_json(dataclasses.replace(directory, form=form)))
                for form in (hf_specs.ROPE_SCALING, hf_specs.ROPE_PARAMETERS)
            ]
            with self.subTest(directory.name):
                self.assertEqual(*read)


class DirectoryTest(FolderTest):
    def test_twins_give_the_same_logits(self):
        """A directory gives its twin's logits, although llama's heads have another order there."""
        for name in ("hf-llama-f32-linear", "hf-mixtral-f32", "hf-glm4moe-f32",
                     "hf-deepseek2-f32-v2"):  # fmt: skip
            directory = named(name)
            entry = make_models.make(directory.of, self.folder)
            again = make_models.make_directory(directory, self.folder, entry)
            self.assertEqual(again["noise"], entry["noise"])
        directory = named("hf-llama-f32-linear")
        entry = make_models.make(directory.of, self.folder)
        with unittest.mock.patch.object(hf_write, "_to_halves", lambda x, _: x):
            with self.assertRaises(ValueError):
                make_models.make_directory(directory, self.folder, entry)

    def test_fp8_is_decoded_exactly(self):
        directory = named("hf-llama-fp8")
        hf_write.write(directory, make_models.tensors(directory.of), self.folder)
        stored = safetensors_io.read_directory(self.folder)
        name = "model.layers.1.self_attn.q_proj.weight"
        self.assertEqual((stored[name].type, stored[name].shape), (F8, (240, 160)))
        self.assertEqual(stored[name + "_scale_inv"].shape, (2, 2))
        self.assertEqual(stored["lm_head.weight"].type, "BF16")
        value = hf_reference.Model(self.folder).weights["blk.1.attn_q.weight"][200, 150]
        code = stored[name].data[200 * 160 + 150]
        scale = np.frombuffer(stored[name + "_scale_inv"].data, "<f4")[3]
        self.assertEqual(value, E4M3[code] * np.float64(scale))

    def test_some_modules_are_not_converted(self):
        directory = named("hf-qwen3moe-fp8")
        stored = hf_write._stored(directory, make_models.tensors(directory.of))
        left = hf_write.config_json(directory)["quantization_config"]["modules_to_not_convert"]
        for name, tensor in stored.items():
            if name.removesuffix(".weight") in left:
                self.assertEqual(tensor.type, "BF16", name)
            self.assertEqual(tensor.type == F8, name + "_scale_inv" in stored, name)
        self.assertIn("model.layers.1.mlp.experts.3.down_proj.weight", stored)

    def test_every_type_of_file_is_somewhere(self):
        kinds = {d.of.type.name for d in hf_specs.directories()}
        self.assertEqual(kinds, {"F32", "F16", "BF16"})
        self.assertEqual({d.fp8_scales for d in hf_specs.directories()}, {"", "F32", "BF16"})
        self.assertIsInstance(Stored(F8, (1,), b"\x38").values(), np.ndarray)


if __name__ == "__main__":
    unittest.main()
