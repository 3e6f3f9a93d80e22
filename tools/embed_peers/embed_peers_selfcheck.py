"""Tests of the comparison without the other engines. A made-up BERT goes through Hearth's worker,
through NumPy, and through the writer of ONNX models where that package is installed.

    python3 tools/embed_peers/embed_peers_selfcheck.py [--program hearth_embed_worker]
"""

import argparse
import importlib.util
import pathlib
import shlex
import sys
import tempfile
import unittest

import bert_file
import cases
import tables
import truth
import workers

import gguf_io  # truth makes it importable
import numpy as np
import quants

LAYERS, WIDTH, FFN, HEADS, CONTEXT, VOCABULARY = 2, 64, 96, 4, 48, 50
ECHO = """
print("ready: an echo", flush=True)
for line in __import__("sys").stdin:
    fields = line.rstrip("\\n").split("\\t")
    print("error: too many" if fields[0] == "9" else " ".join(["0.5"] * int(fields[1])), flush=True)
"""


def made_up_bert(path, kind, pooling=2):
    """Writes a file of this type. Its matrices are small, its norms near 1."""
    random = np.random.default_rng(7)
    tensors = []

    def add(name, rows, n, scale, centre=0.0, own=quants.Type.F32):
        values = centre + scale * random.standard_normal((rows, n))
        shape = (n,) if rows == 1 else (n, rows)
        tensors.append(gguf_io.Tensor(name, own, shape, quants.quantize(own, values)))

    def linear(name, rows, n):
        add(name + ".weight", rows, n, 1 / np.sqrt(n), own=kind)
        add(name + ".bias", 1, rows, 0.1)

    def norm(name):
        add(name + ".weight", 1, WIDTH, 0.1, 1.0)
        add(name + ".bias", 1, WIDTH, 0.1)

    add("token_embd.weight", VOCABULARY, WIDTH, 0.5, own=kind)
    add("position_embd.weight", CONTEXT, WIDTH, 0.5)
    add("token_types.weight", 2, WIDTH, 0.5)
    norm("token_embd_norm")
    for layer in range(LAYERS):
        prefix = f"blk.{layer}."
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            linear(prefix + name, WIDTH, WIDTH)
        norm(prefix + "attn_output_norm")
        linear(prefix + "ffn_up", FFN, WIDTH)
        linear(prefix + "ffn_down", WIDTH, FFN)
        norm(prefix + "layer_output_norm")
    numbers = {"block_count": LAYERS, "context_length": CONTEXT, "embedding_length": WIDTH,
               "feed_forward_length": FFN, "attention.head_count": HEADS, "pooling_type": pooling}
    metadata = {"general.architecture": gguf_io.string("bert")}
    metadata |= {"bert." + key: gguf_io.u32(value) for key, value in numbers.items()}
    metadata["bert.attention.layer_norm_epsilon"] = gguf_io.f32(1e-12)
    metadata["bert.attention.causal"] = gguf_io.boolean(False)
    gguf_io.write(str(path), metadata, tensors)


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bert(self, kind=quants.Type.F32, pooling=2):
        path = self.folder / "bert.gguf"
        made_up_bert(path, kind, pooling)
        return path


class BertFileTest(FolderTest):
    def test_shape_and_operations(self):
        file = bert_file.BertFile(self.bert(quants.Type.F16))
        self.assertEqual(file.shape, bert_file.Shape(LAYERS, WIDTH, FFN, HEADS, CONTEXT,
                                                     VOCABULARY, 2))
        self.assertEqual((file.type, file.pooling), ("F16", "cls"))
        # A token takes matrices of 4 * 64 * 64 + 2 * 64 * 96 weights a layer, and attention.
        self.assertEqual(file.shape.operations(1), 2 * (2 * 28672 + 4 * 64))
        self.assertEqual(file.shape.operations(3), 2 * (3 * 2 * 28672 + 9 * 4 * 64))

    def test_values_are_those_of_the_file(self):
        path = self.bert(quants.Type.Q8_0)
        file, exact = bert_file.BertFile(path), gguf_io.read(str(path)).tensors
        for name in ("token_embd.weight", "blk.1.ffn_up.weight", "blk.0.attn_q.bias"):
            wanted = exact[name].values().reshape(file.values(name).shape)
            np.testing.assert_array_equal(file.values(name), wanted.astype(np.float32))
        codes, scales = file.blocks("blk.1.ffn_up.weight")
        np.testing.assert_array_equal((codes * scales[..., None]).reshape(FFN, WIDTH),
                                      file.values("blk.1.ffn_up.weight"))
        matrix, bias = file.queries_keys_values(1)
        np.testing.assert_array_equal(matrix[WIDTH:2 * WIDTH], file.values("blk.1.attn_k.weight"))
        np.testing.assert_array_equal(bias[2 * WIDTH:], file.values("blk.1.attn_v.bias"))

    def test_others_are_refused(self):
        path = self.folder / "llama.gguf"
        gguf_io.write(str(path), {"general.architecture": gguf_io.string("llama")}, [
            gguf_io.Tensor("a", quants.Type.F32, (2,), bytes(8))])
        with self.assertRaisesRegex(ValueError, "arch llama"):
            bert_file.BertFile(path)


