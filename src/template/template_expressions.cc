// ExpressionParser: parses the expressions of chat templates.
#include <algorithm>
#include <array>

#include "template/template_parser.h"

namespace hearth {
namespace {

// The most filters, attributes and calls in a row.
constexpr size_t kTailParts = kTemplateDepth;
// The most operands in a row, arguments, elements.
constexpr size_t kParts = 4096;

constexpr std::array<std::string_view, 7> kBinaryNames = {"+", "-", "*", "/", "//", "%", "**"};
constexpr std::array<std::string_view, 6> kCompareNames = {"<", "<=", ">", ">=", "==", "!="};

TextRef own_text(std::string bytes) {
  return std::make_shared<const Text>(std::move(bytes), std::vector<ByteRange>(), false, nullptr);
}

}  // namespace

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.depth_ > kTemplateDepth) {
    --parser_.depth_;
    parser_.tokens_.refuse(fmt::format("it is nested deeper than {} levels", kTemplateDepth), true);
  }
}

ExpressionPtr ExpressionParser::make(ExpressionKind kind) const {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = tokens_.current().line;
  return expression;
}

ExpressionPtr ExpressionParser::constant(TemplateValue value) const {
  ExpressionPtr expression = make(ExpressionKind::kConstant);
  expression->constant = std::move(value);
  return expression;
}

ExpressionPtr ExpressionParser::parse(bool with_condition) {
  Level level(*this);
  return with_condition ? parse_either() : parse_or();
}

ExpressionPtr ExpressionParser::parse_either() {
  ExpressionPtr value = parse_or();
  if (!tokens_.current().is_name("if")) return value;
  Level level(*this);
  ExpressionPtr either = make(ExpressionKind::kCondition);
  tokens_.take();
  ExpressionPtr condition = parse_or();
  ExpressionPtr otherwise = tokens_.skip_name("else") ? parse_either() : nullptr;
  bool more = otherwise == nullptr && tokens_.current().is_name("if");
  if (more) tokens_.refuse("an 'if' follows an 'if' without 'else'", true);
  either->children.push_back(std::move(condition));
  either->children.push_back(std::move(value));
  either->children.push_back(std::move(otherwise));
  return either;
}

ExpressionPtr ExpressionParser::parse_or() {
  ExpressionPtr first = parse_and();
  if (!tokens_.current().is_name("or")) return first;
  ExpressionPtr all = make(ExpressionKind::kOr);
  all->children.push_back(std::move(first));
  while (tokens_.skip_name("or")) all->children.push_back(parse_and());
  return all;
}

ExpressionPtr ExpressionParser::parse_and() {
  ExpressionPtr first = parse_not();
  if (!tokens_.current().is_name("and")) return first;
  ExpressionPtr all = make(ExpressionKind::kAnd);
  all->children.push_back(std::move(first));
  while (tokens_.skip_name("and")) all->children.push_back(parse_not());
  return all;
}

ExpressionPtr ExpressionParser::parse_not() {
  if (!tokens_.current().is_name("not")) return parse_compare();
  Level level(*this);
  ExpressionPtr expression = make(ExpressionKind::kNot);
  tokens_.take();
  expression->children.push_back(parse_not());
  return expression;
}

bool ExpressionParser::take_compare(CompareOp* op) {
  const TemplateToken& token = tokens_.current();
  if (token.kind == TokenKind::kOperator) {
    auto found = std::ranges::find(kCompareNames, token.text);
    if (found == kCompareNames.end()) return false;
    *op = static_cast<CompareOp>(found - kCompareNames.begin());
  } else if (token.is_name("in")) {
    *op = CompareOp::kIn;
  } else if (token.is_name("not") && tokens_.ahead().is_name("in")) {
    *op = CompareOp::kNotIn;
    tokens_.take();
  } else {
    return false;
  }
  tokens_.take();
  return true;
}

ExpressionPtr ExpressionParser::parse_compare() {
  ExpressionPtr first = parse_sum();
  CompareOp op{};
  uint32_t line = tokens_.current().line;
  if (!take_compare(&op)) return first;
  ExpressionPtr compare = make(ExpressionKind::kCompare);
  compare->line = line;
  compare->children.push_back(std::move(first));
  do {
    compare->compares.push_back(op);
    compare->children.push_back(parse_sum());
  } while (take_compare(&op));
  return compare;
}

