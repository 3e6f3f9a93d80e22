// The parser of chat templates: turns tokens into a tree, by Jinja's grammar. Statements are those
// of template_tree.h; all others (include, import, block, call, with, ...) are refused by name.
// Filters and tests may have any name: an unknown one is an error only where it is reached.
//
// Errors are TemplateSyntaxErrors. Nesting deeper than kTemplateDepth levels is refused.
#pragma once

#include <string_view>
#include <vector>

#include "template/template_lexer.h"
#include "template/template_tree.h"

namespace hearth {

inline constexpr uint32_t kTemplateDepth = 64;

class TokenStream {
 public:
  explicit TokenStream(std::vector<TemplateToken> tokens) : tokens_(std::move(tokens)) {}

  const TemplateToken& current() const { return tokens_[at_]; }
  const TemplateToken& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const TemplateToken& take();
  bool skip_operator(std::string_view name);
  bool skip_name(std::string_view name);
  void expect_operator(std::string_view name);
  std::string expect_name(const char* what);
  [[noreturn]] void refuse(std::string message, bool unsupported = false) const;
  [[noreturn]] void refuse_current(std::string_view expected) const;

 private:
  std::vector<TemplateToken> tokens_;
  size_t at_ = 0;
};

// Parses expressions and assignment targets.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  // Parses an expression; `with_condition` allows `a if b else c` at its top.
  ExpressionPtr parse(bool with_condition = true);
  // Parses one expression, or several with commas between them: a tuple.
  ExpressionPtr parse_tuple(bool with_condition = true);
  // Parses filters behind `subject`; with `start_inline` the first has no `|`.
  ExpressionPtr parse_filters(ExpressionPtr subject, bool start_inline = false);
  Target parse_target(bool with_namespace);

  // Counts a level of nesting while it lives.
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

 private:
  ExpressionPtr make(ExpressionKind kind) const;
  ExpressionPtr constant(TemplateValue value) const;
  ExpressionPtr parse_either();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  bool take_compare(CompareOp* op);
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_chain(ExpressionPtr (ExpressionParser::*part)(), size_t first, size_t count);
  ExpressionPtr parse_unary() { return parse_unary(true); }
  ExpressionPtr parse_unary(bool with_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name();
  ExpressionPtr parse_string();
  ExpressionPtr parse_parentheses();
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr object);
  ExpressionPtr parse_tail(ExpressionPtr subject);
  ExpressionPtr parse_call(ExpressionPtr function);
  ExpressionPtr parse_attribute(ExpressionPtr object);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_test(ExpressionPtr subject);
  void parse_arguments(Expression& call);
  bool at_tuple_end() const;
  Target parse_one_target(bool with_namespace);

  TokenStream& tokens_;
  uint32_t depth_ = 0;
};

Body parse_template(std::string_view source);

}  // namespace hearth
