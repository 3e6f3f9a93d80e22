// A tensor as a model's source gives it: a name by GGUF's convention ("blk.0.attn_q.weight"), a
// type, a shape, and the places in the files where its rows lie. A GGUF file has the rows of a
// tensor in one piece; other formats store them in another order, or the matrices of experts one by
// one: then a tensor consists of runs. Rows are read by formats/source_rows.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/stored_codes.h"
#include "tensor/dtype.h"

namespace hearth {

// A matrix that lies in a file as it is: rows of row_bytes(dtype, k), one after the other. Its
// bytes need not be aligned.
struct StoredMatrix {
  DType dtype;
  uint64_t rows, k;
  std::span<const std::byte> data;
  uint32_t part;    // index of the file
  uint64_t offset;  // of `data` in that file
};

// Rows of a tensor that come from one stored matrix.
struct SourceRun {
  StoredMatrix stored;
  // Scales of a `stored` that is kF8E4M3: F32, BF16 or F16. All rows share a scale, or each row or
  // every 128 rows (from the first on) have one; the same holds for columns. If each row has one
  // scale, or all rows share one, k is 1.
  StoredMatrix scales;
  // The codes, if the matrix is stored in a layout of another quantiser. Then `stored` and `scales`
  // have only the file and the offset, and the rows and columns below are those of the codes. The
  // source owns the codes. All runs of a tensor have codes of the same bits, or none has any.
  const StoredCodes* codes = nullptr;
  // Row r of the run is row first + step * ((r % interleave) * (rows / interleave) + r /
  // interleave) of `stored`. With `transposed`, row r is the elements of column column + step * r
  // in rows [first, first + dims[0]).
  uint64_t first = 0, column = 0;
  uint32_t interleave = 1, step = 1;
  bool transposed = false;
};

// An order of columns that differs from the stored one: run i * groups + g, of `length` columns, is
// stored as run g * count + i. length 0: the order is the stored one.
struct DealtColumns {
  uint32_t length = 0, groups = 0, count = 0;

  // Returns the stored position of column k.
  uint64_t stored(uint64_t k) const {
    const uint64_t run = k / length;
    return (run % groups * count + run / groups) * length + k % length;
  }
};

// The file index of a tensor that a reader made itself and that lies in no file.
inline constexpr uint32_t kNoPart = UINT32_MAX;

struct SourceTensor {
  std::string_view name;  // points into the source's bytes
  DType dtype;            // meaningful only if type_known
  bool type_known;        // false only with UnknownTypes::kKeep
  std::string type_text;  // "q4_0"; for a type that this program cannot read, the file's name of it
  // The dimensions in the file's order: dims[0] is the length of a row, contiguous in memory. 1 to
  // 4, none zero.
  std::vector<uint64_t> dims;
  uint64_t n_elements;
  // Rows of row_bytes(dtype, dims[0]) one after the other; empty if there are runs. Also set for an
  // unknown type, if its size is known.
  std::span<const std::byte> data;
  uint32_t part;    // index of the file; kNoPart if the tensor lies in none
  uint64_t offset;  // of `data`, or of the first run, in that file
  // The runs in the order of the rows, all with the same number of rows. Empty if all rows lie in
  // `data`; never empty for kF8E4M3.
  std::vector<SourceRun> runs = {};
  DealtColumns dealt = {};  // used only if there are runs

  uint64_t rows() const { return n_elements / dims[0]; }
  uint64_t run_rows() const { return rows() / runs.size(); }
  // Returns the rows of each of the matrices that a tensor of three dimensions has, as experts do.
  uint64_t matrix_rows() const { return dims.size() > 1 ? dims[1] : 1; }
  // Returns whether the runs have codes; then `dtype` is the type in which rows are read if no pack
  // takes the codes.
  bool has_codes() const { return !runs.empty() && runs[0].codes != nullptr; }
  // Returns the bytes of the elements, without scales; 0 if the size is unknown.
  uint64_t n_bytes() const { return runs.empty() ? data.size() : rows() * stored_row_bytes(); }
  // Returns the bytes of a row as it is stored; the type must be known.
  uint64_t stored_row_bytes() const {
    return has_codes() ? (dims[0] * runs[0].codes->bits + 7) / 8 : row_bytes(dtype, dims[0]);
  }
};

// Whether a tensor of a type that this program cannot read is an error, or kept so that it can be
// listed.
enum class UnknownTypes { kRefuse, kKeep };

}  // namespace hearth
