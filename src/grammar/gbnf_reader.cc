#include "grammar/gbnf_reader.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/ascii.h"
#include "base/error.h"
#include "base/printable.h"
#include "base/utf8.h"

namespace hearth {
namespace {

constexpr size_t kLongestGbnf = size_t{256} << 10;
constexpr uint32_t kDeepestGbnf = 64;
constexpr uint64_t kMaxGbnfRepeats = 1'000'000;

bool is_gbnf_name(char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '_'; }

class GbnfReader {
 public:
  explicit GbnfReader(std::string_view text) : text_(text) {
    if (text.size() > kLongestGbnf) {
      fail(ErrorCode::kRequest, "has {} bytes, and at most {} are supported: shorten it",
           text.size(), kLongestGbnf);
    }
    if (!is_well_formed(text)) fail(ErrorCode::kRequest, "is not well-formed UTF-8");
  }

  GbnfText read() {
    for (skip_space(true); !done(); skip_space(true)) read_rule();
    for (const GbnfRule& rule : result_.rules) {
      if (!rule.defined) {
        fail(ErrorCode::kRequest, "has no rule \"{}\", which another rule uses: add it",
             printable(rule.name));
      }
    }
    auto root = numbers_.find("root");
    if (root == numbers_.end()) {
      fail(ErrorCode::kRequest, "has no rule \"root\", where every text starts: add it");
    }
    result_.root = root->second;
    return std::move(result_);
  }

 private:
  bool done() const { return at_ == text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  bool take(std::string_view expected) {
    if (!text_.substr(at_).starts_with(expected)) return false;
    at_ += expected.size();
    return true;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    auto line = 1 + std::ranges::count(text_.substr(0, at_), '\n');
    fail(ErrorCode::kRequest, "line {}: {}", line, what);
  }

  void skip_space(bool lines) {
    while (!done()) {
      char c = peek();
      if (c == '#') {
        while (!done() && peek() != '\n' && peek() != '\r') ++at_;
      } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) {
        ++at_;
      } else {
        break;
      }
    }
  }

  std::string_view name() {
    size_t begin = at_;
    while (!done() && is_gbnf_name(peek())) ++at_;
    if (at_ == begin) refuse("a rule's name, a text in quotes, a class or a group is expected");
    return text_.substr(begin, at_ - begin);
  }

  uint32_t number(std::string_view name) {
    auto [found, added] =
        numbers_.try_emplace(std::string(name), static_cast<uint32_t>(result_.rules.size()));
    if (added) {
      result_.rules.push_back({.name = found->first, .body = {.kind = GbnfNode::Kind::kSequence}});
    }
    return found->second;
  }

  void read_rule() {
    uint32_t rule = number(name());
    if (result_.rules[rule].defined) refuse("this rule is defined a second time");
    result_.rules[rule].defined = true;
    skip_space(false);
    if (!take("::=")) refuse("\"::=\" is expected after the rule's name");
    skip_space(true);
    GbnfNode body = choice(0);
    if (!done() && peek() != '\n' && peek() != '\r') {
      refuse("another part of the rule, or its end, is expected");
    }
    result_.rules[rule].body = std::move(body);
  }

  GbnfNode choice(uint32_t depth) {
    GbnfNode node{.kind = GbnfNode::Kind::kChoice};
    do {
      skip_space(true);
      node.parts.push_back(sequence(depth));
    } while (take("|"));
    return node;
  }

  GbnfNode sequence(uint32_t depth) {
    GbnfNode node{.kind = GbnfNode::Kind::kSequence};
    while (true) {
      skip_space(depth > 0);
      char c = peek();
      if (done() || c == '|' || c == ')' || c == '\n' || c == '\r') return node;
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (node.parts.empty()) refuse("a repetition has nothing before it");
        repeat_last(&node);
      } else {
        node.parts.push_back(part(depth));
      }
    }
  }

  GbnfNode part(uint32_t depth) {
    if (take("\"")) return literal();
    if (take("[")) return char_class();
    if (take(".")) return {.kind = GbnfNode::Kind::kClass, .points = CodePoints::all()};
    if (take("(")) {
      if (depth + 1 > kDeepestGbnf) refuse("groups are nested more than 64 deep");
      GbnfNode inner = choice(depth + 1);
      if (!take(")")) refuse("a group is not closed");
      return inner;
    }
    return {.kind = GbnfNode::Kind::kRule, .rule = number(name())};
  }

  void repeat_last(GbnfNode* sequence) {
    uint64_t least = 0, most = kNoLimit;
    if (take("+")) {
      least = 1;
    } else if (take("?")) {
      most = 1;
    } else if (!take("*")) {
      ++at_;
      skip_space(true);
      least = times();
      most = least;
      skip_space(true);
      if (take(",")) {
        skip_space(true);
        most = peek() == '}' ? kNoLimit : times();
        skip_space(true);
      }
      if (!take("}")) refuse("\"}\" is expected after the bounds of a repetition");
    }
    if (least > most) refuse("the bounds of a repetition are in the wrong order");
    GbnfNode inner = std::move(sequence->parts.back());
    sequence->parts.back() = {.kind = GbnfNode::Kind::kRepeat, .least = least, .most = most};
    sequence->parts.back().parts.push_back(std::move(inner));
  }

  uint64_t times() {
    if (!is_digit(peek())) refuse("a number is expected as a repetition's bound");
    uint64_t value = 0;
    for (; is_digit(peek()); ++at_) {
      value = 10 * value + static_cast<uint64_t>(peek() - '0');
      if (value > kMaxGbnfRepeats) refuse("a repetition's bound is above 1000000");
    }
    return value;
  }

  GbnfNode literal() {
    GbnfNode node{.kind = GbnfNode::Kind::kLiteral};
    while (!take("\"")) {
      if (done() || peek() == '\n') refuse("a text in quotes is not closed");
      utf8_append(node.literal, character());
    }
    return node;
  }

  GbnfNode char_class() {
    GbnfNode node{.kind = GbnfNode::Kind::kClass};
    bool negated = take("^");
    while (!take("]")) {
      if (done() || peek() == '\n') refuse("a class is not closed");
      char32_t first = character(), last = first;
      bool range = peek() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (range) {
        ++at_;
        last = character();
        if (first > last) refuse("the ends of a range are in the wrong order");
      }
      node.points.add(first, last);
    }
    if (negated) node.points = node.points.complement();
    return node;
  }

  char32_t character() {
    if (!take("\\")) {
      size_t size = utf8_sequence(text_.substr(at_));
      if (size == 0) refuse("a character is expected");
      at_ += size;
      return utf8_decode(text_.substr(at_ - size, size));
    }
    char c = peek();
    if (!done()) ++at_;
    switch (c) {
      case 'x':
        return hex(2);
      case 'u':
        return hex(4);
      case 'U':
        return hex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
        return static_cast<char32_t>(c);
      default:
        refuse("an unknown escape; known are \\t \\r \\n \\\\ \\\" \\[ \\] \\x \\u \\U");
    }
  }

  char32_t hex(size_t digits) {
    char32_t value = 0;
    for (size_t i = 0; i < digits; ++i) {
      int digit = hex_value(peek());
      if (digit < 0) refuse("an escape has too few hexadecimal digits");
      value = 16 * value + static_cast<char32_t>(digit);
      ++at_;
    }
    if (value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) {
      refuse("an escape is not a Unicode character");
    }
    return value;
  }

  std::string_view text_;
  size_t at_ = 0;
  GbnfText result_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

}  // namespace

GbnfText read_gbnf(std::string_view text) { return GbnfReader(text).read(); }

}  // namespace hearth
