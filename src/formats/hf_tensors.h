// The tensors of a Hugging Face model as GGUF names and shapes them, made of what its safetensors
// files hold, without a copy of any matrix:
// - the experts of a layer are one tensor of three dimensions, with a run for each expert; if a
//   folder has one tensor of transposed float matrices, the runs are views of its columns;
// - heads of llama's queries and keys, stored as two halves, are interleaved;
// - kv_b_proj of multi-head latent attention becomes attn_k_b, [heads][rank][nope], a view of its
//   columns, and attn_v_b, [heads][value][rank];
// - an FP8 tensor has its scales, `<name>_scale_inv` or `<name>_scale`, in its runs;
// - a Linear that other quantisers stored as codes has their description in its runs;
// - heads of a gated delta rule get GGUF's order (formats/hf_delta.h), as runs of rows, as columns
//   that are dealt when rows are read, and of vectors and convolutions as copies;
// - norms that scale by one more than the stored weight are copied, with one added.
// Layers of multi-token prediction are left out, and so are tensors that the family leaves out
// (HfLeftOut). Tensors of other names keep their names.
//
// Errors (kFile): those of formats/hf_stored.h; shapes that do not fit config.json, experts that
// are missing or unlike each other, a type that this program cannot read (of codes kUnsupported).
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "formats/hf_config.h"
#include "formats/mapped_file.h"
#include "formats/safetensors.h"
#include "formats/source_tensor.h"
#include "formats/stored_codes.h"

namespace hearth {

struct HfTensors {
  std::vector<SourceTensor> tensors;
  std::vector<std::string> notes;  // sentences about tensors that were left out
  // Objects that `tensors` points to in addition to the files; a deque's elements never move.
  std::deque<std::string> names;
  std::deque<std::vector<std::byte>> data;
  std::deque<StoredCodes> codes;
};

// Makes the tensors; `stored` are those of each file. `name` is the model's, for messages.
HfTensors make_hf_tensors(const HfConfig& config, const std::vector<MappedFile>& files,
                          const std::vector<std::vector<SafeTensor>>& stored,
                          const std::string& name, UnknownTypes unknown);

}  // namespace hearth
