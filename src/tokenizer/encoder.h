// Encoder is the interface of the four tokenizing algorithms. It turns text without special tokens
// into ids; it is immutable and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/pace.h"

namespace hearth {

// The longest text that is tokenized, in bytes, after normalisation: encoders count symbols in 32
// bits, and a space may become three bytes.
inline constexpr size_t kMaxTextBytes = std::numeric_limits<int32_t>::max() / 4;

// Whether nothing, a special token or text stands before a text.
enum class Before : uint8_t { kNothing, kSpecial, kText };

// The output of encoding: a text's ids, and the limits on the work.
struct Encoding {
  std::vector<int32_t>& ids;
  Pace& pace;
  size_t most;  // encoding may stop once there are more ids than this

  bool is_over() const { return ids.size() > most; }
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  // Appends the ids of `text` (any bytes, below 2 GiB). Throws whatever `out.pace` throws.
  virtual void encode(std::string_view text, Before before, Encoding& out) const = 0;
};

}  // namespace hearth
