#include "grammar/json_spelling.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace hearth {
namespace {

// The letters of short escapes, and the characters that they stand for.
constexpr std::string_view kEscapeLetters = "\"\\/bfnrt";
constexpr std::string_view kEscapeMeanings = "\"\\/\b\f\n\r\t";
constexpr char32_t kFirstPair = 0x10000;

ByteSet hex_digits(uint32_t first, uint32_t last) {
  ByteSet bytes;
  for (uint32_t digit = first; digit <= last; ++digit) {
    bytes.set(static_cast<uint8_t>("0123456789abcdef"[digit]));
    bytes.set(static_cast<uint8_t>("0123456789ABCDEF"[digit]));
  }
  return bytes;
}

}  // namespace

JsonSpelling::JsonSpelling(RegexSet& set, bool raw)
    : set_(set), raw_(raw), hex_(set.bytes(hex_digits(0, 15))) {
  any_ = spelled(CodePoints::all());
}

// Returns an expression for the numbers from `first` to `last` with so many hexadecimal digits.
RegexId JsonSpelling::hex_range(uint32_t first, uint32_t last, uint32_t digits) {
  if (digits == 0) return set_.empty();
  const uint32_t shift = 4 * (digits - 1);
  const uint32_t mask = (uint32_t{1} << shift) - 1;
  uint32_t low = first >> shift;
  uint32_t high = last >> shift;
  auto with_head = [&](uint32_t head, uint32_t from, uint32_t to) {
    return set_.concat({set_.bytes(hex_digits(head, head)), hex_range(from, to, digits - 1)});
  };
  if (low == high) return with_head(low, first & mask, last & mask);
  std::vector<RegexId> all;
  if ((first & mask) != 0) all.push_back(with_head(low++, first & mask, mask));
  if ((last & mask) != mask) all.push_back(with_head(high--, 0, last & mask));
  if (low <= high) {
    all.push_back(set_.concat(
        {set_.bytes(hex_digits(low, high)), set_.repeat(hex_, digits - 1, digits - 1)}));
  }
  return set_.any_of(all);
}

// Returns an expression for the escaped surrogate pairs that spell characters beyond U+FFFF;
// `first` and `last` count from U+10000.
RegexId JsonSpelling::pair_range(uint32_t first, uint32_t last) {
  auto halves = [&](uint32_t high, uint32_t high_end, uint32_t low, uint32_t low_end) {
    const RegexId mark = set_.literal("\\u");
    return set_.concat({mark, hex_range(0xd800 + high, 0xd800 + high_end, 4), mark,
                        hex_range(0xdc00 + low, 0xdc00 + low_end, 4)});
  };
  constexpr uint32_t kMask = 0x3ff;
  uint32_t high = first >> 10;
  uint32_t high_end = last >> 10;
  if (high == high_end) return halves(high, high, first & kMask, last & kMask);
  std::vector<RegexId> all;
  if ((first & kMask) != 0) all.push_back(halves(high, high, first & kMask, kMask)), ++high;
  if ((last & kMask) != kMask) {
    all.push_back(halves(high_end, high_end, 0, last & kMask)), --high_end;
  }
  if (high <= high_end) all.push_back(halves(high, high_end, 0, kMask));
  return set_.any_of(all);
}

RegexId JsonSpelling::escaped(char32_t first, char32_t last) {
  std::vector<RegexId> all;
  if (first < kFirstPair) {
    const char32_t end = std::min<char32_t>(last, kFirstPair - 1);
    all.push_back(set_.concat({set_.literal("\\u"), hex_range(first, end, 4)}));
  }
  if (last >= kFirstPair) {
    all.push_back(pair_range(std::max(first, kFirstPair) - kFirstPair, last - kFirstPair));
  }
  return set_.any_of(all);
}

RegexId JsonSpelling::short_escapes(const CodePoints& points) {
  ByteSet letters;
  for (size_t i = 0; i < kEscapeLetters.size(); ++i) {
    if (points.contains(static_cast<char32_t>(kEscapeMeanings[i]))) {
      letters.set(static_cast<uint8_t>(kEscapeLetters[i]));
    }
  }
  return set_.concat({set_.literal("\\"), set_.bytes(letters)});
}

RegexId JsonSpelling::spelled(const CodePoints& points) {
  if (raw_) return utf8_regex(set_, points);
  const CodePoints plain{{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x10ffff}};
  std::vector<RegexId> all{utf8_regex(set_, points.intersection(plain)), short_escapes(points)};
  for (const CodePointRange& range : points.ranges()) {
    all.push_back(escaped(range.first, range.last));
  }
  return set_.any_of(all);
}

RegexId JsonSpelling::text(std::string_view text) {
  std::vector<RegexId> all;
  while (!text.empty()) {
    const size_t size = std::max<size_t>(1, utf8_sequence(text));
    const char32_t point = utf8_decode(text.substr(0, size));
    auto [known, added] = characters_.emplace(point, set_.nothing());
    if (added) known->second = spelled({{point, point}});
    all.push_back(known->second);
    text.remove_prefix(size);
  }
  return set_.concat(all);
}

RegexId JsonSpelling::usual_text(std::string_view text) {
  std::vector<RegexId> all;
  while (!text.empty()) {
    const size_t size = std::max<size_t>(1, utf8_sequence(text));
    const std::string_view character = text.substr(0, size);
    const bool plain = size == 1 && spell(character) == character;
    all.push_back(plain ? set_.literal(character) : this->text(character));
    text.remove_prefix(size);
  }
  return set_.concat(all);
}

std::string JsonSpelling::spell(std::string_view text) const {
  return raw_ ? std::string(text) : spell_json(text);
}

char json_escape_meaning(char letter) {
  const size_t at = kEscapeLetters.find(letter);
  return at == std::string_view::npos ? letter : kEscapeMeanings[at];
}

std::string spell_json(std::string_view text) {
  std::string out;
  for (char byte : text) {
    const size_t at = kEscapeMeanings.find(byte);
    if (at != std::string_view::npos && byte != '/') {
      out += {'\\', kEscapeLetters[at]};
    } else if (static_cast<uint8_t>(byte) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<uint8_t>(byte));
    } else {
      out += byte;
    }
  }
  return out;
}

}  // namespace hearth
