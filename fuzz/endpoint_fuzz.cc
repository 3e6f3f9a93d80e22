// Fuzzes an endpoint's replies. Vectors that are read have the number and width asked for, and
// length 1.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "embed/endpoint_reply.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  size_t count = data[0] % 4;
  auto width = static_cast<uint32_t>(data[1] % 4);
  std::string_view text(reinterpret_cast<const char*>(data + 2), size - 2);
  try {
    auto vectors = hearth::read_embeddings(text, count, width);
    if (vectors.size() != count) std::abort();
    for (const hearth::EmbedVector& vector : vectors) {
      if (width != 0 && vector.size() != width) std::abort();
      double squares = 0;
      for (float element : vector) squares += double{element} * element;
      // Elements are rounded to 2^-24 of themselves.
      if (!(std::abs(squares - 1) < 1e-5)) std::abort();
    }
  } catch (const hearth::Error&) {
    // Most inputs are not replies.
  }
  hearth::refusal_text(text);
  return 0;
}
