// TokenStream: the tokens of a template as its parser reads them.
#include "template/template_parser.h"

namespace hearth {

const TemplateToken& TokenStream::take() {
  const TemplateToken& token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::skip_operator(std::string_view name) {
  if (!current().is_operator(name)) return false;
  take();
  return true;
}

bool TokenStream::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}

void TokenStream::expect_operator(std::string_view name) {
  if (!skip_operator(name)) refuse_current(fmt::format("'{}'", name));
}

std::string TokenStream::expect_name(const char* what) {
  if (current().kind != TokenKind::kName) refuse_current(what);
  return take().text;
}

void TokenStream::refuse(std::string message, bool unsupported) const {
  throw TemplateSyntaxError{std::move(message), current().line, unsupported};
}

void TokenStream::refuse_current(std::string_view expected) const {
  const TemplateToken& token = current();
  std::string found;
  switch (token.kind) {
    case TokenKind::kEnd:
      found = "the end of the template";
      break;
    case TokenKind::kBlockEnd:
      found = "'%}'";
      break;
    case TokenKind::kOutputEnd:
      found = "'}}'";
      break;
    default:
      found = fmt::format("'{}'", token.text.substr(0, 40));
  }
  refuse(fmt::format("expected {}, but found {}", expected, found));
}

}  // namespace hearth
