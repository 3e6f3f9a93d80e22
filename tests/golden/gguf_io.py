"""Read and write GGUF version 3, little endian, as the format's specification describes it
(https://github.com/ggml-org/ggml/blob/master/docs/gguf.md).

    write(path, metadata, tensors)   metadata: {key: Value}, tensors: [Tensor]
    read(path) -> Gguf

A Value carries its GGUF type beside the Python data, so that a file that is read and written again
keeps every type. A Tensor's shape is in file order: shape[0] is the length of a row, as in ggml.
Tensor data is raw bytes; quants.py gives them meaning.

A malformed file raises ValueError. Nothing here is fast, and nothing needs to be.
"""

from __future__ import annotations

import dataclasses
import enum
import math
import struct
from typing import Any, BinaryIO

import quants

MAGIC = b"GGUF"
VERSION = 3
DEFAULT_ALIGNMENT = 32


class ValueType(enum.IntEnum):
    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


_SCALARS = {
    ValueType.UINT8: "<B",
    ValueType.INT8: "<b",
    ValueType.UINT16: "<H",
    ValueType.INT16: "<h",
    ValueType.UINT32: "<I",
    ValueType.INT32: "<i",
    ValueType.FLOAT32: "<f",
    ValueType.BOOL: "<?",
    ValueType.UINT64: "<Q",
    ValueType.INT64: "<q",
    ValueType.FLOAT64: "<d",
}


@dataclasses.dataclass(frozen=True)
class Value:
    """One metadata value. For an array, `data` is a list of plain items, all of type `item`
    (an array of arrays holds Values)."""

    type: ValueType
    data: Any
    item: ValueType | None = None


def u32(x: int) -> Value:
    return Value(ValueType.UINT32, x)


def f32(x: float) -> Value:
    return Value(ValueType.FLOAT32, x)


def boolean(x: bool) -> Value:
    return Value(ValueType.BOOL, x)


def string(x: str) -> Value:
    return Value(ValueType.STRING, x)


def array(item: ValueType, data: list) -> Value:
    return Value(ValueType.ARRAY, data, item)


@dataclasses.dataclass(frozen=True)
class Tensor:
    name: str
    type: quants.Type
    shape: tuple[int, ...]
    data: bytes

    @property
    def row_length(self) -> int:
        return self.shape[0]

    @property
    def rows(self) -> int:
        return math.prod(self.shape[1:])

    def values(self):
        """The weights as float64, [rows, row_length]."""
        return quants.dequantize(self.type, self.data, self.rows, self.row_length)


@dataclasses.dataclass(frozen=True)
class Gguf:
    metadata: dict[str, Value]
    tensors: dict[str, Tensor]

    def get(self, key: str, default: Any = None) -> Any:
        """The plain data of a metadata value, or the default where the file hasn't the key."""
        value = self.metadata.get(key)
        return default if value is None else value.data

    def values(self) -> dict[str, Any]:
        """The weights of all tensors. NAME.scale, if present, is a factor for the matrix
        NAME.weight, or for each of several matrices above each other. Gemma 4's scales are not such
        factors."""
        out = {name: t.values() for name, t in self.tensors.items()}
        for name, factors in out.items():
            weight = name.removesuffix("scale") + "weight"
            scaled = weight in out and self.get("general.architecture") != "gemma4"
            if name.endswith(".scale") and scaled:
                each = out[weight].reshape(factors.size, -1) * factors.reshape(-1, 1)
                out[weight] = each.reshape(out[weight].shape)
        return out


def _encode_string(text: str) -> bytes:
    raw = text.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def _encode_value(value: Value) -> bytes:
    if value.type == ValueType.STRING:
        return _encode_string(value.data)
    if value.type == ValueType.ARRAY:
        head = struct.pack("<IQ", value.item, len(value.data))
        if value.item == ValueType.ARRAY:
            return head + b"".join(_encode_value(v) for v in value.data)
        return head + b"".join(_encode_value(Value(value.item, v)) for v in value.data)
    return struct.pack(_SCALARS[value.type], value.data)


def _padding(size: int, alignment: int) -> int:
    return -size % alignment


def write(path: str, metadata: dict[str, Value], tensors: list[Tensor]) -> None:
    alignment_value = metadata.get("general.alignment")
    alignment = alignment_value.data if alignment_value else DEFAULT_ALIGNMENT
    head = [MAGIC, struct.pack("<IQQ", VERSION, len(tensors), len(metadata))]
    for key, value in metadata.items():
        head += [_encode_string(key), struct.pack("<I", value.type), _encode_value(value)]
    offset = 0
    for t in tensors:
        expected = quants.size_in_bytes(t.type, t.rows, t.row_length)
        if len(t.data) != expected:
            raise ValueError(f"{t.name}: {len(t.data)} bytes, its shape asks for {expected}")
        head += [_encode_string(t.name), struct.pack("<I", len(t.shape))]
        head += [struct.pack(f"<{len(t.shape)}Q", *t.shape), struct.pack("<IQ", t.type, offset)]
        offset += len(t.data) + _padding(len(t.data), alignment)
    raw = b"".join(head)
    with open(path, "wb") as file:
        file.write(raw + bytes(_padding(len(raw), alignment)))
        for t in tensors:
            file.write(t.data + bytes(_padding(len(t.data), alignment)))


class _Reader:
    def __init__(self, file: BinaryIO):
        self.file = file

    def take(self, size: int) -> bytes:
        raw = self.file.read(size)
        if len(raw) != size:
            raise ValueError("the file ends early")
        return raw

    def scalar(self, fmt: str):
        return struct.unpack(fmt, self.take(struct.calcsize(fmt)))[0]

    def string(self) -> str:
        return self.take(self.scalar("<Q")).decode("utf-8", errors="surrogateescape")

    def value(self, kind: ValueType) -> Value:
        if kind == ValueType.STRING:
            return Value(kind, self.string())
        if kind != ValueType.ARRAY:
            return Value(kind, self.scalar(_SCALARS[kind]))
        item = ValueType(self.scalar("<I"))
        values = [self.value(item) for _ in range(self.scalar("<Q"))]
        if item == ValueType.ARRAY:
            return Value(kind, values, item)
        return Value(kind, [v.data for v in values], item)


def _read_infos(reader: _Reader, count: int) -> list[tuple]:
    infos = []
    for _ in range(count):
        name = reader.string()
        shape = tuple(reader.scalar("<Q") for _ in range(reader.scalar("<I")))
        infos.append((name, quants.Type(reader.scalar("<I")), shape, reader.scalar("<Q")))
    return infos


def read(path: str) -> Gguf:
    with open(path, "rb") as file:
        reader = _Reader(file)
        if reader.take(4) != MAGIC or reader.scalar("<I") != VERSION:
            raise ValueError(f"{path} is not a GGUF file of version {VERSION}")
        tensor_count, key_count = reader.scalar("<Q"), reader.scalar("<Q")
        metadata = {}
        for _ in range(key_count):
            key = reader.string()
            metadata[key] = reader.value(ValueType(reader.scalar("<I")))
        infos = _read_infos(reader, tensor_count)
        alignment_value = metadata.get("general.alignment")
        alignment = alignment_value.data if alignment_value else DEFAULT_ALIGNMENT
        base = file.tell() + _padding(file.tell(), alignment)
        tensors = {}
        for name, kind, shape, offset in infos:
            file.seek(base + offset)
            size = quants.size_in_bytes(kind, math.prod(shape[1:]), shape[0])
            tensors[name] = Tensor(name, kind, shape, reader.take(size))
        return Gguf(metadata, tensors)
