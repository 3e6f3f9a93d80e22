// The lexer of chat templates: splits a template's source into text, and the tokens of `{{ }}` and
// `{% %}`, as Jinja does with trim_blocks and lstrip_blocks. Comments, and the white space that
// Jinja removes, are dropped.
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
  bool unsupported;  // well-formed, but not supported by this program
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
  std::string text;  // of a string, its value
  int64_t whole = 0;
  double real = 0;

  bool is(TokenKind other, std::string_view what) const { return kind == other && text == what; }
  bool is_name(std::string_view name) const { return is(TokenKind::kName, name); }
  bool is_operator(std::string_view name) const { return is(TokenKind::kOperator, name); }
};

// Returns the tokens; the last one is kEnd.
std::vector<TemplateToken> lex_template(std::string_view source);

// Returns whether Python counts the character as white space.
bool is_python_space(char32_t c);
// Return the bytes of white space at the beginning and at the end.
size_t leading_space(std::string_view bytes);
size_t trailing_space(std::string_view bytes);

}  // namespace hearth
