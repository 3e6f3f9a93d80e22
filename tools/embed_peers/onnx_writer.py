#!/usr/bin/env python3
"""Writes a BERT of a GGUF file as a model for ONNX Runtime, made of that library's own operators.

    onnx_writer.py MODEL.gguf OUT.onnx --kind KIND [--attention fused|split]

    f32    the values of the weights in F32
    f16    rounded to F16, and every operator in F16
    bf16   matrix products of BF16 (with split attention), the rest in F32
    int8   matrices as 8-bit codes with a scale for each output; activations are quantised as they
           come, with one scale and zero point a tensor: what the library calls dynamic quantisation
    q8_0   the codes of a Q8_0 file as they are: MatMulNBits of 8 bits, 32 a block, with
           accuracy_level 4, which quantises activations to 8 bits a block as well

Inputs: `ids` and `types` (zeros), int32 [texts, tokens]. All texts have one length, so there is no
mask. Output: `vectors`, float [texts, width], pooled as the file says and divided by their length.
Weights are in OUT.onnx.data beside the model. Needs Debian's python3-onnx.

    embedding:  EmbedLayerNormalization
    a layer:    Attention with the products of Q, K and V within it (fused), or these and
                MultiHeadAttention (split); product; SkipLayerNormalization; product; BiasGelu
                (exact); product; SkipLayerNormalization
"""

from __future__ import annotations

import argparse
import pathlib
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

import bert_file

KINDS = ("f32", "f16", "bf16", "int8", "q8_0")
ATTENTIONS = ("fused", "split")
CONTRIB = "com.microsoft"
INLINE_BYTES = 4096
ALIGNMENT = 4096
TYPES = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16,
         np.dtype(np.int8): TensorProto.INT8, np.dtype(np.uint8): TensorProto.UINT8,
         np.dtype(np.int64): TensorProto.INT64}


