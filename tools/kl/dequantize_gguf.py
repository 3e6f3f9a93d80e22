#!/usr/bin/env python3
"""Rewrites a GGUF file with every tensor as F32, by the values of the quantised file.

    dequantize_gguf.py IN OUT

Values are those of tests/golden/quants.py (exact, in float64), rounded once to float32. Metadata is
kept, except `general.file_type`, which becomes 0 ("all F32"). OUT is as large as the weights in
F32. Memory stays below a few hundred MB, since a few million weights are held at a time. A
malformed file, or a tensor type that quants.py does not know, is a ValueError.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import pathlib
import struct
import sys
from typing import BinaryIO, Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"))

import gguf_io
import numpy as np
import quants

CHUNK_WEIGHTS = 1 << 22


@dataclasses.dataclass(frozen=True)
class Info:
    """A tensor's place: `at` counts from the start of the file."""

    name: str
    type: quants.Type
    shape: tuple[int, ...]
    at: int

    @property
    def rows(self) -> int:
        return math.prod(self.shape[1:])


def alignment_of(metadata: dict[str, gguf_io.Value]) -> int:
    value = metadata.get("general.alignment")
    return value.data if value else gguf_io.DEFAULT_ALIGNMENT


def read_head(file: BinaryIO) -> tuple[dict[str, gguf_io.Value], list[Info]]:
    """Reads the part before the data. gguf_io.read would take the data into memory as well."""
    reader = gguf_io._Reader(file)
    if reader.take(4) != gguf_io.MAGIC or reader.scalar("<I") != gguf_io.VERSION:
        raise ValueError(f"{file.name} is not a GGUF file of version {gguf_io.VERSION}")
    tensors, keys = reader.scalar("<Q"), reader.scalar("<Q")
    metadata = {}
    for _ in range(keys):
        key = reader.string()
        metadata[key] = reader.value(gguf_io.ValueType(reader.scalar("<I")))
    infos = gguf_io._read_infos(reader, tensors)
    base = file.tell() + gguf_io._padding(file.tell(), alignment_of(metadata))
    return metadata, [Info(name, kind, shape, base + at) for name, kind, shape, at in infos]


def encode_head(metadata: dict[str, gguf_io.Value], infos: list[Info]) -> bytes:
    """The head of a file that holds the same tensors as F32, with the padding after it."""
    alignment = alignment_of(metadata)
    head = [gguf_io.MAGIC, struct.pack("<IQQ", gguf_io.VERSION, len(infos), len(metadata))]
    for key, value in metadata.items():
        head += [gguf_io._encode_string(key), struct.pack("<I", value.type)]
        head.append(gguf_io._encode_value(value))
    offset = 0
    for info in infos:
        head += [gguf_io._encode_string(info.name), struct.pack("<I", len(info.shape))]
        head.append(struct.pack(f"<{len(info.shape)}Q", *info.shape))
        head.append(struct.pack("<IQ", quants.Type.F32, offset))
        size = 4 * math.prod(info.shape)
        offset += size + gguf_io._padding(size, alignment)
    raw = b"".join(head)
    return raw + bytes(gguf_io._padding(len(raw), alignment))


def f32_chunks(file: BinaryIO, info: Info) -> Iterator[bytes]:
    """The tensor's values as little-endian float32, some rows at a time."""
    reader, n = gguf_io._Reader(file), info.shape[0]
    file.seek(info.at)
    step = max(1, CHUNK_WEIGHTS // n)
    for first in range(0, info.rows, step):
        rows = min(step, info.rows - first)
        raw = reader.take(quants.size_in_bytes(info.type, rows, n))
        if info.type != quants.Type.F32:
            raw = quants.dequantize(info.type, raw, rows, n).astype("<f4").tobytes()
        yield raw


def write_f32(file: BinaryIO, out: BinaryIO) -> None:
    metadata, infos = read_head(file)
    if "general.file_type" in metadata:
        metadata["general.file_type"] = gguf_io.u32(0)
    out.write(encode_head(metadata, infos))
    for info in infos:
        size = 0
        for raw in f32_chunks(file, info):
            size += out.write(raw)
        out.write(bytes(gguf_io._padding(size, alignment_of(metadata))))


def dequantize_file(source: str, target: str) -> None:
    """Writes the target. An existing target is left alone (an error); an unfinished one is removed.
    """
    with open(source, "rb") as file, open(target, "xb") as out:
        try:
            write_f32(file, out)
        except BaseException:
            os.unlink(target)
            raise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", metavar="IN", help="a GGUF file")
    parser.add_argument("target", metavar="OUT", help="the file to make; it must not exist")
    args = parser.parse_args()
    try:
        dequantize_file(args.source, args.target)
    except (OSError, ValueError) as error:
        sys.exit(f"dequantize_gguf: {error}")


if __name__ == "__main__":
    main()
