// The tensors of a Hugging Face model's safetensors files, by name, and Linears that are stored as
// several: FP8 with its scales, and codes in the layouts of formats/hf_quant.h, whose parts may lie
// in different files. A Linear counts as one tensor, X.weight, whatever its parts are called.
//
// Errors (kFile): a name that stands in two files, a part that is missing, has another shape or
// type, or belongs to no tensor.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "formats/hf_quant.h"
#include "formats/mapped_file.h"
#include "formats/safetensors.h"
#include "formats/source_tensor.h"
#include "formats/stored_codes.h"

namespace hearth {

// Suffixes behind an FP8 tensor's name: of its scales for blocks, and of its other scales.
inline constexpr std::string_view kHfBlockScales = "_scale_inv", kHfScales = "_scale";

class HfStored {
 public:
  // `tensors` are those of each file; all arguments outlive the object, which describes codes in
  // `codes`. `name` is the model's, for messages.
  HfStored(const std::vector<MappedFile>& files,
           const std::vector<std::vector<SafeTensor>>& tensors, const std::string& name,
           const HfQuant& quant, std::deque<StoredCodes>* codes);

  // Returns the tensor, or Linear, that one of the files' tensors stands for; null for a part that
  // belongs to another. A Linear of codes has its own name, type ("gptq4") and shape [N][K].
  const SafeTensor* whole(const SafeTensor& tensor) const;
  // Returns how many scales of activations and of the KV cache were left unused.
  size_t unused() const { return unused_; }

  const SafeTensor* find(std::string_view name) const;
  // Returns the index of the tensor's file.
  uint32_t part_of(const SafeTensor& tensor) const;
  std::span<const std::byte> bytes_of(const SafeTensor& tensor) const;
  // Returns the codes of a Linear; null if it has none.
  const StoredCodes* codes_of(const SafeTensor& tensor) const;
  // Returns the whole matrix as it lies in its file, with its scales, which then count as used.
  SourceRun run_of(const SafeTensor& tensor);
  // Returns all matrices of a tensor of three dimensions, one above the other; they are floats.
  SourceRun stack_of(const SafeTensor& tensor) const;
  // Counts the scales of an unused tensor as used, so that check_parts_used() accepts them.
  void leave_scales(const SafeTensor& tensor);
  // Checks that every part belongs to a tensor. Throws if one does not.
  void check_parts_used() const;

  // Returns a part of a Linear, null if it is missing, and counts it as used.
  const SafeTensor* take(std::string_view name);

  template <typename... Args>
  [[noreturn]] void fail_tensor(std::string_view tensor, fmt::format_string<Args...> format,
                                Args&&... args) const {
    fail(ErrorCode::kFile, "'{}': tensor '{}' {}; the model is damaged, download it again", name_,
         printable(tensor), fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  struct Entry {
    const SafeTensor* tensor;
    uint32_t part;
    bool used = false;  // the part was used
    const StoredCodes* codes = nullptr;
  };

  void add_linears(const std::vector<SafeTensor>& tensors, std::deque<StoredCodes>* codes);
  bool is_part(std::string_view name) const;
  std::span<const std::byte> bytes_of(const Entry& entry) const;
  StoredMatrix matrix_of(const Entry& entry) const;
  StoredMatrix scales_of(const SafeTensor& tensor);

  const std::vector<MappedFile>& files_;
  const std::string& name_;
  const HfQuant& quant_;
  std::map<std::string, Entry, std::less<>> by_name_;
  std::deque<SafeTensor> linears_;
  size_t unused_ = 0;
};

}  // namespace hearth
