// An Encoder is the interface of the four tokenizing algorithms. It turns text without special
// tokens into ids; it is immutable, and may be used by many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace hearth {

// Bytes of a text that is tokenized at most, whatever was made of it: symbols are counted in 32
// bits, and a space becomes three bytes.
inline constexpr size_t kMaxTextBytes = std::numeric_limits<int32_t>::max() / 4;

// What stands before a text.
enum class Before : uint8_t { kNothing, kSpecial, kText };

class Encoder {
 public:
  virtual ~Encoder() = default;
  // Appends the ids of `text` (any bytes, below 2 GiB).
  virtual void encode(std::string_view text, Before before, std::vector<int32_t>& ids) const = 0;
};

}  // namespace hearth
