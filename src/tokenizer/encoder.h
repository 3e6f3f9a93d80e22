// An Encoder is the interface of the four tokenizing algorithms. It turns text without special
// tokens into ids; it is immutable, and may be used by many threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/pace.h"

namespace hearth {

// Bytes of a text that is tokenized at most, whatever was made of it: symbols are counted in 32
// bits, and a space becomes three bytes.
inline constexpr size_t kMaxTextBytes = std::numeric_limits<int32_t>::max() / 4;

// The kinds of what stands before a text.
enum class Before : uint8_t { kNothing, kSpecial, kText };

// A text's ids while it is encoded, and what bounds the work.
struct Encoding {
  std::vector<int32_t>& ids;
  Pace& pace;
  size_t most;  // once there are more ids, what is left of the text need not become any

  bool is_over() const { return ids.size() > most; }
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  // Appends the ids of `text` (any bytes, below 2 GiB). Throws what the pace does.
  virtual void encode(std::string_view text, Before before, Encoding& out) const = 0;
};

}  // namespace hearth
