// Reads rows of a source's tensors, a panel of up to 16 at a time: as pointers into the files if
// the rows lie there in the wanted form, else as pointers into scratch memory into which they are
// converted.
//
// Nothing here allocates or throws: threads that pack call it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "formats/code_packs.h"
#include "formats/importance.h"
#include "formats/source_tensor.h"
#include "tensor/pack_spec.h"

namespace hearth {

// Returns the type that rows [first, first + rows) are packed in: the tensor's own. A shard of them
// may begin at any multiple of `granule` rows. FP8 is packed as kFP8 if the rows of every panel
// share the scale of 128 columns, and as kFP8R if each row has one of its own. If 128 columns of a
// row have several scales, rows are read as F32: a product of scale and code, rounded once. Codes
// of other quantisers are packed by formats/code_packs.h.
PackedType packed_type(const SourceTensor& tensor, uint64_t first, uint64_t rows, uint64_t granule);

// Returns the bytes of scratch memory that panel_rows() needs.
size_t scratch_bytes(const SourceTensor& tensor, DType as);

// Points `rows` to rows [row, row + count) of the tensor: in its own type, as F32, or quantised if
// `as` is another type with blocks (tensor/quantize_row.h). `importance`, if given, weighs the
// columns for quantising. The other rows of the panel are null. `scratch` is aligned for floats.
// Returns false if a scale that was needed is negative, infinite or NaN.
bool panel_rows(const SourceTensor& tensor, DType as, uint64_t row, uint32_t count,
                std::byte* scratch, PanelRows* rows, const ImportanceEntry* importance = nullptr);

// Returns a reader of rows [row, row + count) of a tensor of codes, for packing as `type`; with
// `order`, of rows row + order[0], row + order[1], ..., `count` of them.
CodesReader panel_codes(const SourceTensor& tensor, const PackedType& type, uint64_t row,
                        uint32_t count, const uint32_t* order = nullptr);

// Writes the scales of FP8 rows [row, row + count), one for every 128 columns, to
// out[count][ceil(dims[0] / 128)]. Returns false if one is negative, infinite or NaN.
bool panel_scales(const SourceTensor& tensor, uint64_t row, uint32_t count, float* out);

// Quantises rows [row, row + count) of a tensor of another type to FP8 (tensor/fit_fp8.h), in
// `scratch`, with a scale for every 128 columns of each row: scales[count][ceil(dims[0] / 128)].
// Returns false if a scale of the tensor's own is invalid. `importance` as above.
bool panel_as_fp8(const SourceTensor& tensor, uint64_t row, uint32_t count, std::byte* scratch,
                  PanelRows* rows, float* scales, const ImportanceEntry* importance = nullptr);

// A range of bytes of the file with index `part`.
struct FileRange {
  uint32_t part;
  uint64_t offset, bytes;
};

// Returns the file range, without scales, of the rows of run `run` among rows [first, first +
// rows); that of the whole run if its rows are not in their stored order. A tensor without runs
// counts as one run.
FileRange run_range(const SourceTensor& tensor, uint64_t run, uint64_t first, uint64_t rows);

// Calls use(FileRange) for each range of rows [first, first + rows). Makes no call for a tensor
// that lies in no file.
template <typename Use>
void for_file_ranges(const SourceTensor& tensor, uint64_t first, uint64_t rows, const Use& use) {
  if (tensor.part == kNoPart || rows == 0) return;
  const uint64_t run_rows = tensor.runs.empty() ? tensor.rows() : tensor.run_rows();
  for (uint64_t run = first / run_rows; run * run_rows < first + rows; ++run) {
    use(run_range(tensor, run, first, rows));
  }
}

}  // namespace hearth
