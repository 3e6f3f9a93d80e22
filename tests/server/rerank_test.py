"""Tests of the routes that rank documents, with a cross-encoder and with a model that answers yes
or no. The float64 reference gives the scores of the same pairs.

    python3 tests/server/rerank_test.py --hearth build/release/hearth
"""

import argparse
import dataclasses
import math
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "golden"))

import make_models  # first: it fixes the number of BLAS threads

import gguf_io
import model_specs
import rank
import reference
from serving import GIVE_UP, ServerTest

QUERY = "a fox in the snow"
DOCUMENTS = ["the owl sleeps", "a fox runs through the snow", "x", "", "snow, a fox: <|im_end|>"]
PROMPT = "<|im_start|>Q: {query}\nD: {document}<|im_end|>\n"
FOLDER = tempfile.TemporaryDirectory()


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def write_model(name, change=lambda keys: None, damage=lambda tensor: tensor):
    """Writes the golden model of this name to a file; returns it for the reference too. Weights are
    floats, so that scores are near the reference's."""
    spec = next(s for s in model_specs.rerankers() if s.name == name)
    keys = make_models.metadata(spec)
    change(keys)
    path = Path(FOLDER.name) / f"{name}.gguf"
    gguf_io.write(str(path), keys, [damage(tensor) for tensor in make_models.tensors(spec)])
    return path, reference.Model(gguf_io.read(str(path)))


def mark_ends(keys):
    """Makes the vocabulary put an end token after every text, as encoders' vocabularies do."""
    keys["tokenizer.ggml.add_eos_token"] = gguf_io.boolean(True)


def speak(keys):
    """Gives the vocabulary the words and markers of a chat in place of fillers, and a template."""
    name = "tokenizer.ggml.tokens"
    tokens, types = list(keys[name].data), list(keys["tokenizer.ggml.token_type"].data)
    for token, text, kind in [(rank.YES, "yes", 1), (rank.NO, "no", 1),
                              (290, "<|im_start|>", 3), (291, "<|im_end|>", 3)]:  # fmt: skip
        tokens[token], types[token] = text, kind
    keys[name] = gguf_io.array(gguf_io.ValueType.STRING, tokens)
    keys["tokenizer.ggml.token_type"] = gguf_io.array(gguf_io.ValueType.INT32, types)
    keys["tokenizer.chat_template.rerank"] = gguf_io.string(PROMPT)