class CasesTest(FolderTest):
    def test_words(self):
        case = cases.Case.parse("32x75")
        self.assertEqual((case, str(case)), (cases.Case(32, 75), "32 x 75"))
        self.assertEqual(case.batches(), [1, 2, 8, 32])
        self.assertEqual(cases.Case.parse("1x5").batches(), [1])
        for word in ("32", "0x5", "3x0", "3x5x7", "axb"):
            with self.assertRaises(ValueError):
                cases.Case.parse(word)

    def test_texts_survive_a_file(self):
        file = bert_file.BertFile(self.bert())
        texts = cases.make_texts(file, [3, 1, 40])
        self.assertEqual([len(text) for text in texts], [3, 1, 40])
        self.assertLess(max(map(max, texts)), VOCABULARY)
        cases.write_texts(self.folder / "texts", texts)
        self.assertEqual(cases.read_texts(self.folder / "texts"), texts)


class WorkerTest(FolderTest):
    """Tests of Hearth's worker, where the program is given."""

    program: list[str] = []

    def test_lines(self):
        with workers.Worker([sys.executable, "-c", ECHO]) as worker:
            self.assertEqual(worker.description, "an echo")
            self.assertEqual(worker.measure(self.folder, 1, 3), [0.5, 0.5, 0.5])
            worker.wait_idle()
            self.assertGreater(worker.cpu_seconds() + 1, 0)
            with self.assertRaisesRegex(workers.WorkerError, "too many"):
                worker.measure(self.folder, 9, 1)
        with self.assertRaisesRegex(workers.WorkerError, "ended"):
            workers.Worker([sys.executable, "-c", "pass"])

    def test_hearth(self):
        if not self.program:
            self.skipTest("no --program")
        # F32 differs by a float's rounding through the layers. Q8_0 rounds activations to 8 bits
        # too.
        for kind, pooling, most in ((quants.Type.F32, 2, 1e-5), (quants.Type.F32, 1, 1e-5),
                                    (quants.Type.Q8_0, 2, 5e-2)):
            path = self.bert(kind, pooling)
            texts = cases.make_texts(bert_file.BertFile(path), [5, 48, 1, 17])
            file = self.folder / "texts"
            cases.write_texts(file, texts)
            true = truth.true_vectors(str(path), texts)
            with workers.Worker([*self.program, path, "--threads", "1"]) as worker:
                self.assertEqual(len(worker.measure(file, 2, 3)), 3)
                for batch in (1, 3, 4):
                    vectors = worker.vectors(file, batch, len(texts))
                    self.assertLess(truth.distance(vectors, true), most)
                with self.assertRaises(workers.WorkerError):
                    worker.measure(self.folder / "none", 1, 1)


class TruthTest(unittest.TestCase):
    def test_distance(self):
        true = np.array([[0.0, 2.0], [1.0, -4.0]])
        self.assertEqual(truth.distance(true, true), 0)
        moved = true + [[0.0, 0.5], [0.5, 0.0]]
        self.assertEqual(truth.distance(moved, true), 0.25)
        self.assertEqual(truth.mean_length(moved, true), 0.5)

    def test_pooled(self):
        hidden = np.array([[3.0, 4.0], [3.0, -4.0]])
        np.testing.assert_allclose(truth.pooled(hidden, "cls"), [0.6, 0.8])
        np.testing.assert_allclose(truth.pooled(hidden, "last"), [0.6, -0.8])
        np.testing.assert_allclose(truth.pooled(hidden, "mean"), [1.0, 0.0])


