#include "template/template_lexer.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/utf8.h"

namespace hearth {

bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

size_t leading_space(std::string_view bytes) {
  size_t at = 0;
  while (at < bytes.size()) {
    size_t length = character_bytes(bytes[at]);
    if (!is_python_space(utf8_decode(bytes.substr(at, length)))) break;
    at += length;
  }
  return at;
}

size_t trailing_space(std::string_view bytes) {
  size_t end = bytes.size();
  while (end > 0) {
    size_t at = end - 1;
    while (at > 0 && (bytes[at] & 0xC0) == 0x80) --at;
    if (!is_python_space(utf8_decode(bytes.substr(at, end - at)))) break;
    end = at;
  }
  return bytes.size() - end;
}

namespace {

constexpr std::array<std::string_view, 26> kOperators = {
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "*", "/", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ",", ";"};

bool is_word(std::string_view character) {
  char32_t c = utf8_decode(character);
  if (c < 0x80) {
    const char ascii = character.front();
    return ascii == '_' || is_digit(ascii) || is_letter(ascii);
  }
  utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category <= UTF8PROC_CATEGORY_NO;  // letters, marks and numbers
}

// Returns the text with all line ends as \n, and without the last one.
std::string normal_lines(std::string_view source) {
  std::string text;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      text += source[i];
    }
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normal_lines(source)), rest_(source_) {}

