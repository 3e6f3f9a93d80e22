"""Read and write safetensors files, and directories of them as Hugging Face's hub has them.

    write(path, tensors)                        tensors: {name: Stored}
    write_directory(folder, tensors, shards)    model.safetensors, or so many files and an index
    read_directory(folder) -> {name: Stored}

A file is the length of a header (u64, little endian), the header as JSON, padded with spaces, and
the data. The header gives every tensor's type, shape (as NumPy has it) and the range of its bytes.

Weights of the type F8_E4M3 (e4m3.py) have a scale per 128 x 128 beside them, weight_scale_inv: what
the codes are multiplied by.
"""

from __future__ import annotations

import dataclasses
import json
import pathlib
import struct

import numpy as np

import quants
from e4m3 import E4M3, E4M3_MAX, to_e4m3
from quants import Type

F8 = "F8_E4M3"
FLOATS = {"F32": Type.F32, "F16": Type.F16, "BF16": Type.BF16}
BYTES = {"F32": 4, "F16": 2, "BF16": 2, F8: 1}
SCALE_BLOCK = 128
INDEX = "model.safetensors.index.json"
ALIGNMENT = 8


@dataclasses.dataclass(frozen=True)
class Stored:
    type: str
    shape: tuple[int, ...]
    data: bytes

    def values(self) -> np.ndarray:
        """The values in float64; for F8_E4M3, without scales."""
        if self.type == F8:
            return E4M3[np.frombuffer(self.data, np.uint8)].reshape(self.shape)
        size = len(self.data) // BYTES[self.type]
        return quants.dequantize(FLOATS[self.type], self.data, 1, size).reshape(self.shape)


def stored(kind: str, x: np.ndarray) -> Stored:
    """x stored in a float type."""
    return Stored(kind, x.shape, quants.quantize(FLOATS[kind], x.reshape(1, -1)))


def spread(scales: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The scales, repeated so that each weight has one."""
    wide = np.repeat(np.repeat(scales, SCALE_BLOCK, axis=0), SCALE_BLOCK, axis=1)
    return wide[: shape[0], : shape[1]]


def quantise_fp8(x: np.ndarray, scale_type: str) -> tuple[Stored, Stored]:
    """The codes and their scales; x: [rows, columns]."""
    grid = [-(-n // SCALE_BLOCK) for n in x.shape]
    peaks = np.empty(grid)
    for i in range(grid[0]):
        for j in range(grid[1]):
            rows = slice(i * SCALE_BLOCK, (i + 1) * SCALE_BLOCK)
            peaks[i, j] = np.abs(x[rows, j * SCALE_BLOCK : (j + 1) * SCALE_BLOCK]).max()
    scales = stored(scale_type, peaks / E4M3_MAX)
    codes = np.clip(x / spread(scales.values(), x.shape), -E4M3_MAX, E4M3_MAX)
    return Stored(F8, x.shape, to_e4m3(codes).tobytes()), scales


def write(path: pathlib.Path, tensors: dict[str, Stored]) -> None:
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, t in tensors.items():
        end = offset + len(t.data)
        header[name] = {"dtype": t.type, "shape": list(t.shape), "data_offsets": [offset, end]}
        offset = end
    raw = json.dumps(header, separators=(",", ":")).encode()
    raw += b" " * (-len(raw) % ALIGNMENT)
    data = b"".join(t.data for t in tensors.values())
    path.write_bytes(struct.pack("<Q", len(raw)) + raw + data)


def read(path: pathlib.Path) -> dict[str, Stored]:
    raw = path.read_bytes()
    begin = 8 + struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:begin])
    header.pop("__metadata__", None)
    out = {}
    for name, t in header.items():
        first, end = (begin + x for x in t["data_offsets"])
        out[name] = Stored(t["dtype"], tuple(t["shape"]), raw[first:end])
    return out


def write_directory(folder: pathlib.Path, tensors: dict[str, Stored], shards: int) -> None:
    if shards == 1:
        write(folder / "model.safetensors", tensors)
        return
    names, files = list(tensors), {}
    for i in range(shards):
        file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
        # Every file takes each `shards`-th name, so that tensors that belong together lie in
        # different files.
        mine = names[i::shards]
        write(folder / file, {n: tensors[n] for n in mine})
        files.update({n: file for n in mine})
    total = sum(len(t.data) for t in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(files.items()))}
    (folder / INDEX).write_text(json.dumps(index, indent=2) + "\n")


def read_directory(folder: pathlib.Path) -> dict[str, Stored]:
    if not (folder / INDEX).exists():
        return read(folder / "model.safetensors")
    files = json.loads((folder / INDEX).read_text())["weight_map"]
    shards = {file: read(folder / file) for file in set(files.values())}
    return {name: shards[file][name] for name, file in files.items()}