def bf16_bits(x: np.ndarray) -> np.ndarray:
    """The bits of the values as BF16, rounded to nearest, ties to even."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + (0x7FFF + ((bits >> 16) & 1))) >> 16).astype(np.uint16)


class Graph:
    """Nodes and weights. A large weight is written to the data file at once."""

    def __init__(self, data: pathlib.Path):
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.data = open(data, "wb")
        self.count = 0

    def add(self, op: str, inputs: list[str], outputs: int = 1, domain: str = "", **attributes):
        """Adds a node; returns the name of its output, or a list of names."""
        self.count += 1
        names = [f"{op}_{self.count}" + (f"_{i}" if outputs > 1 else "") for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def weight(self, values: np.ndarray, kind: int | None = None) -> str:
        self.count += 1
        tensor = TensorProto(name=f"weight_{self.count}", dims=values.shape,
                             data_type=TYPES[values.dtype] if kind is None else kind)
        raw = np.ascontiguousarray(values).tobytes()
        if len(raw) <= INLINE_BYTES:
            tensor.raw_data = raw
        else:
            self.data.write(bytes(-self.data.tell() % ALIGNMENT))
            tensor.data_location = TensorProto.EXTERNAL
            places = (("location", pathlib.Path(self.data.name).name),
                      ("offset", self.data.tell()), ("length", len(raw)))
            for key, value in places:
                tensor.external_data.add(key=key, value=str(value))
            self.data.write(raw)
        self.weights.append(tensor)
        return tensor.name


class Floats:
    """Products in F32 or F16."""

    def __init__(self, graph: Graph, kind: str):
        self.graph, self.kind = graph, kind

    def weight(self, values: np.ndarray) -> str:
        return self.graph.weight(values.astype(np.float16 if self.kind == "f16" else np.float32))

    def products(self, x: str, matrices: list[np.ndarray]) -> list[str]:
        return [self.graph.add("MatMul", [x, self.weight(matrix.T)]) for matrix in matrices]

    def attention(self, x: str, matrix: np.ndarray, bias: np.ndarray, heads: int) -> str:
        inputs = [x, self.weight(matrix.T), self.weight(bias)]
        return self.graph.add("Attention", inputs, domain=CONTRIB, num_heads=heads)


class BrainFloats(Floats):
    """Products in BF16."""

    def __init__(self, graph: Graph):
        super().__init__(graph, "f32")

    def products(self, x: str, matrices: list[np.ndarray]) -> list[str]:
        rounded, outs = self.graph.add("Cast", [x], to=TensorProto.BFLOAT16), []
        for matrix in matrices:
            weight = self.graph.weight(bf16_bits(matrix.T), TensorProto.BFLOAT16)
            product = self.graph.add("MatMul", [rounded, weight])
            outs.append(self.graph.add("Cast", [product], to=TensorProto.FLOAT))
        return outs


class Codes(Floats):
    """Products of 8-bit codes with a scale for each output."""

    def __init__(self, graph: Graph):
        super().__init__(graph, "f32")

    def _codes(self, matrix: np.ndarray) -> tuple[str, str]:
        scales = np.maximum(np.abs(matrix).max(axis=1), 1e-30) / np.float32(127)
        codes = np.rint(matrix / scales[:, None]).astype(np.int8)
        return self.graph.weight(codes.T), self.graph.weight(scales.astype(np.float32))

    def products(self, x: str, matrices: list[np.ndarray]) -> list[str]:
        if len(matrices) == 1:
            inputs = [x, *self._codes(matrices[0])]
            return [self.graph.add("DynamicQuantizeMatMul", inputs, domain=CONTRIB)]
        codes, scale, zero = self.graph.add("DynamicQuantizeLinear", [x], 3)
        outs = []
        for matrix in matrices:
            weight, scales = self._codes(matrix)
            inputs = [codes, weight, scale, scales, zero]
            outs.append(self.graph.add("MatMulIntegerToFloat", inputs, domain=CONTRIB))
        return outs

    def attention(self, x: str, matrix: np.ndarray, bias: np.ndarray, heads: int) -> str:
        codes, scale, zero = self.graph.add("DynamicQuantizeLinear", [x], 3)
        weight, scales = self._codes(matrix)
        inputs = [codes, weight, self.weight(bias), scale, scales, "", zero]
        return self.graph.add("QAttention", inputs, domain=CONTRIB, num_heads=heads)


class Blocks(Floats):
    """Products of Q8_0's blocks: `matrices` are names of tensors."""

    def __init__(self, graph: Graph, file: bert_file.BertFile):
        super().__init__(graph, "f32")
        self.file = file

    def products(self, x: str, matrices: list[str]) -> list[str]:
        outs = []
        for name in matrices:
            codes, scales = self.file.blocks(name)
            rows, blocks, length = codes.shape
            inputs = [x, self.graph.weight((codes.astype(np.int16) + 128).astype(np.uint8)),
                      self.graph.weight(scales)]
            outs.append(self.graph.add("MatMulNBits", inputs, domain=CONTRIB, K=blocks * length,
                                       N=rows, bits=8, block_size=length, accuracy_level=4))
        return outs


