// The tensors of a Hugging Face model's safetensors files, by name, and matrices with the scales of
// FP8 (`<name>_scale_inv`) that belong to them.
//
// Errors (kFile): a name that stands in two files, FP8 without scales or with another grid, scales
// that belong to nothing.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "formats/mapped_file.h"
#include "formats/safetensors.h"
#include "formats/source_tensor.h"

namespace hearth {

// What the names of scales have behind that of their tensor.
inline constexpr std::string_view kHfScales = "_scale_inv";

class HfStored {
 public:
  // `tensors` by file; all outlive this. `name` is the model's, for messages.
  HfStored(const std::vector<MappedFile>& files,
           const std::vector<std::vector<SafeTensor>>& tensors, const std::string& name);

  static bool is_scales(std::string_view name);

  const SafeTensor* find(std::string_view name) const;
  // The number of its file.
  uint32_t part_of(const SafeTensor& tensor) const;
  std::span<const std::byte> bytes_of(const SafeTensor& tensor) const;
  // The whole matrix as it lies in its file, with its scales, which then are used.
  SourceRun run_of(const SafeTensor& tensor);
  // The tensor is not used; nor are its scales, if it has some.
  void leave_scales(const SafeTensor& tensor);
  void check_scales_used() const;

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
    bool used = false;  // of scales
  };

  std::span<const std::byte> bytes_of(const Entry& entry) const;
  StoredMatrix matrix_of(const Entry& entry) const;
  StoredMatrix scales_of(const SafeTensor& tensor);

  const std::vector<MappedFile>& files_;
  const std::string& name_;
  std::map<std::string, Entry, std::less<>> by_name_;
};

}  // namespace hearth
