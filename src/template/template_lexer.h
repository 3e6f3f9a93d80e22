// The lexer of chat templates: cuts a template's source into text, and the tokens of `{{ }}` and
// `{% %}`, as Jinja does with trim_blocks and lstrip_blocks. Comments and white space are gone.
//
// Errors are TemplateSyntaxErrors, with the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "template/template_text.h"

namespace hearth {

struct TemplateSyntaxError {
  std::string message;
  uint32_t line;
  bool unsupported;  // well-formed, but not something this program has
};

enum class TokenKind : uint8_t {
  kText,
  kOutputBegin,
  kOutputEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInt,
  kFloat,
  kOperator,
  kEnd,
};

struct TemplateToken {
  TokenKind kind;
  uint32_t line;
  std::string text;  // of a string, what it stands for
  int64_t whole = 0;
  double real = 0;

  bool is(TokenKind other, std::string_view what) const { return kind == other && text == what; }
  bool is_name(std::string_view name) const { return is(TokenKind::kName, name); }
  bool is_operator(std::string_view name) const { return is(TokenKind::kOperator, name); }
};

// The last token is kEnd.
std::vector<TemplateToken> lex_template(std::string_view source);

// Whether Python counts the character as white space.
bool is_python_space(char32_t c);
// Bytes of white space at the beginning and at the end.
size_t leading_space(std::string_view bytes);
size_t trailing_space(std::string_view bytes);

}  // namespace hearth
