#include "template/template_parser.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace hearth {
namespace {

using Names = std::initializer_list<std::string_view>;

class StatementParser {
 public:
  explicit StatementParser(TokenStream& tokens) : tokens_(tokens), expressions_(tokens) {}

  // Parses up to a tag that begins with one of `ends`, and stops behind its `{%`. If `ends` is
  // empty, parses to the template's end.
  Body parse_body(Names ends) {
    ExpressionParser::Level level(expressions_);
    Body body;
    while (true) {
      const TemplateToken& token = tokens_.current();
      switch (token.kind) {
        case TokenKind::kText:
          body.push_back(parse_text());
          break;
        case TokenKind::kOutputBegin:
          body.push_back(parse_output());
          break;
        case TokenKind::kBlockBegin: {
          const TemplateToken& name = tokens_.ahead();
          auto ends_here = [&](std::string_view end) { return name.is_name(end); };
          tokens_.take();
          if (std::ranges::any_of(ends, ends_here)) return body;
          body.push_back(parse_statement());
          break;
        }
        default:
          if (ends.size() != 0) {
            tokens_.refuse(fmt::format("the tag '{}' is missing", *(ends.end() - 1)));
          }
          return body;
      }
    }
  }

 private:
  StatementPtr make(StatementKind kind) const {
    auto statement = std::make_unique<Statement>();
    statement->kind = kind;
    statement->line = tokens_.current().line;
    return statement;
  }

  void end_block() {
    if (tokens_.current().kind != TokenKind::kBlockEnd) tokens_.refuse_current("'%}'");
    tokens_.take();
  }

  // Reads the tag at which parse_body() stopped.
  void end_tag() {
    tokens_.take();
    end_block();
  }

  StatementPtr parse_text() {
    StatementPtr statement = make(StatementKind::kText);
    statement->text =
        std::make_shared<const Text>(tokens_.take().text, std::vector<ByteRange>(), false, nullptr);
    return statement;
  }

  StatementPtr parse_output() {
    StatementPtr statement = make(StatementKind::kOutput);
    tokens_.take();
    statement->expression = expressions_.parse_tuple();
    if (tokens_.current().kind != TokenKind::kOutputEnd) tokens_.refuse_current("'}}'");
    tokens_.take();
    return statement;
  }

  StatementPtr parse_statement() {
    const TemplateToken& name = tokens_.current();
    if (name.kind != TokenKind::kName) tokens_.refuse_current("the name of a statement");
    if (name.text == "if") return parse_if();
    if (name.text == "for") return parse_for();
    if (name.text == "set") return parse_set();
    if (name.text == "macro") return parse_macro();
    if (name.text == "filter") return parse_filter_block();
    if (name.text == "generation") return parse_generation();
    if (name.text == "break" || name.text == "continue") return parse_jump();
    constexpr std::array<std::string_view, 11> kOthers = {
        "raw",  "block", "extends", "include",    "import", "from",
        "call", "with",  "do",      "autoescape", "print"};
    bool known = std::ranges::find(kOthers, name.text) != kOthers.end();
    tokens_.refuse(known ? fmt::format("the statement '{}' is not supported", name.text)
                         : fmt::format("'{}' is not a statement, or does not end an open one",
                                       name.text.substr(0, 100)),
                   known);
  }

  StatementPtr parse_if() {
    StatementPtr statement = make(StatementKind::kIf);
    while (true) {
      bool otherwise = tokens_.take().text == "else";
      Branch branch;
      if (!otherwise) branch.condition = expressions_.parse_tuple(false);
      end_block();
      branch.body = otherwise ? parse_body({"endif"}) : parse_body({"elif", "else", "endif"});
      statement->branches.push_back(std::move(branch));
      if (tokens_.current().is_name("endif")) break;
    }
    end_tag();
    return statement;
  }

  static bool assigns(const Target& target, std::string_view name) {
    return target.name == name || std::ranges::any_of(target.targets, [&](const Target& part) {
             return assigns(part, name);
           });
  }

