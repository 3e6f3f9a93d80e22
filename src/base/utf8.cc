#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace hearth {

namespace {

struct Lead {
  size_t length;       // of the sequence; 0 for a byte that starts none
  uint8_t second_min;  // of the second byte, narrower than 80..BF after some leads
  uint8_t second_max;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

// Returns how many bytes of the sequence that `lead` announces are present and valid, at most
// lead.length.
size_t fitting_bytes(std::string_view bytes, const Lead& lead) {
  size_t limit = std::min(lead.length, bytes.size());
  size_t count = std::min<size_t>(limit, 1);
  for (; count < limit; ++count) {
    auto byte = static_cast<uint8_t>(bytes[count]);
    uint8_t min = count == 1 ? lead.second_min : uint8_t{0x80};
    uint8_t max = count == 1 ? lead.second_max : uint8_t{0xBF};
    if (byte < min || byte > max) break;
  }
  return count;
}

}  // namespace

size_t utf8_sequence(std::string_view bytes) {
  if (bytes.empty()) return 0;
  Lead lead = lead_of(static_cast<uint8_t>(bytes[0]));
  return fitting_bytes(bytes, lead) == lead.length ? lead.length : 0;
}

size_t utf8_partial(std::string_view bytes) {
  if (bytes.empty()) return 0;
  return fitting_bytes(bytes, lead_of(static_cast<uint8_t>(bytes[0])));
}

bool is_well_formed(std::string_view bytes) {
  while (size_t length = utf8_sequence(bytes)) bytes.remove_prefix(length);
  return bytes.empty();
}

char32_t utf8_decode(std::string_view sequence) {
  auto lead = static_cast<uint8_t>(sequence[0]);
  if (sequence.size() == 1) return lead;
  char32_t code_point = lead & (0xFFu >> (sequence.size() + 1));
  for (size_t i = 1; i < sequence.size(); ++i) {
    code_point = (code_point << 6) | (static_cast<uint8_t>(sequence[i]) & 0x3Fu);
  }
  return code_point;
}

void utf8_append(std::string& out, char32_t code_point) {
  auto tail = [&](int shift) {
    out.push_back(static_cast<char>(0x80u | ((code_point >> shift) & 0x3Fu)));
  };
  if (code_point < 0x80) {
    out.push_back(static_cast<char>(code_point));
  } else if (code_point < 0x800) {
    out.push_back(static_cast<char>(0xC0u | (code_point >> 6)));
    tail(0);
  } else if (code_point < 0x10000) {
    out.push_back(static_cast<char>(0xE0u | (code_point >> 12)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xF0u | (code_point >> 18)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace hearth