  std::vector<TemplateToken> run() {
    while (!rest_.empty()) lex_text();
    add(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void refuse(std::string message) const {
    throw TemplateSyntaxError{std::move(message), line_, false};
  }

  TemplateToken& add(TokenKind kind, std::string_view text) {
    tokens_.push_back({kind, line_, std::string(text)});
    return tokens_.back();
  }

  void take(size_t bytes) {
    line_ += static_cast<uint32_t>(std::ranges::count(rest_.substr(0, bytes), '\n'));
    line_starting_ = bytes > 0 && rest_[bytes - 1] == '\n';
    rest_.remove_prefix(bytes);
  }

  size_t find_tag() const {
    for (size_t at = 0; (at = rest_.find('{', at)) != std::string_view::npos; ++at) {
      if (at + 1 < rest_.size() &&
          std::string_view("{%#").find(rest_[at + 1]) != std::string_view::npos) {
        return at;
      }
    }
    return std::string_view::npos;
  }

  // Reads text up to the next tag, and the tag.
  void lex_text() {
    size_t tag = find_tag();
    std::string_view text = rest_.substr(0, tag);
    if (tag == std::string_view::npos) {
      add(TokenKind::kText, text);
      return take(text.size());
    }
    char kind = rest_[tag + 1];
    char sign = tag + 2 < rest_.size() ? rest_[tag + 2] : ' ';
    if (sign != '-' && sign != '+') sign = ' ';
    if (sign == '-') {
      text.remove_suffix(trailing_space(text));
    } else if (sign == ' ' && kind != '{') {
      size_t line = text.rfind('\n') + 1;  // 0 in the first line
      if ((line > 0 || line_starting_) && leading_space(text.substr(line)) == text.size() - line) {
        text = text.substr(0, line);
      }
    }
    if (!text.empty()) add(TokenKind::kText, text);
    take(tag + (sign == ' ' ? 2 : 3));
    if (kind == '#') return skip_comment();
    bool block = kind == '%';
    add(block ? TokenKind::kBlockBegin : TokenKind::kOutputBegin, "");
    lex_tag(block);
  }

  void skip_comment() {
    size_t end = rest_.find("#}");
    if (end == std::string_view::npos) refuse("a comment does not end with '#}'");
    char sign = end > 0 ? rest_[end - 1] : ' ';
    finish_tag(end + 2, sign, true);
  }

  // Skips the white space behind the end of a tag, as far as Jinja removes it.
  void finish_tag(size_t bytes, char sign, bool trim) {
    if (sign == '-') {
      bytes += leading_space(rest_.substr(bytes));
    } else if (trim && sign != '+' && bytes < rest_.size() && rest_[bytes] == '\n') {
      ++bytes;
    }
    take(bytes);
  }

  bool at_end(bool block) {
    if (!open_.empty()) return false;
    std::string_view end = block ? "%}" : "}}";
    char sign = rest_[0];
    bool is_signed = sign == '-' || (block && sign == '+');
    if (!rest_.substr(is_signed ? 1 : 0).starts_with(end)) return false;
    add(block ? TokenKind::kBlockEnd : TokenKind::kOutputEnd, "");
    finish_tag(is_signed ? 3 : 2, is_signed ? sign : ' ', block);
    return true;
  }

  void lex_tag(bool block) {
    while (true) {
      if (rest_.empty())
        refuse(block ? "a tag does not end with '%}'" : "an output does not end with '}}'");
      if (at_end(block)) return;
      if (size_t space = leading_space(rest_); space > 0) {
        take(space);
      } else if (is_digit(rest_[0])) {
        lex_number();
      } else if (is_word(rest_.substr(0, character_bytes(rest_[0])))) {
        lex_name();
      } else if (rest_[0] == '\'' || rest_[0] == '"') {
        lex_string();
      } else {
        lex_operator();
      }
    }
  }

  void lex_name() {
    size_t end = 0;
    while (end < rest_.size()) {
      size_t length = character_bytes(rest_[end]);
      if (!is_word(rest_.substr(end, length))) break;
      end += length;
    }
    // The length is limited, since names are looked up and copied at every step.
    constexpr size_t kMaxNameBytes = 1000;
    if (end > kMaxNameBytes) refuse("a name is longer than 1000 bytes");
    add(TokenKind::kName, rest_.substr(0, end));
    take(end);
  }

  void lex_operator() {
    for (std::string_view name : kOperators) {
      if (!rest_.starts_with(name)) continue;
      balance(name[0]);
      add(TokenKind::kOperator, name);
      return take(name.size());
    }
    refuse(fmt::format("'{}' is not allowed in a tag", rest_.substr(0, character_bytes(rest_[0]))));
  }

  void balance(char c) {
    if (c == '(' || c == '[' || c == '{') open_ += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') return;
    if (open_.empty() || open_.back() != c) refuse(fmt::format("'{}' has no opening bracket", c));
    open_.pop_back();
  }

  // Returns the end of the digits from `at`, which may have single underscores between them.
  size_t digits_end(size_t at, int base = 10) const {
    size_t end = at;
    while (end < rest_.size()) {
      size_t digit = rest_[end] == '_' && end > at ? end + 1 : end;
      int value = digit < rest_.size() ? hex_value(rest_[digit]) : -1;
      if (value < 0 || value >= base) break;
      end = digit + 1;
    }
    return end;
  }

  size_t float_end(size_t whole) const {
    size_t end = whole;
    if (end + 1 < rest_.size() && rest_[end] == '.' && is_digit(rest_[end + 1])) {
      end = digits_end(end + 1);
    }
    if (end < rest_.size() && (rest_[end] | 0x20) == 'e') {
      size_t digits = end + 1;
      if (digits < rest_.size() && (rest_[digits] == '+' || rest_[digits] == '-')) ++digits;
      size_t stop = digits_end(digits);
      if (stop > digits && is_digit(rest_[digits])) end = stop;
    }
    return end;
  }

  void lex_number() {
    constexpr std::string_view kPrefixes = "box";
    constexpr int kBases[] = {2, 8, 16};
    size_t prefix = rest_[0] == '0' && rest_.size() > 1
                        ? kPrefixes.find(static_cast<char>(rest_[1] | 0x20))
                        : std::string_view::npos;
    if (prefix != std::string_view::npos) {
      size_t begin = rest_.size() > 2 && rest_[2] == '_' ? 3 : 2;
      size_t end = digits_end(begin, kBases[prefix]);
      if (end > begin) return add_whole(end, rest_.substr(begin, end - begin), kBases[prefix]);
    }
    size_t whole = digits_end(0);
    bool after_dot = !tokens_.empty() && tokens_.back().is_operator(".");
    size_t end = after_dot ? whole : float_end(whole);
    if (end > whole) {
      std::string digits(rest_.substr(0, end));
      std::erase(digits, '_');
      add(TokenKind::kFloat, digits);
      auto [stop, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), tokens_.back().real);
      if (error != std::errc{}) refuse("a number is beyond the range of a double");
      return take(end);
    }
    // Python allows only zeros after a leading zero.
    if (rest_[0] == '0') {
      whole = 1;
      while (whole < rest_.size() &&
             (rest_[whole] == '0' || rest_.substr(whole).starts_with("_0"))) {
        whole += rest_[whole] == '0' ? 1 : 2;
      }
    }
    add_whole(whole, rest_.substr(0, whole), 10);
  }

  void add_whole(size_t end, std::string_view written, int base) {
    std::string digits(written);
    std::erase(digits, '_');
    TemplateToken& token = add(TokenKind::kInt, digits);
    auto [stop, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), token.whole, base);
    if (error != std::errc{}) refuse("a whole number does not fit into 64 bits");
    take(end);
  }

