#include "grammar/pattern_reader.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace hearth {
namespace {

constexpr size_t kLongestPattern = 4096;

const CodePointRange kDigitRange{'0', '9'};

CodePoints word_characters() { return {kDigitRange, {'A', 'Z'}, {'a', 'z'}, {'_', '_'}}; }

CodePoints space_characters() {
  return {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
          {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}};
}

CodePoints one(char32_t c) { return {{c, c}}; }

}  // namespace

PatternReader::PatternReader(std::string_view pattern) : text_(pattern) {
  if (pattern.size() > kLongestPattern) {
    fail(ErrorCode::kRequest, "has {} bytes, and at most {} are supported: shorten it",
         pattern.size(), kLongestPattern);
  }
  if (!is_well_formed(pattern)) fail(ErrorCode::kRequest, "is not well-formed UTF-8");
}

bool PatternReader::take(char c) {
  if (done() || text_[at_] != c) return false;
  ++at_;
  return true;
}

std::optional<uint64_t> PatternReader::number() {
  constexpr uint64_t kMax = 1'000'000'000'000;
  size_t begin = at_;
  uint64_t value = 0;
  for (; !done() && peek() >= '0' && peek() <= '9'; ++at_) {
    value = std::min(kMax, 10 * value + static_cast<uint64_t>(peek() - '0'));
  }
  return at_ == begin ? std::nullopt : std::optional(value);
}

std::optional<RepeatBounds> PatternReader::braces() {
  std::optional<uint64_t> least = number();
  if (!least) return std::nullopt;
  if (take('}')) return RepeatBounds{*least, *least};
  if (!take(',')) return std::nullopt;
  if (take('}')) return RepeatBounds{*least, kNoLimit};
  std::optional<uint64_t> most = number();
  if (!most || !take('}')) return std::nullopt;
  return RepeatBounds{*least, *most};
}

std::optional<RepeatBounds> PatternReader::quantifier() {
  std::optional<RepeatBounds> bounds;
  if (take('*')) {
    bounds = {0, kNoLimit};
  } else if (take('+')) {
    bounds = {1, kNoLimit};
  } else if (take('?')) {
    bounds = {0, 1};
  } else if (take('{')) {
    bounds = braces();
    if (!bounds)
      fail(ErrorCode::kRequest, "has a \"{{\" that does not begin a quantifier: write \\{{");
  } else {
    return std::nullopt;
  }
  take('?');
  return bounds;
}

void PatternReader::group_kind() {
  if (!take('?')) return;
  if (take(':')) return;
  if (take('=') || take('!')) {
    fail(ErrorCode::kRequest, "has a lookahead, which is not supported");
  }
  if (!take('<')) fail(ErrorCode::kRequest, "has a group of an unknown kind after \"(?\"");
  if (take('=') || take('!')) {
    fail(ErrorCode::kRequest, "has a lookbehind, which is not supported");
  }
  size_t begin = at_;
  while (!done() && (is_letter(peek()) || is_digit(peek()) || peek() == '_' || peek() == '$'))
    ++at_;
  if (at_ == begin || !take('>')) fail(ErrorCode::kRequest, "has a group with an invalid name");
}

char32_t PatternReader::character() {
  size_t size = utf8_sequence(text_.substr(at_));
  char32_t c = utf8_decode(text_.substr(at_, size));
  at_ += size;
  return c;
}

CodePoints PatternReader::character_set() {
  std::optional<char32_t> single;
  char c = peek();
  if (c == '*' || c == '+' || c == '?' || c == '{') {
    fail(ErrorCode::kRequest, "has a quantifier \"{}\" with nothing before it", c);
  }
  if (take('.')) return CodePoints({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}).complement();
  if (take('[')) return char_class();
  if (take('\\')) return escape(false, &single);
  return one(character());
}

CodePoints PatternReader::char_class() {
  bool negated = take('^');
  CodePoints points;
  while (!take(']')) {
    std::optional<char32_t> first, last;
    CodePoints member = class_member(&first);
    bool range = at_ + 1 < text_.size() && peek() == '-' && text_[at_ + 1] != ']';
    if (!range) {
      points.add(member);
      continue;
    }
    ++at_;
    CodePoints other = class_member(&last);
    if (first && last) {
      if (*first > *last)
        fail(ErrorCode::kRequest, "has a range whose ends are in the wrong order");
      points.add(*first, *last);
    } else {  // [\w-.] is not a range, as in most implementations
      points.add(member);
      points.add(other);
      points.add('-', '-');
    }
  }
  return negated ? points.complement() : points;
}

