"""Tests files that `hearth quantize` writes, from files and folders, in llama.cpp: it loads them,
and its logits are near this program's."""

import argparse
import ctypes
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

TYPES = ("q8_0", "q6_k", "q5_k", "q4_k", "q4_0")
TOKENS = [3, 141, 59, 26, 5, 35, 89, 79]
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 512,
    "intermediate_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8,
    "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 320, "max_position_embeddings": 512,
    "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "tie_word_embeddings": False,
    "hidden_act": "silu", "attention_bias": False,
}  # fmt: skip


class Blob(ctypes.Structure):
    """Room for a structure of llama.h, whose members keep their defaults."""

    _fields_ = [("bytes", ctypes.c_byte * 1024)]


class Batch(ctypes.Structure):
    """llama_batch."""

    _fields_ = [("n_tokens", ctypes.c_int32)] + [(f"p{i}", ctypes.c_void_p) for i in range(6)]


class Llama:
    def __init__(self, libraries):
        base = next(libraries.glob("libggml-base.so*"))
        ctypes.CDLL(str(base), ctypes.RTLD_GLOBAL)
        ggml = ctypes.CDLL(str(next(libraries.glob("libggml.*so*"))), ctypes.RTLD_GLOBAL)
        ggml.ggml_backend_load_all_from_path(str(libraries).encode())
        self.lib = ctypes.CDLL(str(next(libraries.glob("libllama.*so*"))))
        self.log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(
            lambda level, text, data: None
        )
        self.lib.llama_log_set(self.log, None)
        for name in ("llama_model_default_params", "llama_context_default_params"):
            getattr(self.lib, name).restype = Blob
        self.lib.llama_model_load_from_file.restype = ctypes.c_void_p
        self.lib.llama_model_load_from_file.argtypes = [ctypes.c_char_p, Blob]
        self.lib.llama_init_from_model.restype = ctypes.c_void_p
        self.lib.llama_init_from_model.argtypes = [ctypes.c_void_p, Blob]
        self.lib.llama_batch_get_one.restype = Batch
        self.lib.llama_decode.argtypes = [ctypes.c_void_p, Batch]
        self.lib.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
        self.lib.llama_get_logits_ith.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.lib.llama_free.argtypes = self.lib.llama_model_free.argtypes = [ctypes.c_void_p]

    def logits(self, path, tokens, vocabulary):
        """The logits of the last token, or None where the file cannot be loaded."""
        model = self.lib.llama_model_load_from_file(
            str(path).encode(), self.lib.llama_model_default_params()
        )
        if not model:
            return None
        context = self.lib.llama_init_from_model(model, self.lib.llama_context_default_params())
        ids = (ctypes.c_int32 * len(tokens))(*tokens)
        assert self.lib.llama_decode(context, self.lib.llama_batch_get_one(ids, len(tokens))) == 0
        row = self.lib.llama_get_logits_ith(context, -1)
        found = np.array(row[:vocabulary], np.float64)
        self.lib.llama_free(context)
        self.lib.llama_model_free(model)
        return found


class QuantizedFiles(unittest.TestCase):
    arguments = None

    def call(self, *words):
        return subprocess.run([*map(str, words)], check=True, capture_output=True, text=True).stdout

    def own_logits(self, path):
        out = self.folder / "logits.npy"
        self.call(self.arguments.hearth, "logits", path, "--tokens", ",".join(map(str, TOKENS)),
                  "-o", out)  # fmt: skip
        return np.load(out)[-1].astype(np.float64)

    def test_llama_cpp_reads_what_was_written(self):
        llama = Llama(self.arguments.libraries)
        with tempfile.TemporaryDirectory() as name:
            self.folder = Path(name)
            config = self.folder / "config.json"
            config.write_text(json.dumps(CONFIG))
            for source, of_type in ((self.folder / "floats", ()),
                                    (self.folder / "floats.gguf", ("--type", "bf16"))):
                self.call(self.arguments.made_model, config, source, *of_type)
                for kind in TYPES:
                    with self.subTest(source=source.name, kind=kind):
                        out = self.folder / "out.gguf"
                        self.call(self.arguments.hearth, "quantize", source, out, "--weights", kind)
                        own = self.own_logits(out)
                        theirs = llama.logits(out, TOKENS, CONFIG["vocab_size"])
                        self.assertIsNotNone(theirs, "the file is not loaded")
                        # Both round activations to 8 bits, each in its own way.
                        apart = np.sqrt(np.mean((own - theirs) ** 2)) / np.std(own)
                        self.assertLess(apart, 0.06)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hearth", required=True, type=Path)
    parser.add_argument("--made-model", required=True, type=Path)
    parser.add_argument("--libraries", required=True, type=lambda text: Path(text).resolve())
    QuantizedFiles.arguments, names = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *names])