// Parses `part`s with operators kBinaryNames[first] to [first + count - 1] between them,
// left-associative.
ExpressionPtr ExpressionParser::parse_chain(ExpressionPtr (ExpressionParser::*part)(), size_t first,
                                            size_t count) {
  ExpressionPtr left = (this->*part)();
  ExpressionPtr chain;
  while (tokens_.current().kind == TokenKind::kOperator) {
    auto from = kBinaryNames.begin() + first;
    auto found = std::find(from, from + count, tokens_.current().text);
    if (found == from + count) break;
    if (chain == nullptr) {
      chain = make(ExpressionKind::kChain);
      chain->children.push_back(std::move(left));
    }
    tokens_.take();
    chain->operators.push_back(static_cast<BinaryOp>(found - kBinaryNames.begin()));
    chain->children.push_back((this->*part)());
    if (chain->children.size() > kParts) tokens_.refuse("it has too many operands", true);
  }
  return chain != nullptr ? std::move(chain) : std::move(left);
}

ExpressionPtr ExpressionParser::parse_sum() {
  return parse_chain(&ExpressionParser::parse_concat, 0, 2);
}

ExpressionPtr ExpressionParser::parse_concat() {
  ExpressionPtr first = parse_product();
  if (!tokens_.current().is_operator("~")) return first;
  ExpressionPtr all = make(ExpressionKind::kConcat);
  all->children.push_back(std::move(first));
  while (tokens_.skip_operator("~")) all->children.push_back(parse_product());
  return all;
}

ExpressionPtr ExpressionParser::parse_product() {
  return parse_chain(&ExpressionParser::parse_power, 2, 4);
}

ExpressionPtr ExpressionParser::parse_power() {
  return parse_chain(&ExpressionParser::parse_unary, 6, 1);
}

