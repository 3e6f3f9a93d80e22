#!/usr/bin/env python3
"""Runs llama.cpp over a GGUF file of an encoder, as lines of input say (workers.py).

    llama_worker.py MODEL.gguf --threads N --packages FOLDER [--flash auto|off|on]

A batch of llama.cpp has up to BATCH texts, each a sequence of its own (n_seq_max). It is computed
at once (n_ubatch), as its encoders require. Pooling is the file's. The library is the build for
x86-64 of the npm package @node-llama-cpp/linux-x64, whose libllama calls itself 0.5.0. Structures
are those of its llama.h and ggml.h, and their defaults are checked before anything is passed.
"""

from __future__ import annotations

import argparse
import ctypes
import pathlib
import sys
import time

import numpy as np

PACKAGE = pathlib.Path("node_modules", "@node-llama-cpp", "linux-x64", "bins", "linux-x64")
FLASH = {"auto": -1, "off": 0, "on": 1}
MOST_SEQUENCES = 256  # LLAMA_MAX_SEQ
CPU_DEVICE = 0        # GGML_BACKEND_DEVICE_TYPE_CPU
I32, U32, F32, BOOL, POINTER = (ctypes.c_int32, ctypes.c_uint32, ctypes.c_float, ctypes.c_bool,
                                ctypes.c_void_p)


class ModelParams(ctypes.Structure):
    """llama_model_params, used with its defaults."""

    _fields_ = [("devices", POINTER), ("tensor_buft_overrides", POINTER), ("n_gpu_layers", I32),
                ("split_mode", I32), ("load_mode", I32), ("lazy_mode", I32), ("main_gpu", I32),
                ("tensor_split", POINTER), ("progress", POINTER), ("progress_data", POINTER),
                ("kv_overrides", POINTER), ("vocab_only", BOOL), ("check_tensors", BOOL),
                ("use_extra_bufts", BOOL), ("no_host", BOOL), ("no_alloc", BOOL),
                ("load_mtp", BOOL)]
    DEFAULTS = {"n_gpu_layers": -1, "split_mode": 1, "main_gpu": 0, "vocab_only": False,
                "check_tensors": False, "use_extra_bufts": True, "no_host": False,
                "no_alloc": False}


class ContextParams(ctypes.Structure):
    """llama_context_params."""

    _fields_ = [("n_ctx", U32), ("n_batch", U32), ("n_ubatch", U32), ("n_seq_max", U32),
                ("n_rs_seq", U32), ("n_outputs_max", U32), ("n_outputs_max_per_seq", U32),
                ("n_threads", I32), ("n_threads_batch", I32), ("ctx_type", I32),
                ("rope_scaling_type", I32), ("pooling_type", I32), ("attention_type", I32),
                ("flash_attn_type", I32), ("rope_freq_base", F32), ("rope_freq_scale", F32),
                ("yarn_ext_factor", F32), ("yarn_attn_factor", F32), ("yarn_beta_fast", F32),
                ("yarn_beta_slow", F32), ("yarn_orig_ctx", U32), ("defrag_thold", F32),
                ("cb_eval", POINTER), ("cb_eval_data", POINTER), ("type_k", I32), ("type_v", I32),
                ("abort", POINTER), ("abort_data", POINTER), ("embeddings", BOOL),
                ("offload_kqv", BOOL), ("no_perf", BOOL), ("op_offload", BOOL),
                ("swa_full", BOOL), ("kv_unified", BOOL), ("samplers", POINTER),
                ("n_samplers", ctypes.c_size_t), ("ctx_other", POINTER)]
    DEFAULTS = {"n_ctx": 512, "n_batch": 2048, "n_ubatch": 512, "n_seq_max": 1, "n_rs_seq": 0,
                "n_outputs_max": 0, "n_outputs_max_per_seq": 1, "ctx_type": 0,
                "rope_scaling_type": -1, "pooling_type": -1, "attention_type": -1,
                "flash_attn_type": -1, "yarn_ext_factor": -1, "yarn_beta_slow": -1,
                "yarn_orig_ctx": 0, "defrag_thold": -1, "type_k": 1, "type_v": 1,
                "embeddings": False, "offload_kqv": True, "no_perf": True, "op_offload": True,
                "swa_full": True, "kv_unified": False, "samplers": None, "n_samplers": 0}