// Reads a member of a class, and sets `single` where it is one character.
CodePoints PatternReader::class_member(std::optional<char32_t>* single) {
  if (done()) fail(ErrorCode::kRequest, "has a class that is not closed");
  if (take('\\')) return escape(true, single);
  *single = character();
  return one(**single);
}

CodePoints PatternReader::escape(bool in_class, std::optional<char32_t>* single) {
  if (done()) fail(ErrorCode::kRequest, "ends with a backslash");
  char c = peek();
  auto is = [&](char32_t code_point) {
    *single = code_point;
    return one(code_point);
  };
  if (static_cast<uint8_t>(c) >= 0x80) return is(character());
  ++at_;
  switch (c) {
    case 'd':
      return {kDigitRange};
    case 'D':
      return CodePoints{kDigitRange}.complement();
    case 'w':
      return word_characters();
    case 'W':
      return word_characters().complement();
    case 's':
      return space_characters();
    case 'S':
      return space_characters().complement();
    case 'p':
    case 'P':
      return property(c == 'P');
    case 't':
      return is('\t');
    case 'n':
      return is('\n');
    case 'v':
      return is('\v');
    case 'f':
      return is('\f');
    case 'r':
      return is('\r');
    case 'x':
      return is(hex_digits(2));
    case 'u': {
      char32_t code_point = unicode_escape();
      *single = code_point;
      return one(code_point);
    }
    case 'c':
      if (done() || !is_letter(peek())) {
        fail(ErrorCode::kRequest, "has \\c without a letter after it");
      }
      return is(static_cast<char32_t>(text_[at_++] & 31));
    case 'b':
      if (in_class) return is('\b');
      [[fallthrough]];
    case 'B':
      fail(ErrorCode::kRequest, "has a word boundary (\\{}), which is not supported", c);
    case '0':
      if (done() || peek() < '0' || peek() > '9') return is(0);
      [[fallthrough]];
    default:
      break;
  }
  if ((c >= '0' && c <= '9') || c == 'k') {
    fail(ErrorCode::kRequest, "has a back reference (\\{}), which is not supported", c);
  }
  if (is_letter(c)) fail(ErrorCode::kRequest, "has an unknown escape, \\{}", c);
  return is(static_cast<char32_t>(c));
}

CodePoints PatternReader::property(bool negated) {
  size_t end = text_.find('}', at_);
  if (!take('{') || end == std::string_view::npos) {
    fail(ErrorCode::kRequest, "has \\p without a name in braces after it");
  }
  std::string_view name = text_.substr(at_, end - at_);
  at_ = end + 1;
  for (std::string_view key : {"General_Category=", "gc="}) {
    if (name.starts_with(key)) name.remove_prefix(key.size());
  }
  auto found = categories_.find(name);
  if (found == categories_.end()) {
    std::optional<CodePoints> points = CodePoints::category(name);
    if (!points) {
      fail(ErrorCode::kRequest,
           "has \\p{{{}}}, and only Unicode's general categories are supported", printable(name));
    }
    found = categories_.emplace(std::string(name), std::move(*points)).first;
  }
  return negated ? found->second.complement() : found->second;
}

uint32_t PatternReader::hex_digits(size_t count) {
  uint32_t value = 0;
  for (size_t i = 0; i < count; ++i) {
    int digit = done() ? -1 : hex_value(peek());
    if (digit < 0) fail(ErrorCode::kRequest, "has an escape with too few hexadecimal digits");
    value = 16 * value + static_cast<uint32_t>(digit);
    ++at_;
  }
  return value;
}

// Reads the digits after "\u"; two halves of a surrogate pair are one character.
char32_t PatternReader::unicode_escape() {
  if (take('{')) {
    uint32_t value = 0;
    do {
      value = 16 * value + hex_digits(1);
      if (value > 0x10ffff) fail(ErrorCode::kRequest, "has \\u{{..}} above 10FFFF");
    } while (!take('}'));
    return value;
  }
  uint32_t first = hex_digits(4);
  bool pair = first >= 0xd800 && first < 0xdc00 && text_.substr(at_).starts_with("\\u");
  if (!pair) return first;
  size_t before = at_;
  at_ += 2;
  if (take('{')) {
    at_ = before;
    return first;
  }
  uint32_t second = hex_digits(4);
  if (second >= 0xdc00 && second < 0xe000) {
    return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
  }
  at_ = before;
  return first;
}

}  // namespace hearth