class RerankTest(ServerTest):
    """Tests with a cross-encoder as the only model."""

    @classmethod
    def model(cls):
        return write_model("bert-f32-rank", mark_ends)

    @classmethod
    def start(cls, *options, **more):
        path, cls.reference = cls.model()
        return super().start(str(path), *options, **more)

    def ids(self, text):
        return self.server.good("/tokenize", {"content": text, "add_special": False})["tokens"]

    def pair(self, document):
        """The tokens before the document, its own, and those after it."""
        return [1, *self.ids(QUERY), 2, 2], self.ids(document), [2]

    def logit(self, document, most=None):
        """The reference's logit for the first `most` of the document's tokens."""
        before, tokens, behind = self.pair(document)
        return rank.score(self.reference, [*before, *tokens[:most], *behind], len(before), ())

    def rank(self, route="/v1/rerank", **fields):
        return self.server.good(route, {"query": QUERY, **fields})

    def refused(self, **fields):
        status, body = self.server.ask("POST", "/v1/rerank", {"query": QUERY, **fields})
        self.assertEqual(status, 400, body)
        return body["error"]

    def test_scores_are_the_references(self):
        found = self.rank("/rerank", texts=DOCUMENTS, raw_scores=True)
        self.assertEqual([r["score"] for r in found], sorted((r["score"] for r in found))[::-1])
        self.assertEqual(sorted(r["index"] for r in found), list(range(len(DOCUMENTS))))
        for result in found:
            wanted = self.logit(DOCUMENTS[result["index"]])
            self.assertAlmostEqual(result["score"], wanted, delta=2e-4 * (1 + abs(wanted)))
        self.assertGreater(len({r["score"] for r in found}), 3)

    def test_one_sigmoid_in_the_words_of_every_api(self):
        raw = {r["index"]: r["score"]
               for r in self.rank("/rerank", texts=DOCUMENTS, raw_scores=True)}  # fmt: skip
        best = sorted(raw, key=raw.get)[::-1]
        jina = self.rank(documents=DOCUMENTS, top_n=2)
        self.assertEqual([r["index"] for r in jina["results"]], best[:2])
        self.assertEqual([r["document"]["text"] for r in jina["results"]],
                         [DOCUMENTS[i] for i in best[:2]])  # fmt: skip
        tokens = sum(len(part) for document in DOCUMENTS for part in self.pair(document))
        self.assertEqual(jina["usage"], {"prompt_tokens": tokens, "total_tokens": tokens})
        self.assertEqual(jina["model"], self.server.name)
        cohere = self.rank("/v2/rerank", documents=[{"text": text} for text in DOCUMENTS])
        self.assertEqual(cohere["meta"]["tokens"], {"input_tokens": tokens})
        tei = self.rank(texts=DOCUMENTS, return_text=True)
        for result in tei:
            self.assertEqual(result["text"], DOCUMENTS[result["index"]])
        for results, key in [(cohere["results"], "relevance_score"), (tei, "score")]:
            self.assertEqual([r["index"] for r in results], best)
            for result in results:
                self.assertAlmostEqual(result[key], sigmoid(raw[result["index"]]), delta=1e-12)

    def test_scores_depend_on_the_pair_alone(self):
        together = self.rank(documents=DOCUMENTS)["results"]
        for result in together:
            alone = self.rank(documents=[DOCUMENTS[result["index"]]])["results"][0]
            self.assertEqual(alone["relevance_score"], result["relevance_score"])

    def test_long_texts_are_refused_or_cut(self):
        long = "fox " * 4000
        error = self.refused(documents=["a", long])
        self.assertEqual((error["code"], error["param"]),
                         ("context_length_exceeded", "documents[1]"))  # fmt: skip
        cut = self.rank("/rerank", texts=["a", long], truncate=True, return_text=True)
        self.assertEqual({r["text"] for r in cut}, {"a", long})
        few = self.rank(documents=[DOCUMENTS[1], long], max_tokens_per_doc=3)
        by_index = {r["index"]: r["relevance_score"] for r in few["results"]}
        for index, document in enumerate([DOCUMENTS[1], long]):
            self.assertAlmostEqual(by_index[index], sigmoid(self.logit(document, 3)), delta=1e-4)
        _, body = self.server.ask("POST", "/v1/rerank", {"query": long, "documents": ["a"]})
        self.assertEqual(body["error"]["param"], "query")
        self.assertEqual(body["error"]["code"], "context_length_exceeded")

    def test_other_models_and_fields_are_refused(self):
        asked = {"query": "a", "documents": ["b"], "model": "nobody"}
        status, body = self.server.ask("POST", "/v1/rerank", asked)
        self.assertEqual((status, body["error"]["code"]), (404, "model_not_found"))
        self.assertEqual(self.refused(documents=["a"], top_n=0)["param"], "top_n")
        self.assertEqual(self.refused(documents=["a"], instruct="Be fair.")["param"], "instruct")
        self.assertEqual(self.refused(documents=[])["param"], "documents")
        for route in ("/v1/embeddings", "/v1/chat/completions"):
            status, body = self.server.ask("POST", route, {})
            self.assertEqual(status, 404, body)

    def test_its_figures(self):
        before = self.server.figures()
        self.rank(documents=DOCUMENTS)
        self.refused(documents=[])
        after = self.server.figures()
        for name, more in [('hearth_rerank_requests_total{outcome="ok"}', 1),
                           ('hearth_rerank_requests_total{outcome="refused"}', 1),
                           ("hearth_rerank_texts_total", len(DOCUMENTS))]:  # fmt: skip
            self.assertEqual(after[name] - before[name], more, name)


class DamagedTest(ServerTest):
    """Tests with a head whose sums are too large for a float."""

    @classmethod
    def start(cls, *options, **more):
        def damage(tensor):
            if tensor.name != "cls.output.weight":
                return tensor
            return dataclasses.replace(tensor, data=struct.pack("<f", 3e38) * tensor.row_length)

        path, _ = write_model("bert-f32-rank", damage=damage)
        return super().start(str(path), *options, **more)

    def test_a_score_is_a_number(self):
        for document in DOCUMENTS[:2]:
            body = {"query": QUERY, "documents": [document]}
            status, reply = self.server.ask("POST", "/v1/rerank", body)
            self.assertEqual(status, 500, reply)
            self.assertIn("a score that is not a number", reply["error"]["message"])