class PoolParams(ctypes.Structure):
    """ggml_threadpool_params."""

    _fields_ = [("cpumask", BOOL * 512), ("n_threads", I32), ("prio", I32), ("poll", U32),
                ("strict_cpu", BOOL), ("paused", BOOL)]
    DEFAULTS = {"prio": 0, "poll": 50, "strict_cpu": False, "paused": False}


class LlamaBatch(ctypes.Structure):
    _fields_ = [("n_tokens", I32), ("token", POINTER), ("embd", POINTER), ("pos", POINTER),
                ("n_seq_id", POINTER), ("seq_id", POINTER), ("logits", POINTER)]


def checked(params: ctypes.Structure) -> ctypes.Structure:
    """The structure as the library fills it. SystemExit where its defaults show another layout."""
    for name, value in params.DEFAULTS.items():
        if getattr(params, name) != value:
            raise SystemExit(f"error: this llama.cpp has another {type(params).__name__}: {name} "
                             f"is {getattr(params, name)}")
    return params


class Llama:
    """The functions of the library, and one model."""

    def __init__(self, folder: pathlib.Path, model: str, threads: int):
        def load(pattern):
            found = min(folder.glob(pattern), key=lambda path: len(path.name), default=None)
            if found is None:
                raise SystemExit(f"error: there is no {pattern} in {folder}")
            return ctypes.CDLL(str(found), mode=ctypes.RTLD_GLOBAL)

        self.base, self.ggml, self.lib = (load(f"lib{name}.*so*" if name != "ggml-base"
                                               else "libggml-base*.so*")
                                          for name in ("ggml-base", "ggml", "llama"))
        self.declare()
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, POINTER)(
            lambda level, text, data: None)
        self.lib.llama_log_set(self.quiet, None)
        self.ggml.ggml_backend_load_all_from_path(str(folder).encode())
        self.lib.llama_backend_init()
        self.threads = threads
        self.model = self.lib.llama_model_load_from_file(
            model.encode(), checked(self.lib.llama_model_default_params()))
        if not self.model:
            raise SystemExit(f"error: llama.cpp cannot load {model}")
        self.width = self.lib.llama_model_n_embd(self.model)
        self.pool = self.make_pool()

    def declare(self):
        functions = (
            (self.lib, "llama_model_default_params", ModelParams),
            (self.lib, "llama_context_default_params", ContextParams),
            (self.lib, "llama_model_load_from_file", POINTER, ctypes.c_char_p, ModelParams),
            (self.lib, "llama_init_from_model", POINTER, POINTER, ContextParams),
            (self.lib, "llama_attach_threadpool", None, POINTER, POINTER, POINTER),
            (self.lib, "llama_free", None, POINTER),
            (self.lib, "llama_model_n_embd", I32, POINTER),
            (self.lib, "llama_decode", I32, POINTER, LlamaBatch),
            (self.lib, "llama_get_embeddings_seq", ctypes.POINTER(F32), POINTER, I32),
            (self.lib, "llama_print_system_info", ctypes.c_char_p),
            (self.ggml, "ggml_backend_load_all_from_path", None, ctypes.c_char_p),
            (self.ggml, "ggml_backend_dev_by_type", POINTER, ctypes.c_int),
            (self.base, "ggml_backend_dev_backend_reg", POINTER, POINTER),
            (self.base, "ggml_backend_reg_get_proc_address", POINTER, POINTER, ctypes.c_char_p),
            (self.base, "ggml_threadpool_params_default", PoolParams, ctypes.c_int))
        for library, name, result, *arguments in functions:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def make_pool(self):
        """A pool of lasting threads. Without it the library starts new threads for every batch."""
        device = self.ggml.ggml_backend_dev_by_type(CPU_DEVICE)
        registry = self.base.ggml_backend_dev_backend_reg(device)
        address = self.base.ggml_backend_reg_get_proc_address(registry, b"ggml_threadpool_new")
        params = checked(self.base.ggml_threadpool_params_default(self.threads))
        return ctypes.CFUNCTYPE(POINTER, POINTER)(address)(ctypes.addressof(params))

    def context(self, tokens: int, sequences: int, flash: str):
        params = checked(self.lib.llama_context_default_params())
        # Mean pooling needs an equal whole number of tokens for every sequence.
        whole = -(-tokens // sequences) * sequences
        params.n_ctx = params.n_batch = params.n_ubatch = whole
        params.n_seq_max = sequences
        params.n_threads = params.n_threads_batch = self.threads
        params.embeddings = True
        params.flash_attn_type = FLASH[flash]
        context = self.lib.llama_init_from_model(self.model, params)
        if not context:
            raise ValueError("llama.cpp makes no context")
        self.lib.llama_attach_threadpool(context, self.pool, self.pool)
        return context

    def cpu(self) -> str:
        """The instruction sets that the library uses: "AVX512 AVX512_BF16"."""
        words = self.lib.llama_print_system_info().decode().replace("|", " ").split()
        return " ".join(words[i] for i in range(len(words) - 2)
                        if words[i].startswith(("AVX", "AMX")) and words[i + 1:i + 3] == ["=", "1"])


class Batch:
    """Texts as one batch of llama.cpp. It owns the arrays that the batch points to."""

    def __init__(self, texts: list[list[int]]):
        self.texts = len(texts)
        lengths = [len(text) for text in texts]
        total = sum(lengths)
        self.tokens = np.concatenate([np.array(text, np.int32) for text in texts])
        self.positions = np.concatenate([np.arange(n, dtype=np.int32) for n in lengths])
        self.counts = np.ones(total, np.int32)
        self.sequences = np.repeat(np.arange(self.texts, dtype=np.int32), lengths)
        places = self.sequences.ctypes.data + 4 * np.arange(total, dtype=np.uint64)
        self.places = places.astype(np.uint64)
        self.outputs = np.ones(total, np.int8)
        self.raw = LlamaBatch(total, self.tokens.ctypes.data, None, self.positions.ctypes.data,
                              self.counts.ctypes.data, self.places.ctypes.data,
                              self.outputs.ctypes.data)


def measure(llama: Llama, flash: str, batch: int, repeat: int, texts: list[list[int]]):
    """Seconds of each repetition, and the normalised vectors [texts, width] of the last one."""
    batch = min(batch, MOST_SEQUENCES)
    batches = [Batch(texts[i:i + batch]) for i in range(0, len(texts), batch)]
    context = llama.context(max(b.raw.n_tokens for b in batches),
                            max(b.texts for b in batches), flash)
    seconds, rows = [], np.empty((len(texts), llama.width), np.float32)
    try:
        for _ in range(repeat):
            at, start = 0, time.perf_counter()
            for one in batches:
                if status := llama.lib.llama_decode(context, one.raw):
                    raise ValueError(f"llama_decode gives {status}")
                for i in range(one.texts):
                    vector = llama.lib.llama_get_embeddings_seq(context, i)
                    rows[at + i] = np.ctypeslib.as_array(vector, (llama.width,))
                at += one.texts
            seconds.append(time.perf_counter() - start)
    finally:
        llama.lib.llama_free(context)
    return seconds, rows / np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--flash", choices=FLASH, default="auto")
    options = parser.parse_args()
    llama = Llama(options.packages / PACKAGE, options.model, options.threads)
    print(f"ready: llama.cpp ({llama.cpu()}), {options.threads} threads", flush=True)
    for line in sys.stdin:
        batch, repeat, texts, *out = line.rstrip("\n").split("\t")
        try:
            with open(texts) as file:
                rows = [[int(word) for word in text.split()] for text in file]
            seconds, vectors = measure(llama, options.flash, int(batch), int(repeat), rows)
            if out:
                vectors.astype("<f4").tofile(out[0])
            print(*seconds, flush=True)
        except (OSError, ValueError) as error:
            print(f"error: {error}", flush=True)


if __name__ == "__main__":
    main()
