"""A GGUF file of arch `bert`, `nomic-bert` or `jina-bert-v2`: its shape, and its tensors one at a
time.

    BertFile(path)     ValueError for a file of another architecture

A matrix is [outputs, inputs], as ggml stores it. Only the tensors that are asked for are read.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "kl"))

import dequantize_gguf  # noqa: E402
import quants  # noqa: E402  (found by dequantize_gguf)

ARCHS = ("bert", "nomic-bert", "jina-bert-v2")
POOLINGS = {1: "mean", 2: "cls", 3: "last"}
BLOCK = 32  # elements of a Q8_0 block, which has a half-precision scale and 32 codes


@dataclasses.dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    ffn: int
    heads: int
    context: int
    vocabulary: int
    ffn_matrices: int  # 3 where one of them is a gate, else 2

    def operations(self, tokens: int) -> int:
        """The operations for one text, in matrix products and attention. An addition and a
        multiplication count as two."""
        matrices = 4 * self.width * self.width + self.ffn_matrices * self.width * self.ffn
        return self.layers * (2 * tokens * matrices + 4 * tokens * tokens * self.width)


class BertFile:
    def __init__(self, path: str | pathlib.Path):
        self.path = pathlib.Path(path)
        with open(path, "rb") as file:
            metadata, infos = dequantize_gguf.read_head(file)
        self.infos = {info.name: info for info in infos}

        def get(key, default=None):
            value = metadata.get(key)
            return default if value is None else value.data

        self.arch = get("general.architecture")
        if self.arch not in ARCHS:
            raise ValueError(f"{path} is of arch {self.arch}, not {', '.join(ARCHS)}")

        def own(key):
            return get(f"{self.arch}.{key}")

        if own("attention.causal"):
            raise ValueError(f"{path}: its attention is causal")
        ffn, up = own("feed_forward_length"), self.infos["blk.0.ffn_up.weight"]
        gated = "blk.0.ffn_gate.weight" in self.infos or up.rows == 2 * ffn
        self.shape = Shape(own("block_count"), own("embedding_length"), ffn,
                           own("attention.head_count"), own("context_length"),
                           self.infos["token_embd.weight"].rows, 3 if gated else 2)
        self.epsilon = own("attention.layer_norm_epsilon")
        self.pooling = POOLINGS.get(own("pooling_type"))
        self.first_token = get("tokenizer.ggml.cls_token_id", get("tokenizer.ggml.bos_token_id"))
        self.last_token = get("tokenizer.ggml.seperator_token_id",
                              get("tokenizer.ggml.eos_token_id"))

    @property
    def type(self) -> str:
        """The type of the matrices: "F32", "Q8_0"."""
        return self.infos["blk.0.ffn_up.weight"].type.name

    def has(self, name: str) -> bool:
        return name in self.infos

    def values(self, name: str) -> np.ndarray:
        """The tensor's values in float32: [outputs, inputs], or [n] for a vector."""
        info = self.infos[name]
        with open(self.path, "rb") as file:
            raw = b"".join(dequantize_gguf.f32_chunks(file, info))
        return np.frombuffer(raw, "<f4").reshape(tuple(reversed(info.shape)))

    def linear(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The matrix and the bias; the bias is zeros where the file has none."""
        matrix = self.values(name + ".weight")
        bias = name + ".bias"
        return matrix, self.values(bias) if self.has(bias) else np.zeros(len(matrix), np.float32)

    def queries_keys_values(self, layer: int) -> tuple[np.ndarray, np.ndarray]:
        """Q, K and V above each other, [3 width, width], and their biases."""
        prefix = f"blk.{layer}."
        if self.has(prefix + "attn_qkv.weight"):
            return self.linear(prefix + "attn_qkv")
        parts = [self.linear(prefix + name) for name in ("attn_q", "attn_k", "attn_v")]
        matrices, biases = zip(*parts)
        return np.concatenate(matrices), np.concatenate(biases)

    def blocks(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """A Q8_0 matrix as codes [outputs, blocks, 32] int8 and scales [outputs, blocks]."""
        info = self.infos[name]
        if info.type != quants.Type.Q8_0:
            raise ValueError(f"{self.path}: {name} is {info.type.name}, not Q8_0")
        n = info.shape[0]
        with open(self.path, "rb") as file:
            file.seek(info.at)
            raw = file.read(quants.size_in_bytes(info.type, info.rows, n))
        rows = np.frombuffer(raw, np.uint8).reshape(info.rows, n // BLOCK, BLOCK + 2)
        scales = np.ascontiguousarray(rows[..., :2]).view("<f2")[..., 0]
        return np.ascontiguousarray(rows[..., 2:]).view(np.int8), scales.astype(np.float32)