class Writer:
    def __init__(self, file: bert_file.BertFile, graph: Graph, kind: str, attention: str):
        self.file, self.graph, self.attention = file, graph, attention
        if kind == "q8_0":
            self.linear = Blocks(graph, file)
        else:
            kinds = {"int8": Codes, "bf16": BrainFloats}
            self.linear = kinds[kind](graph) if kind in kinds else Floats(graph, kind)

    def vector(self, name: str) -> str:
        return self.linear.weight(self.file.values(name))

    def matrix(self, name: str) -> np.ndarray | str:
        """The argument that products() of this kind takes for the matrix."""
        if isinstance(self.linear, Blocks):
            return name + ".weight"
        return self.file.values(name + ".weight")

    def skip_norm(self, x: str, skip: str, norm: str, bias: np.ndarray) -> str:
        inputs = [x, skip, self.vector(norm + ".weight"), self.vector(norm + ".bias"),
                  self.linear.weight(bias)]
        return self.graph.add("SkipLayerNormalization", inputs, domain=CONTRIB,
                              epsilon=self.file.epsilon)

    def embed(self) -> str:
        tables = ("token_embd", "position_embd", "token_types")
        inputs = ["ids", "types", *(self.vector(name + ".weight") for name in tables)]
        inputs += [self.vector("token_embd_norm." + part) for part in ("weight", "bias")]
        out, _ = self.graph.add("EmbedLayerNormalization", inputs, 2, domain=CONTRIB,
                                epsilon=self.file.epsilon)
        return out

    def attend(self, x: str, layer: int) -> str:
        heads, prefix = self.file.shape.heads, f"blk.{layer}."
        blocks = isinstance(self.linear, Blocks)
        if self.attention == "fused" and isinstance(self.linear, (Blocks, BrainFloats)):
            raise ValueError("the library's Attention has no products of this kind")
        if self.attention == "fused":
            return self.linear.attention(x, *self.file.queries_keys_values(layer), heads)
        matrix, bias = self.file.queries_keys_values(layer)
        matrices = [prefix + f"attn_{part}.weight" for part in "qkv"]
        if not blocks:
            matrices = np.split(matrix, 3)
        parts = self.linear.products(x, matrices)
        return self.graph.add("MultiHeadAttention", [*parts, self.linear.weight(bias)],
                              domain=CONTRIB, num_heads=heads)

    def layer(self, x: str, layer: int) -> str:
        prefix = f"blk.{layer}."

        def product(name: str, rows: str) -> tuple[str, np.ndarray]:
            _, bias = self.file.linear(prefix + name)
            return self.linear.products(rows, [self.matrix(prefix + name)])[0], bias

        out, bias = product("attn_output", self.attend(x, layer))
        x = self.skip_norm(out, x, prefix + "attn_output_norm", bias)
        hidden, bias = product("ffn_up", x)
        hidden = self.graph.add("BiasGelu", [hidden, self.linear.weight(bias)], domain=CONTRIB)
        out, bias = product("ffn_down", hidden)
        return self.skip_norm(out, x, prefix + "layer_output_norm", bias)

    def pool(self, x: str) -> str:
        if self.file.pooling == "mean":
            return self.graph.add("ReduceMean", [x], axes=[1], keepdims=0)
        if self.file.pooling not in ("cls", "last"):
            raise ValueError(f"{self.file.path} does not say how texts are pooled")
        place = np.array(0 if self.file.pooling == "cls" else -1, np.int64)
        return self.graph.add("Gather", [x, self.graph.weight(place)], axis=1)

    def write(self, out: pathlib.Path) -> None:
        x = self.embed()
        for layer in range(self.file.shape.layers):
            x = self.layer(x, layer)
        x = self.graph.add("Cast", [self.pool(x)], to=TensorProto.FLOAT)
        x = self.graph.add("LpNormalization", [x], axis=-1, p=2)
        self.graph.data.close()
        sizes = ["texts", "tokens"]
        graph = helper.make_graph(
            self.graph.nodes, "bert",
            [helper.make_tensor_value_info(name, TensorProto.INT32, sizes)
             for name in ("ids", "types")],
            [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["texts", self.file.shape.width])],
            initializer=self.graph.weights)
        model = helper.make_model(graph, producer_name="hearth-embed-peers", ir_version=8,
                                  opset_imports=[helper.make_opsetid("", 17),
                                                 helper.make_opsetid(CONTRIB, 1)])
        onnx.save(model, str(out))


def write_model(source: str | pathlib.Path, out: str | pathlib.Path, kind: str,
                attention: str = "split") -> None:
    """Writes OUT and OUT.data. ValueError for a file that cannot be written as this kind."""
    out, file = pathlib.Path(out), bert_file.BertFile(source)
    if file.arch != "bert":
        raise ValueError(f"{source} is of arch {file.arch}: only bert has operators of its own")
    graph = Graph(out.with_name(out.name + ".data"))
    try:
        Writer(file, graph, kind, attention).write(out)
    finally:
        graph.data.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("out")
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--attention", choices=ATTENTIONS, default="split")
    options = parser.parse_args()
    try:
        write_model(options.model, options.out, options.kind, options.attention)
    except ValueError as error:
        raise SystemExit(f"onnx_writer.py: {error}") from None


if __name__ == "__main__":
    main()