ExpressionPtr ExpressionParser::parse_unary(bool with_filters) {
  ExpressionPtr value;
  if (tokens_.current().is_operator("-") || tokens_.current().is_operator("+")) {
    Level level(*this);
    bool minus = tokens_.current().is_operator("-");
    value = make(minus ? ExpressionKind::kNegate : ExpressionKind::kPlus);
    tokens_.take();
    value->children.push_back(parse_unary(false));
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return with_filters ? parse_tail(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parse_name() {
  const std::string& name = tokens_.current().text;
  ExpressionPtr value;
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    value = constant(bool_value((name[0] | 0x20) == 't'));
  } else if (name == "none" || name == "None") {
    value = constant(none_value());
  } else {
    value = make(ExpressionKind::kName);
    value->name = name;
  }
  tokens_.take();
  return value;
}

ExpressionPtr ExpressionParser::parse_string() {
  ExpressionPtr value = make(ExpressionKind::kConstant);
  std::string text;
  while (tokens_.current().kind == TokenKind::kString) text += tokens_.take().text;
  value->constant = string_value(own_text(std::move(text)));
  return value;
}

ExpressionPtr ExpressionParser::parse_primary() {
  const TemplateToken& token = tokens_.current();
  switch (token.kind) {
    case TokenKind::kName:
      return parse_name();
    case TokenKind::kString:
      return parse_string();
    case TokenKind::kInt:
    case TokenKind::kFloat: {
      ExpressionPtr value = constant(token.kind == TokenKind::kInt ? int_value(token.whole)
                                                                   : float_value(token.real));
      tokens_.take();
      return value;
    }
    default:
      if (token.is_operator("(")) return parse_parentheses();
      if (token.is_operator("[")) return parse_list();
      if (token.is_operator("{")) return parse_dict();
      tokens_.refuse_current("a value");
  }
}

ExpressionPtr ExpressionParser::parse_parentheses() {
  tokens_.take();
  if (tokens_.current().is_operator(")")) {
    ExpressionPtr empty = make(ExpressionKind::kTuple);
    tokens_.take();
    return empty;
  }
  ExpressionPtr value = parse_tuple();
  tokens_.expect_operator(")");
  return value;
}

bool ExpressionParser::at_tuple_end() const {
  const TemplateToken& token = tokens_.current();
  return token.kind == TokenKind::kBlockEnd || token.kind == TokenKind::kOutputEnd ||
         token.is_operator(")");
}

ExpressionPtr ExpressionParser::parse_tuple(bool with_condition) {
  ExpressionPtr first = parse(with_condition);
  if (!tokens_.current().is_operator(",")) return first;
  ExpressionPtr tuple = make(ExpressionKind::kTuple);
  tuple->children.push_back(std::move(first));
  while (tokens_.skip_operator(",") && !at_tuple_end()) {
    tuple->children.push_back(parse(with_condition));
  }
  return tuple;
}

ExpressionPtr ExpressionParser::parse_list() {
  ExpressionPtr list = make(ExpressionKind::kList);
  tokens_.take();
  while (!tokens_.current().is_operator("]")) {
    list->children.push_back(parse());
    if (!tokens_.current().is_operator("]")) tokens_.expect_operator(",");
  }
  tokens_.take();
  return list;
}

ExpressionPtr ExpressionParser::parse_dict() {
  ExpressionPtr dict = make(ExpressionKind::kDict);
  tokens_.take();
  while (!tokens_.current().is_operator("}")) {
    dict->children.push_back(parse());
    tokens_.expect_operator(":");
    dict->children.push_back(parse());
    if (!tokens_.current().is_operator("}")) tokens_.expect_operator(",");
  }
  tokens_.take();
  return dict;
}

// Parses attributes, items and calls behind `object`.
ExpressionPtr ExpressionParser::parse_postfix(ExpressionPtr object) {
  for (size_t parts = 0;; ++parts) {
    if (parts > kTailParts) tokens_.refuse("it has too many attributes in a row", true);
    if (tokens_.current().is_operator(".")) {
      object = parse_attribute(std::move(object));
    } else if (tokens_.current().is_operator("[")) {
      object = parse_subscript(std::move(object));
    } else if (tokens_.current().is_operator("(")) {
      object = parse_call(std::move(object));
    } else {
      return object;
    }
  }
}

// Parses filters, tests and calls behind `subject`.
ExpressionPtr ExpressionParser::parse_tail(ExpressionPtr subject) {
  for (size_t parts = 0;; ++parts) {
    if (parts > kTailParts) tokens_.refuse("it has too many filters in a row", true);
    if (tokens_.current().is_operator("|")) {
      subject = parse_filters(std::move(subject));
    } else if (tokens_.current().is_name("is")) {
      subject = parse_test(std::move(subject));
    } else if (tokens_.current().is_operator("(")) {
      subject = parse_call(std::move(subject));
    } else {
      return subject;
    }
  }
}

ExpressionPtr ExpressionParser::parse_call(ExpressionPtr function) {
  ExpressionPtr call = make(ExpressionKind::kCall);
  call->children.push_back(std::move(function));
  parse_arguments(*call);
  return call;
}

ExpressionPtr ExpressionParser::parse_attribute(ExpressionPtr object) {
  ExpressionPtr access = make(ExpressionKind::kAttribute);
  tokens_.take();
  const TemplateToken& token = tokens_.current();
  if (token.kind == TokenKind::kName) {
    access->name = token.text;
    access->children.push_back(std::move(object));
  } else if (token.kind == TokenKind::kInt) {
    access->kind = ExpressionKind::kItem;
    access->children.push_back(std::move(object));
    access->children.push_back(constant(int_value(token.whole)));
  } else {
    tokens_.refuse_current("a name or a number after '.'");
  }
  tokens_.take();
  return access;
}

ExpressionPtr ExpressionParser::parse_subscript(ExpressionPtr object) {
  ExpressionPtr access = make(ExpressionKind::kItem);
  tokens_.take();
  access->children.push_back(std::move(object));
  auto at_end = [&] {
    return tokens_.current().is_operator("]") || tokens_.current().is_operator(":");
  };
  access->children.push_back(at_end() ? nullptr : parse());
  if (tokens_.current().is_operator(":")) access->kind = ExpressionKind::kSlice;
  for (int part = 0; part < 2 && tokens_.skip_operator(":"); ++part) {
    access->children.push_back(at_end() ? nullptr : parse());
  }
  if (tokens_.current().is_operator(",")) {
    tokens_.refuse("a subscript with a comma is not supported", true);
  }
  tokens_.expect_operator("]");
  if (access->kind == ExpressionKind::kSlice) {
    access->children.resize(4);
  } else if (access->children[1] == nullptr) {
    tokens_.refuse("a subscript is empty");
  }
  return access;
}

void ExpressionParser::parse_arguments(Expression& call) {
  Level level(*this);
  tokens_.expect_operator("(");
  while (!tokens_.current().is_operator(")")) {
    if (tokens_.current().is_operator("*") || tokens_.current().is_operator("**")) {
      tokens_.refuse("arguments with '*' are not supported", true);
    }
    if (tokens_.current().kind == TokenKind::kName && tokens_.ahead().is_operator("=")) {
      std::string name = tokens_.take().text;
      tokens_.take();
      auto same = [&](const auto& argument) { return argument.first == name; };
      if (std::ranges::any_of(call.named, same)) {
        tokens_.refuse(fmt::format("the argument '{}' is given twice", name));
      }
      ExpressionPtr value = parse();
      call.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!call.named.empty()) tokens_.refuse("an argument without a name follows one with a name");
      call.children.push_back(parse());
    }
    if (!tokens_.current().is_operator(")")) tokens_.expect_operator(",");
  }
  tokens_.take();
}

ExpressionPtr ExpressionParser::parse_filters(ExpressionPtr subject, bool start_inline) {
  for (size_t parts = 0; start_inline || tokens_.current().is_operator("|"); ++parts) {
    if (parts > kTailParts) tokens_.refuse("it has too many filters in a row", true);
    if (!start_inline) tokens_.take();
    start_inline = false;
    ExpressionPtr filter = make(ExpressionKind::kFilter);
    filter->name = tokens_.expect_name("the name of a filter");
    filter->children.push_back(std::move(subject));
    if (tokens_.current().is_operator("(")) parse_arguments(*filter);
    subject = std::move(filter);
  }
  return subject;
}

ExpressionPtr ExpressionParser::parse_test(ExpressionPtr subject) {
  tokens_.take();
  ExpressionPtr negation;
  if (tokens_.current().is_name("not")) {
    negation = make(ExpressionKind::kNot);
    tokens_.take();
  }
  ExpressionPtr test = make(ExpressionKind::kTest);
  test->name = tokens_.expect_name("the name of a test");
  test->children.push_back(std::move(subject));
  const TemplateToken& next = tokens_.current();
  bool value = next.kind == TokenKind::kName || next.kind == TokenKind::kString ||
               next.kind == TokenKind::kInt || next.kind == TokenKind::kFloat ||
               next.is_operator("[") || next.is_operator("{");
  if (next.is_operator("(")) {
    parse_arguments(*test);
  } else if (value && !next.is_name("else") && !next.is_name("or") && !next.is_name("and")) {
    if (next.is_name("is")) tokens_.refuse("a test follows a test");
    Level level(*this);
    test->children.push_back(parse_postfix(parse_primary()));
  }
  if (negation == nullptr) return test;
  negation->children.push_back(std::move(test));
  return negation;
}

Target ExpressionParser::parse_one_target(bool with_namespace) {
  Level level(*this);
  Target target;
  if (tokens_.skip_operator("(")) {
    target = parse_target(false);
    tokens_.expect_operator(")");
    return target;
  }
  constexpr std::array<std::string_view, 6> kReserved = {"true",  "True", "false",
                                                         "False", "none", "None"};
  target.name = tokens_.expect_name("the name of a variable");
  if (std::ranges::find(kReserved, target.name) != kReserved.end()) {
    tokens_.refuse(fmt::format("nothing can be assigned to '{}'", target.name));
  }
  if (with_namespace && tokens_.skip_operator(".")) {
    target.attribute = tokens_.expect_name("the name of an attribute");
  }
  return target;
}

Target ExpressionParser::parse_target(bool with_namespace) {
  Target first = parse_one_target(with_namespace);
  if (!tokens_.current().is_operator(",")) return first;
  if (!first.attribute.empty()) tokens_.refuse("an attribute cannot be in a tuple");
  Target tuple;
  tuple.targets.push_back(std::move(first));
  while (tokens_.skip_operator(",")) {
    const TemplateToken& next = tokens_.current();
    if (at_tuple_end() || next.is_operator("=") || next.is_name("in")) break;
    tuple.targets.push_back(parse_one_target(false));
  }
  return tuple;
}

}  // namespace hearth
