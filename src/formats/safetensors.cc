#include "formats/safetensors.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/metadata_types.h"
#include "formats/safetensors_header.h"

namespace hearth {
namespace {

constexpr uint64_t kLengthBytes = 8;
// The format's own limit.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

uint64_t bits_of(std::string_view type) {
  if (type == "F4") return 4;
  if (type.starts_with("F6_")) return 6;
  if (type == "BOOL" || type.ends_with('8') || type.starts_with("F8")) return 8;
  if (type.ends_with("16")) return 16;
  return type.ends_with("32") ? 32 : 64;
}

template <typename... Args>
[[noreturn]] void fail_file(const MappedFile& file, fmt::format_string<Args...> format,
                            Args&&... args) {
  fail(ErrorCode::kFile, "'{}': {}; download it again", file.name(),
       fmt::format(format, std::forward<Args>(args)...));
}

std::string_view header_of(const MappedFile& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  if (text.starts_with("version https://git-lfs")) {
    fail(ErrorCode::kFile,
         "'{}' is a Git LFS pointer, not the file it points to; run 'git lfs pull' in its folder "
         "or download the file",
         file.name());
  }
  if (text.size() < kLengthBytes) {
    fail_file(file, "the file ends after {} bytes, within the length of its header", text.size());
  }
  const auto length = load_number<uint64_t>(file.bytes().data());
  if (length > kMaxHeaderBytes) {
    fail_file(file,
              "the header has {} bytes, more than the format's limit of {}: this is not a "
              "safetensors file, or it is damaged",
              length, kMaxHeaderBytes);
  }
  if (length > text.size() - kLengthBytes) {
    fail_file(file, "the header has {} bytes, but the file ends after {}: it is truncated", length,
              text.size());
  }
  return text.substr(kLengthBytes, length);
}

// Sets the number of elements, and changes `bytes` from the end of the data's range to its length.
void check_size(const MappedFile& file, SafeTensor& tensor) {
  uint64_t elements = 1, bits = 0;
  bool fits = true;
  for (uint64_t dim : tensor.shape) {
    fits = fits && !__builtin_mul_overflow(elements, dim, &elements);
  }
  fits = fits && !__builtin_mul_overflow(elements, bits_of(tensor.type), &bits) && bits % 8 == 0;
  if (tensor.bytes < tensor.offset) {
    fail_file(file, "the data of tensor '{}' ends at {}, before its beginning at {}",
              printable(tensor.name), tensor.bytes, tensor.offset);
  }
  tensor.elements = elements;
  tensor.bytes -= tensor.offset;
  if (!fits || tensor.bytes != bits / 8) {
    fail_file(file, "tensor '{}' has {} bytes of data, but {} of {} need {}",
              printable(tensor.name), tensor.bytes, fmt::join(tensor.shape, " x "), tensor.type,
              fits ? std::to_string(bits / 8) : "a fraction of a byte");
  }
}

// Checks that tensors, sorted by the position of their data, fill all `size` bytes and do not
// overlap.
void check_ranges(const MappedFile& file, const std::vector<SafeTensor>& tensors, uint64_t size) {
  uint64_t end = 0;
  for (const SafeTensor& tensor : tensors) {
    if (tensor.offset < end) {
      fail_file(file, "the data of tensor '{}' overlaps that of another", printable(tensor.name));
    }
    if (tensor.offset > end) {
      fail_file(file, "{} bytes before the data of tensor '{}' belong to no tensor",
                tensor.offset - end, printable(tensor.name));
    }
    if (tensor.bytes > size - end) {
      fail_file(file,
                "the data of tensor '{}' ends at {}, but the file has {} bytes of data: it "
                "is truncated",
                printable(tensor.name), tensor.offset + tensor.bytes, size);
    }
    end += tensor.bytes;
  }
  if (end != size)
    fail_file(file, "{} bytes after the last tensor belong to no tensor", size - end);
}

void check_names(const MappedFile& file, const std::vector<SafeTensor>& tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const SafeTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) fail_file(file, "tensor '{}' appears twice", printable(*twice));
}

}  // namespace

std::vector<SafeTensor> read_safetensors(const MappedFile& file) {
  const std::string_view header = header_of(file);
  std::vector<SafeTensor> tensors = parse_safetensors_header(header, file.name());
  check_names(file, tensors);
  for (SafeTensor& tensor : tensors) check_size(file, tensor);
  std::sort(tensors.begin(), tensors.end(), [](const SafeTensor& a, const SafeTensor& b) {
    return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);
  });
  const uint64_t data = kLengthBytes + header.size();
  check_ranges(file, tensors, file.bytes().size() - data);
  for (SafeTensor& tensor : tensors) tensor.offset += data;
  return tensors;
}

bool looks_like_safetensors(std::span<const std::byte> bytes) {
  if (bytes.size() < kLengthBytes + 1) return false;
  const auto length = load_number<uint64_t>(bytes.data());
  return length >= 2 && length <= bytes.size() - kLengthBytes &&
         static_cast<char>(bytes[kLengthBytes]) == '{';
}

}  // namespace hearth