  StatementPtr parse_for() {
    StatementPtr statement = make(StatementKind::kFor);
    tokens_.take();
    statement->target = expressions_.parse_target(false);
    if (assigns(statement->target, "loop"))
      tokens_.refuse("a loop's variable cannot be named 'loop'");
    if (!tokens_.skip_name("in")) tokens_.refuse_current("'in'");
    statement->expression = expressions_.parse_tuple(false);
    if (tokens_.skip_name("if")) statement->condition = expressions_.parse();
    if (tokens_.current().is_name("recursive")) {
      tokens_.refuse("a recursive loop is not supported", true);
    }
    end_block();
    ++loops_;
    statement->body = parse_body({"else", "endfor"});
    --loops_;
    if (tokens_.current().is_name("else")) {
      end_tag();
      statement->otherwise = parse_body({"endfor"});
    }
    end_tag();
    return statement;
  }

  StatementPtr parse_set() {
    StatementPtr statement = make(StatementKind::kSet);
    tokens_.take();
    statement->target = expressions_.parse_target(true);
    if (tokens_.skip_operator("=")) {
      statement->expression = expressions_.parse_tuple();
      end_block();
      return statement;
    }
    statement->kind = StatementKind::kSetBlock;
    statement->expression = expressions_.parse_filters(subject());
    end_block();
    statement->body = parse_body({"endset"});
    end_tag();
    return statement;
  }

  ExpressionPtr subject() const {
    auto expression = std::make_unique<Expression>();
    expression->kind = ExpressionKind::kSubject;
    expression->line = tokens_.current().line;
    return expression;
  }

  StatementPtr parse_macro() {
    StatementPtr statement = make(StatementKind::kMacro);
    tokens_.take();
    statement->name = tokens_.expect_name("the name of a macro");
    tokens_.expect_operator("(");
    while (!tokens_.current().is_operator(")")) {
      Parameter parameter;
      parameter.name = tokens_.expect_name("the name of a parameter");
      if (tokens_.skip_operator("=")) {
        parameter.otherwise = expressions_.parse();
      } else if (!statement->parameters.empty() &&
                 statement->parameters.back().otherwise != nullptr) {
        tokens_.refuse("a parameter without a default follows one with a default");
      }
      auto same = [&](const Parameter& other) { return other.name == parameter.name; };
      if (std::ranges::any_of(statement->parameters, same)) {
        tokens_.refuse(fmt::format("the parameter '{}' appears twice", parameter.name));
      }
      statement->parameters.push_back(std::move(parameter));
      if (!tokens_.current().is_operator(")")) tokens_.expect_operator(",");
    }
    tokens_.take();
    end_block();
    statement->body = parse_inner("endmacro");
    return statement;
  }

  // Parses a body in which break and continue cannot leave loops outside of it.
  Body parse_inner(std::string_view end) {
    uint32_t loops = 0;
    std::swap(loops, loops_);
    Body body = parse_body({end});
    std::swap(loops, loops_);
    end_tag();
    return body;
  }

  StatementPtr parse_filter_block() {
    StatementPtr statement = make(StatementKind::kFilterBlock);
    tokens_.take();
    statement->expression = expressions_.parse_filters(subject(), true);
    end_block();
    statement->body = parse_body({"endfilter"});
    end_tag();
    return statement;
  }

  StatementPtr parse_generation() {
    StatementPtr statement = make(StatementKind::kGeneration);
    end_tag();
    statement->body = parse_inner("endgeneration");
    return statement;
  }

  StatementPtr parse_jump() {
    bool leaves = tokens_.current().is_name("break");
    StatementPtr statement = make(leaves ? StatementKind::kBreak : StatementKind::kContinue);
    if (loops_ == 0) tokens_.refuse("'break' or 'continue' is outside a loop");
    end_tag();
    return statement;
  }

  TokenStream& tokens_;
  ExpressionParser expressions_;
  uint32_t loops_ = 0;
};

}  // namespace

Body parse_template(std::string_view source) {
  TokenStream tokens(lex_template(source));
  return StatementParser(tokens).parse_body({});
}

}  // namespace hearth