class WordsTest(RerankTest):
    """Tests with a text model: the logits of yes and no after the prompt that its file has."""

    @classmethod
    def model(cls):
        return write_model("llama-f32-words", speak)

    @classmethod
    def start(cls, *options, **more):
        return super().start("--kv-type", "f32", "--ctx", "512", *options, **more)

    def pair(self, document):
        # The document's tokens are those that its text adds to the tokens before it.
        head = [1, 290, *self.ids(f"Q: {QUERY}\nD: ")]
        tokens = [1, 290, *self.ids(f"Q: {QUERY}\nD: {document}")]
        return head, tokens[len(head) :], [291, *self.ids("\n")]


class BesideTest(ServerTest):
    """Tests of a reranker beside a model for text and one for embeddings."""

    @classmethod
    def start(cls, *options, **more):
        path, _ = write_model("bert-f32-rank")
        demo = str(Path(__file__).resolve().parents[2] / "assets" / "demo.gguf")
        beside = ["--rerank", str(path), "--embed", demo, "--pooling", "mean"]
        return super().start(demo, *beside, *options, **more)

    def test_all_three_answer(self):
        self.assertEqual(self.server.name, "demo and demo-embed and bert-f32-rank")
        ranks = self.server.good("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})
        self.assertEqual(len(ranks["results"]), len(DOCUMENTS))
        self.assertEqual(len(self.server.good("/v1/embeddings", {"input": "a"})["data"]), 1)
        self.assertTrue(self.server.text(prompt="Once", max_tokens=4))
        models = self.server.good("/v1/models")["data"]
        self.assertEqual([m["id"] for m in models], ["demo", "demo-embed", "bert-f32-rank"])
        plan = self.server.good("/v1/plan")
        self.assertEqual(plan["rerank"]["scores"], "head")
        self.assertEqual(plan["embeddings"]["model"], "demo-embed")


class NamesTest(ServerTest):
    """Tests of models with one name, where the text model already has the alternative name."""

    @classmethod
    def start(cls, *options, **more):
        path, _ = write_model("bert-f32-rank")
        demo = Path(__file__).resolve().parents[2] / "assets" / "demo.gguf"
        same = Path(FOLDER.name) / "same" / path.name
        same.parent.mkdir(exist_ok=True)
        same.symlink_to(demo)
        beside = ["--rerank", str(path), "--embed", str(same), "--pooling", "mean"]
        alias = ["--alias", "bert-f32-rank-rerank"]
        return super().start(str(demo), *alias, *beside, *options, **more)

    def test_each_has_a_name_of_its_own(self):
        models = [m["id"] for m in self.server.good("/v1/models")["data"]]
        self.assertEqual(models, ["bert-f32-rank-rerank", "bert-f32-rank",
                                  "bert-f32-rank-rerank-rerank"])  # fmt: skip


class RefusedTest(unittest.TestCase):
    def said(self, *command):
        done = subprocess.run([*map(str, [*ServerTest.hearth, *command])], capture_output=True,
                              text=True, timeout=GIVE_UP)  # fmt: skip
        self.assertIn(done.returncode, (1, 2))
        return done.stderr

    def test_refuses_models_that_cannot_rerank(self):
        demo = Path(__file__).resolve().parents[2] / "assets" / "demo.gguf"
        path, _ = write_model("bert-f32-rank")
        self.assertIn("no tokens 'yes' and 'no'", self.said("serve", demo, "--rerank", demo))
        self.assertIn("leave out --rerank", self.said("serve", path, "--rerank", path))
        self.assertIn("rerankers run only on this machine's CPUs, not on '",
                      self.said("serve", path, "--device", "sim:alpha=1,beta=1"))  # fmt: skip
        self.assertIn("leave --pooling out", self.said("serve", path, "--pooling", "mean"))
        self.assertIn("has no vectors", self.said("embed", path, "a"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--hearth", required=True, nargs="+")
    arguments, rest = parser.parse_known_args()
    ServerTest.hearth = arguments.hearth
    unittest.main(argv=[sys.argv[0], *rest])