  void lex_string() {
    char quote = rest_[0];
    size_t end = 1;
    while (end < rest_.size() && rest_[end] != quote) end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) refuse("a string has no end");
    add(TokenKind::kString, unescape(rest_.substr(1, end - 1)));
    take(end + 1);
  }

  std::string unescape(std::string_view written) const {
    std::string text;
    for (size_t at = 0; at < written.size();) {
      if (written[at] != '\\') {
        text += written[at++];
      } else {
        at = unescape_one(written, at + 1, &text);
      }
    }
    return text;
  }

  // Appends the character that an escape stands for; `at` is behind its backslash. Returns the
  // position behind the escape.
  size_t unescape_one(std::string_view written, size_t at, std::string* text) const {
    constexpr std::string_view kNames = "\\'\"abfnrtv";
    constexpr std::string_view kMeanings = "\\'\"\a\b\f\n\r\t\v";
    char c = written[at];
    if (c == '\n') return at + 1;
    if (size_t which = kNames.find(c); which != std::string_view::npos) {
      *text += kMeanings[which];
      return at + 1;
    }
    if (c >= '0' && c <= '7') {
      char32_t code = 0;
      size_t end = at;
      for (; end < written.size() && end < at + 3 && written[end] >= '0' && written[end] <= '7';
           ++end) {
        code = code * 8 + static_cast<char32_t>(written[end] - '0');
      }
      utf8_append(*text, code);
      return end;
    }
    if (c == 'x' || c == 'u' || c == 'U') {
      size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
      return unescape_code(written, at + 1, digits, text);
    }
    if (c == 'N') refuse("a string names a character by \\N{...}, which is not supported");
    *text += '\\';
    if (static_cast<uint8_t>(c) < 0x80) {
      *text += c;
      return at + 1;
    }
    // Jinja escapes non-ASCII characters first, so the backslash becomes a part of that escape.
    size_t length = character_bytes(c);
    auto code = static_cast<uint32_t>(utf8_decode(written.substr(at, length)));
    *text += code < 0x100     ? fmt::format("x{:02x}", code)
             : code < 0x10000 ? fmt::format("u{:04x}", code)
                              : fmt::format("U{:08x}", code);
    return at + length;
  }

  size_t unescape_code(std::string_view written, size_t at, size_t digits,
                       std::string* text) const {
    uint32_t code = 0;
    for (size_t i = 0; i < digits; ++i) {
      int digit = at + i < written.size() ? hex_value(written[at + i]) : -1;
      if (digit < 0) refuse("a string has an escape with too few digits");
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      refuse("a string has an escape that is not a character");
    }
    utf8_append(*text, code);
    return at + digits;
  }

  std::string source_;
  std::string_view rest_;
  uint32_t line_ = 1;
  bool line_starting_ = true;
  std::string open_;  // brackets that are open, the innermost last
  std::vector<TemplateToken> tokens_;
};

}  // namespace

std::vector<TemplateToken> lex_template(std::string_view source) {
  if (!is_well_formed(source)) throw TemplateSyntaxError{"the template is not UTF-8", 1, false};
  return Lexer(source).run();
}

}  // namespace hearth
