// Choices made by a fuzzer's input, byte after byte. Beyond its end all bytes are 0, so that a
// short input makes the simplest choices. Shared by fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hearth {

class Choices {
 public:
  explicit Choices(std::string_view bytes) : bytes_(bytes) {}

  uint8_t byte() {
    if (bytes_.empty()) return 0;
    auto first = static_cast<uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  uint32_t word() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i) value = value << 8 | byte();
    return value;
  }
  // Returns true for one byte value in `n`; for the byte 0 only if `n` is 1.
  bool once_in(uint32_t n) { return byte() % n == n - 1; }
  // Returns the element of the list that the next byte chooses: the first one beyond the input's
  // end.
  template <typename List>
  const auto& of(const List& list) {
    return std::data(list)[byte() % std::size(list)];
  }
  std::string_view rest() const { return bytes_; }

 private:
  std::string_view bytes_;
};

}  // namespace hearth
