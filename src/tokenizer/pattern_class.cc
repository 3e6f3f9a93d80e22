#define PCRE2_CODE_UNIT_WIDTH 8
#include "tokenizer/pattern_class.h"

#include <pcre2.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace hearth {

namespace {

constexpr size_t kMaxDepth = 16;

// Unicode's White_Space. PCRE2's own \s adds U+180E, which lost that property.
constexpr std::string_view kWhiteSpace =
    R"(\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
constexpr std::string_view kNoWhiteSpace =
    R"(\x00-\x08\x0E-\x1F!-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027})"
    R"(\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
#define HEARTH_WORD R"(\p{Alphabetic}\p{M}\p{Nd}\p{Pc})"
constexpr std::string_view kWord = HEARTH_WORD;
// Outside of classes Oniguruma's \w also matches these numeric characters of Latin-1.
constexpr std::string_view kLooseWord = HEARTH_WORD R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";
constexpr std::string_view kHexDigits = "0-9A-Fa-f";

struct NamedSet {
  std::string_view name, spelled;
};
// Sets with POSIX names that PCRE2 defines differently: [:alpha:] or \p{Alpha}.
constexpr std::array<NamedSet, 8> kPosixSets = {{{"alpha", R"(\p{Alphabetic})"},
                                                 {"alnum", R"(\p{Alphabetic}\p{Nd})"},
                                                 {"blank", R"(\t\p{Zs})"},
                                                 {"lower", R"(\p{Lowercase})"},
                                                 {"punct", R"(\p{P}\p{S})"},
                                                 {"space", kWhiteSpace},
                                                 {"upper", R"(\p{Uppercase})"},
                                                 {"word", kWord}}};
// Property names that PCRE2 lacks, such as \p{Letter}.
constexpr std::array<NamedSet, 13> kProperties = {{{"letter", "L"},
                                                   {"punct", "P"},
                                                   {"uppercase_letter", "Lu"},
                                                   {"lowercase_letter", "Ll"},
                                                   {"titlecase_letter", "Lt"},
                                                   {"modifier_letter", "Lm"},
                                                   {"other_letter", "Lo"},
                                                   {"mark", "M"},
                                                   {"number", "N"},
                                                   {"decimal_number", "Nd"},
                                                   {"punctuation", "P"},
                                                   {"symbol", "S"},
                                                   {"separator", "Z"}}};

template <size_t kCount>
std::string_view find_set(const std::array<NamedSet, kCount>& sets, std::string_view name) {
  auto same = [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); };
  for (const NamedSet& set : sets) {
    if (std::ranges::equal(set.name, name, same)) return set.spelled;
  }
  return {};
}

bool compiles(const std::string& pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_UCP, &error, &offset, nullptr);
  pcre2_code_free(code);
  if (code == nullptr && error == PCRE2_ERROR_HEAP_FAILED) throw std::bad_alloc();
  return code != nullptr;
}

// Rewrites a property. PCRE2's \p{Han} would include characters that only its script extensions
// have.
std::string spell_property(std::string_view text, size_t* taken) {
  const std::string letter(text.substr(0, 2));
  const size_t end = text.find('}');
  if (text.size() < 3 || text[2] != '{' || end == std::string_view::npos || end > 64) {
    *taken = std::min<size_t>(text.size(), 2);
    return letter;
  }
  *taken = end + 1;
  std::string_view name = text.substr(3, end - 3);
  const std::string not_it(name.starts_with('^') ? "^" : "");
  name.remove_prefix(not_it.size());
  if (const std::string_view category = find_set(kProperties, name); !category.empty()) {
    return letter + "{" + not_it + std::string(category) + "}";
  }
  const std::string of_script = "\\p{sc:" + std::string(name) + "}";
  if (name.size() > 2 && compiles(of_script)) {
    return letter + "{" + not_it + of_script.substr(3);
  }
  return std::string(text.substr(0, end + 1));
}

// An escape with the same meaning inside and outside of classes, but for the brackets.
struct Escape {
  std::string positive;  // the members, as written in a class
  bool negated = false;  // all characters but the members
  size_t taken = 2;
};

Escape read_escape(std::string_view text, bool in_class) {
  if (text.size() < 2) return {"\\\\", false, text.size()};
  if (text.starts_with("\\p{")) {
    const size_t end = std::min(text.find('}'), text.size() - 1);
    const std::string_view name = text.substr(3, end - 3);
    const std::string_view set = find_set(kPosixSets, name);
    if (!set.empty() && find_set(kProperties, name).empty())
      return {std::string(set), false, end + 1};
  }
  switch (text[1]) {
    case 's':
      return {std::string(kWhiteSpace)};
    case 'S':
      return {std::string(kNoWhiteSpace)};
    case 'w':
      return {std::string(in_class ? kWord : kLooseWord)};
    case 'W':
      return {std::string(in_class ? kWord : kLooseWord), true};
    case 'h':
      return {std::string(kHexDigits)};
    case 'H':
      return {std::string(kHexDigits), true};
    default:
      return {};
  }
}

std::string bracketed(const Escape& escape) {
  return (escape.negated ? "[^" : "[") + escape.positive + "]";
}