@unittest.skipUnless(importlib.util.find_spec("onnx"), "python3-onnx is not installed")
class OnnxWriterTest(FolderTest):
    def nodes(self, kind, source, attention="split"):
        import onnx
        import onnx_writer

        out = self.folder / "bert.onnx"
        onnx_writer.write_model(source, out, kind, attention)
        model = onnx.load(str(out))
        self.assertEqual(model.graph.output[0].name, model.graph.node[-1].output[0])
        made = {name for node in model.graph.node for name in node.output}
        known = made | {tensor.name for tensor in model.graph.initializer} | {"ids", "types", ""}
        for node in model.graph.node:
            self.assertLessEqual(set(node.input), known, node.op_type)
        return [node.op_type for node in model.graph.node], model

    def test_every_kind(self):
        path = self.bert()
        products = {"f32": ("MatMul", 6), "f16": ("MatMul", 6), "bf16": ("MatMul", 6),
                    "int8": ("DynamicQuantizeMatMul", 3)}
        for kind, (op, count) in products.items():
            ops, _ = self.nodes(kind, path)
            self.assertEqual(ops.count(op), count * LAYERS, kind)
            self.assertEqual(ops.count("SkipLayerNormalization"), 2 * LAYERS)
        ops, _ = self.nodes("int8", path, "fused")
        self.assertEqual(ops.count("QAttention"), LAYERS)
        ops, _ = self.nodes("f32", path, "fused")
        self.assertEqual((ops.count("Attention"), ops.count("MatMul")), (LAYERS, 3 * LAYERS))

    def test_weights(self):
        from onnx import numpy_helper

        path = self.bert()
        _, model = self.nodes("f32", path)
        arrays = [numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
        wanted = bert_file.BertFile(path).values("blk.1.ffn_down.weight").T
        self.assertTrue(any(a.shape == wanted.shape and (a == wanted).all() for a in arrays))

    def test_blocks(self):
        with self.assertRaisesRegex(ValueError, "not Q8_0"):
            self.nodes("q8_0", self.bert())
        ops, _ = self.nodes("q8_0", self.bert(quants.Type.Q8_0))
        self.assertEqual(ops.count("MatMulNBits"), 6 * LAYERS)


class TablesTest(unittest.TestCase):
    RESULT = {"type": "BF16", "threads": 2, "texts": 8, "tokens": 16, "operations": 5e9,
              "peaks": {"f32_fma": 10.0, "bf16_dot": 40.0, "int8_dot": 80.0},
              "stolen": 0.01, "others": 0.02, "batch": {"Hearth": 8, "llama.cpp": 2},
              "seconds": {"Hearth": [0.5, 0.25, 0.5], "llama.cpp": [1.0, 1.0, 0.75]}}

    def test_ratios_are_those_of_a_round(self):
        self.assertEqual(tables.ratios(self.RESULT, "llama.cpp"), [2, 4, 1.5])
        self.assertEqual(tables.other_cell(self.RESULT, "llama.cpp"),
                         "8 (2); **2.00**, 1.50 .. 4.00")
        self.assertEqual(tables.other_cell(self.RESULT, "none"), "-")

    def test_share_is_of_the_type_s_unit(self):
        self.assertEqual(tables.share_cell(self.RESULT), "10 of 40, 25 %")
        self.assertEqual(tables.share_cell(self.RESULT | {"type": "F16"}), "10 of 10, 100 %")
        self.assertEqual(tables.share_cell(self.RESULT | {"type": "Q8_0"}), "10 of 80, 12 %")
        self.assertEqual(tables.share_cell(self.RESULT | {"peaks": {}}), "-")

    def test_report(self):
        one = self.RESULT | {"texts": 1, "seconds": {"Hearth": [0.5, 0.5, 0.5]}}
        text = tables.report({
            "results": [self.RESULT, one], "notes": ["a note"],
            "distances": [{"type": "BF16", "engine": "Hearth", "distance": 0.00123,
                           "length": 0.0045}]})
        self.assertIn("| 2 | 8 x 16 | BF16 | 16 | 10 of 40, 25 % | 8 (2);", text)
        self.assertIn("| 2 | 1 x 16 | BF16 | 500 ms | 10 of 40, 25 % | - |", text)
        self.assertIn("| BF16 | 1.23e-03, 4.50e-03 |", text)
        self.assertIn("1.0 % at most was stolen, 2.0 % others'", text)
        self.assertTrue(text.endswith("- a note"))


def main():
    parser = argparse.ArgumentParser(description="Tests of the comparing.")
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--emulator", default="", help="runs the program, such as qemu-aarch64")
    options, rest = parser.parse_known_args()
    if options.program:
        WorkerTest.program = [*shlex.split(options.emulator), str(options.program.resolve())]
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
