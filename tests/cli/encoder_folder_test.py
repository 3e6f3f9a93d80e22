"""Folders of encoders give the same vectors, bit by bit, as GGUF files with the same weights, and
as the file that they are quantised to."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "golden"))

import gguf_io
import make_models
import model_specs
import numpy as np
import safetensors_io
from program import ProgramTest

MARK = "\u2581"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
BERT = {
    "token_embd": "embeddings.word_embeddings", "token_types": "embeddings.token_type_embeddings",
    "position_embd": "embeddings.position_embeddings", "token_embd_norm": "embeddings.LayerNorm",
    "attn_q": "attention.self.query", "attn_k": "attention.self.key",
    "attn_v": "attention.self.value", "attn_q_norm": "attention.self.layer_norm_q",
    "attn_k_norm": "attention.self.layer_norm_k", "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm", "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense", "layer_output_norm": "output.LayerNorm",
    "attn_norm_2": "layer_norm_1",
}  # fmt: skip
JINA = {**BERT, "ffn_up": "mlp.gated_layers", "ffn_down": "mlp.wo",
        "layer_output_norm": "mlp.layernorm"}  # fmt: skip
CODE = {**BERT, "ffn_up": "mlp.up_gated_layer", "ffn_down": "mlp.down_layer",
        "layer_output_norm": "layer_norm_2"}  # fmt: skip
NOMIC = {
    **BERT, "token_embd_norm": "emb_ln", "attn_qkv": "attn.Wqkv", "attn_output": "attn.out_proj",
    "attn_output_norm": "norm1", "ffn_up": "mlp.fc11", "ffn_gate": "mlp.fc12",
    "ffn_down": "mlp.fc2", "layer_output_norm": "norm2",
}  # fmt: skip


def words(size):
    """All 301 tokens of the models, in the form of a WordPiece vocabulary."""
    letters = [chr(97 + i) for i in range(26)]
    return (SPECIAL + letters + ["##" + c for c in letters])[:size] + [
        f"[unused{i}]" for i in range(size - len(SPECIAL) - 52)
    ]


def write_gguf(spec, path):
    keys = {k: v for k, v in make_models.metadata(spec).items() if not k.startswith("tokenizer")}
    spelled = [w if w.startswith("[") else w[2:] if w.startswith("##") else MARK + w
               for w in words(spec.vocab)]  # fmt: skip
    types = [3 if w in SPECIAL else 1 for w in words(spec.vocab)]
    kind = gguf_io.ValueType
    keys.update({"tokenizer.ggml.model": gguf_io.string("bert"),
                 "tokenizer.ggml.tokens": gguf_io.array(kind.STRING, spelled),
                 "tokenizer.ggml.token_type": gguf_io.array(kind.INT32, types)})  # fmt: skip
    gguf_io.write(str(path), keys, make_models.tensors(spec))


def tokenizer(size):
    around = [{"SpecialToken": {"id": "[CLS]"}}, {"Sequence": {"id": "A"}},
              {"SpecialToken": {"id": "[SEP]"}}]  # fmt: skip
    return {
        "added_tokens": [{"id": i, "content": w, "special": True} for i, w in enumerate(SPECIAL)],
        "normalizer": {"type": "BertNormalizer", "lowercase": True, "strip_accents": None},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": around, "special_tokens": {
            w: {"id": w, "ids": [SPECIAL.index(w)]} for w in ("[CLS]", "[SEP]")}},
        "model": {"type": "WordPiece", "unk_token": "[UNK]",
                  "vocab": {w: i for i, w in enumerate(words(size))}},
    }  # fmt: skip


def config(spec, architecture, **more):
    names = ("n_layer n_embd n_inner n_head n_positions layer_norm_epsilon activation_function"
             if spec.arch == "nomic-bert" else
             "num_hidden_layers hidden_size intermediate_size num_attention_heads "
             "max_position_embeddings layer_norm_eps hidden_act")  # fmt: skip
    values = (spec.layers, spec.embedding, spec.ffn, spec.heads, spec.context,
              make_models.EPSILON, "swiglu" if spec.arch == "nomic-bert" else "gelu")  # fmt: skip
    return {"architectures": [architecture], "vocab_size": spec.vocab,
            **dict(zip(names.split(), values)), **more}  # fmt: skip


def write_folder(spec, path, names, config_json, prefix="", rows_before=0):
    path.mkdir()
    layers = "encoder.layers" if spec.arch == "nomic-bert" else "encoder.layer"
    stored = {}
    for t in make_models.tensors(spec):
        stem, end = t.name.rsplit(".", 1)
        values = t.values().reshape(t.shape[::-1])
        if stem == "position_embd" and rows_before:
            values = np.concatenate([np.full((rows_before, spec.embedding), 9.0), values])
        if "up_gated_layer" in names.get("ffn_up", "") and stem.endswith("ffn_up"):
            values = np.concatenate(np.split(values, 2)[::-1])
        name = names[stem.rsplit(".", 1)[-1]]
        if stem.startswith("blk."):
            name = f"{layers}.{stem.split('.')[1]}.{name}"
        stored[f"{prefix}{name}.{end}"] = safetensors_io.stored(t.type.name, values)
    safetensors_io.write_directory(path, stored, 1)
    pooling = "cls_token" if spec.pooling == "cls" else f"{spec.pooling}_tokens"
    modules = [{"type": "sentence_transformers.models.Transformer", "path": ""},
               {"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"}]  # fmt: skip
    (path / "1_Pooling").mkdir()
    for name, value in (("config.json", config_json), ("tokenizer.json", tokenizer(spec.vocab)),
                        ("modules.json", modules),
                        ("1_Pooling/config.json", {f"pooling_mode_{pooling}": True})):  # fmt: skip
        (path / name).write_text(json.dumps(value))


class EncoderFolderTest(ProgramTest):
    def check(self, name, names, architecture, prefix="", rows_before=0, **more):
        spec = next(s for s in model_specs.specs() if s.name == name)
        file, path = self.folder / f"{name}.gguf", self.folder / f"{name}{rows_before}"
        write_gguf(spec, file)
        told = config(spec, architecture, **more)
        if rows_before:
            told["max_position_embeddings"] += rows_before
        write_folder(spec, path, names, told, prefix, rows_before)
        texts = ("-p", "a cat, and \u00c9t\u00e9 s", "-p", "xyz" * 20, "-p", "?")
        self.assertEqual(self.good("embed", path, *texts), self.good("embed", file, *texts))
        out = self.folder / "quantised.gguf"
        self.good("quantize", path, out, "--weights", "q8_0")
        self.assertEqual(self.good("embed", out, *texts),
                         self.good("embed", path, *texts, "--weights", "q8_0"))

    def test_bert(self):
        self.check("bert-f32", BERT, "BertModel", "bert.")
        self.check("bert-f16", BERT, "BertForMaskedLM")

    def test_positions_of_xlm_roberta(self):
        self.check("bert-f32", BERT, "XLMRobertaModel", "roberta.", rows_before=2)

    def test_nomic(self):
        self.check("nomic-f32", NOMIC, "NomicBertModel", rotary_emb_base=1000)

    def test_jina(self):
        jina = {"position_embedding_type": "alibi", "feed_forward_type": "geglu"}
        self.check("jina-f32-code", CODE, "JinaBertModel", **jina)
