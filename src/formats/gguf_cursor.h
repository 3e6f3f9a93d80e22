// A position in a file's bytes that never moves outside them; gguf_part.cc reads only through it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "formats/mapped_file.h"
#include "formats/metadata_types.h"

namespace hearth {

// The owner of a field, for messages: "the header", "metadata key number 3", "tensor 'output'".
struct GgufOwner {
  std::string_view kind;
  std::string_view name = {};
  std::optional<uint64_t> index = {};

  std::string text() const {
    if (index) return fmt::format("{} {}", kind, *index);
    if (name.empty()) return std::string(kind);
    return fmt::format("{} '{}'", kind, printable(name));
  }
};

class GgufCursor {
 public:
  explicit GgufCursor(const MappedFile& file) : file_(file), bytes_(file.bytes()) {}

  uint64_t at() const { return at_; }
  uint64_t left() const { return bytes_.size() - at_; }
  const std::byte* here() const { return bytes_.data() + at_; }

  // Reads a number. Messages name it as `field` of `owner`, such as "the length of the name".
  template <typename T>
  T read(const GgufOwner& owner, std::string_view field) {
    return load_number<T>(take(sizeof(T), owner, field).data());
  }

  std::span<const std::byte> take(uint64_t length, const GgufOwner& owner, std::string_view field) {
    if (length > left()) {
      fail_at(
          "{}: {} needs {} bytes at byte {}, but the file ends after {}; it is truncated or "
          "corrupt, "
          "download it again",
          owner.text(), field, length, at_, bytes_.size());
    }
    auto taken = bytes_.subspan(at_, length);
    at_ += length;
    return taken;
  }

  // Reads a 64-bit length and as many characters.
  std::string_view read_string(const GgufOwner& owner, std::string_view field) {
    uint64_t length = read<uint64_t>(owner, field);
    auto text = take(length, owner, field);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  template <typename... Args>
  [[noreturn]] void fail_at(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorCode::kFile, "'{}': {}", file_.name(),
         fmt::format(format, std::forward<Args>(args)...));
  }

  // Throws an error about `owner` for a value that only a corrupt file can have.
  template <typename... Args>
  [[noreturn]] void fail_corrupt(const GgufOwner& owner, fmt::format_string<Args...> format,
                                 Args&&... args) const {
    fail_at("{}: {}; the file is corrupt, download or convert it again", owner.text(),
            fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const MappedFile& file_;
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
};

}  // namespace hearth