// Rewrites the other escapes, which PCRE2 takes unchanged but for some names.
PatternPiece plain_escape(std::string_view text) {
  const char c = text[1];
  if (c == 'v') return {"\\x0B", 2};
  if (c == 'Q' || c == 'E') return {std::string(1, c), 2};
  if (c == 'p' || c == 'P') {
    size_t taken = 0;
    std::string spelled = spell_property(text, &taken);
    return {std::move(spelled), taken};
  }
  if (c == 'u' && text.size() >= 6) {
    return {"\\x{" + std::string(text.substr(2, 4)) + "}", 6};
  }
  if (c == 'x' && text.size() >= 3 && text[2] == '{') {
    const size_t end = std::min(text.find('}'), text.size() - 1);
    return {std::string(text.substr(0, end + 1)), end + 1};
  }
  const size_t length = 1 + std::max<size_t>(utf8_sequence(text.substr(1)), 1);
  return {std::string(text.substr(0, length)), length};
}

// The part of a class between two "&&".
struct Operand {
  std::string plain;                // members, as written between brackets
  std::vector<std::string> others;  // further expressions that match one character each
};

std::string expression(const Operand& operand) {
  if (operand.others.empty()) return operand.plain.empty() ? "(?!)" : "[" + operand.plain + "]";
  std::string spelled = "(?:";
  if (!operand.plain.empty()) spelled += "[" + operand.plain + "]|";
  for (const std::string& other : operand.others) spelled += other + "|";
  spelled.back() = ')';
  return spelled;
}

// Reads a class, or a class nested in one.
class ClassReader {
 public:
  explicit ClassReader(std::string_view text) : rest_(text) {}

  struct Class {
    Operand last;  // the whole class if there is no "&&"
    std::vector<std::string> looked_at;
    bool negated = false;
  };

  std::string run() { return spelled(read(0)); }
  size_t left() const { return rest_.size(); }

 private:
  static std::string spelled(const Class& found) {
    if (found.looked_at.empty() && found.last.others.empty() && !found.last.plain.empty()) {
      return (found.negated ? "[^" : "[") + found.last.plain + "]";
    }
    std::string whole;
    for (const std::string& operand : found.looked_at) whole += "(?=" + operand + ")";
    whole += expression(found.last);
    return found.negated ? "(?:(?!" + whole + ")(?s:.))" : "(?:" + whole + ")";
  }

  // Reads a class from behind its "[".
  Class read(size_t depth) {
    if (depth > kMaxDepth) {
      fail(ErrorCode::kFile, "classes are nested deeper than {}", kMaxDepth);
    }
    rest_.remove_prefix(1);
    Class found;
    if (rest_.starts_with('^')) {
      found.negated = true;
      rest_.remove_prefix(1);
    }
    for (bool first = true; !rest_.empty(); first = false) {
      if (rest_[0] == ']' && !first) {
        rest_.remove_prefix(1);
        return found;
      }
      if (rest_.starts_with("&&")) {
        found.looked_at.push_back(expression(found.last));
        found.last = {};
        rest_.remove_prefix(2);
        continue;
      }
      element(depth, &found.last);
    }
    // The class does not end; an unclosed group makes PCRE2 refuse it.
    found.last.others.emplace_back("(");
    return found;
  }

  void element(size_t depth, Operand* into) {
    if (rest_.starts_with("[:")) {
      const size_t end = rest_.substr(0, 18).find(":]");
      if (end != std::string_view::npos && end < 16) {
        const std::string_view name = rest_.substr(0, end + 2);
        const std::string_view set = find_set(kPosixSets, name.substr(2, name.size() - 4));
        into->plain += set.empty() ? name : set;
        rest_.remove_prefix(end + 2);
        return;
      }
    }
    if (rest_[0] == '[') {
      const Class inner = read(depth + 1);
      if (inner.looked_at.empty() && inner.last.others.empty() && !inner.negated) {
        into->plain += inner.last.plain;
      } else {
        into->others.push_back(spelled(inner));
      }
      return;
    }
    if (rest_[0] != '\\') {
      const size_t length = std::max<size_t>(utf8_sequence(rest_), 1);
      if (rest_[0] == ']') into->plain += '\\';
      into->plain += rest_.substr(0, length);
      rest_.remove_prefix(length);
      return;
    }
    const Escape escape = read_escape(rest_, true);
    if (escape.positive.empty()) {
      const PatternPiece piece = plain_escape(rest_);
      into->plain += piece.spelled;
      rest_.remove_prefix(piece.taken);
      return;
    }
    if (escape.negated) {
      into->others.push_back(bracketed(escape));
    } else {
      into->plain += escape.positive;
    }
    rest_.remove_prefix(escape.taken);
  }

  std::string_view rest_;
};

// Returns the pattern of a word boundary, or of no boundary.
std::string word_border(bool is_border) {
  const std::string word = "[" + std::string(kLooseWord) + "]";
  const std::string before = "(?<=" + word + ")", no_before = "(?<!" + word + ")";
  const std::string behind = "(?=" + word + ")", no_behind = "(?!" + word + ")";
  if (is_border) return "(?:" + before + no_behind + "|" + no_before + behind + ")";
  return "(?:" + before + behind + "|" + no_before + no_behind + ")";
}

}  // namespace

PatternPiece spell_escape(std::string_view text) {
  const Escape escape = read_escape(text, false);
  if (!escape.positive.empty()) return {bracketed(escape), escape.taken};
  if (text[1] == 'b' || text[1] == 'B') return {word_border(text[1] == 'b'), 2};
  return plain_escape(text);
}

PatternPiece spell_class(std::string_view text) {
  ClassReader reader(text);
  std::string spelled = reader.run();
  return {std::move(spelled), text.size() - reader.left()};
}

}  // namespace hearth
