#include "cli/npy.h"

#include <fmt/format.h>

namespace hearth {

std::string npy_header(uint64_t rows, uint64_t columns) {
  constexpr size_t kAlign = 64;
  // The magic bytes and the version; the 16-bit length of the rest follows.
  std::string head("\x93NUMPY\x01\x00", 8);
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  size_t used = head.size() + 2 + text.size() + 1;
  text.append((kAlign - used % kAlign) % kAlign, ' ');
  text += '\n';
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

}  // namespace hearth
