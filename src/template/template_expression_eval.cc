// TemplateEvaluator's expressions.
#include <algorithm>
#include <array>

#include "template/template_eval.h"
#include "template/template_eval_objects.h"
#include "template/template_ops.h"
#include "template/template_print.h"

namespace hearth {

bool LoopObject::advance() {
  TemplateValue item;
  if (has_next) {
    item = next;
    has_next = false;
  } else if (!source->next(item)) {
    return false;
  }
  previous = current;
  current = item;
  ++index0;
  return true;
}

bool LoopObject::look_ahead() {
  if (!has_next) has_next = source->next(next);
  return has_next;
}

int64_t LoopObject::count() {
  if (length) return *length;
  size_t known = 0;
  if (!iterable.is_undefined() && length_of(heap->budget(), iterable, &known)) {
    length = static_cast<int64_t>(known);
    return *length;
  }
  // Reads the rest of the iterator here and keeps its items, as Jinja does.
  auto& rest = heap->make<ListObject>();
  for (TemplateValue item; source->next(item);) {
    heap->budget().add_elements(1);
    rest.items.push_back(item);
  }
  source = &iterate(*heap, object_value(ValueKind::kList, rest));
  length = static_cast<int64_t>(rest.items.size()) + index0 + 1 + (has_next ? 1 : 0);
  return *length;
}

TemplateValue TemplateEvaluator::evaluate(const Expression& expression, TemplateScope& scope) {
  Nesting depth(&depth_);
  budget_.step();
  line_ = expression.line;
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName:
      return look_up(expression, scope);
    case ExpressionKind::kSubject:
      return subject_;
    case ExpressionKind::kList:
    case ExpressionKind::kTuple:
      return make_sequence(expression, scope);
    case ExpressionKind::kDict:
      return make_dict(expression, scope);
    case ExpressionKind::kSlice:
      return slice(expression, scope);
    case ExpressionKind::kCall:
      return call(expression, scope);
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
      return either(expression, scope);
    case ExpressionKind::kCompare:
      return compare(expression, scope);
    case ExpressionKind::kChain:
      return chain(expression, scope);
    case ExpressionKind::kConcat:
      return concat(expression, scope);
    case ExpressionKind::kCondition:
      return condition(expression, scope);
    default:
      return evaluate_parts(expression, scope);
  }
}

// Evaluates an expression of a kind whose first part is always evaluated, before the other parts.
TemplateValue TemplateEvaluator::evaluate_parts(const Expression& expression,
                                                TemplateScope& scope) {
  TemplateValue first = evaluate(*expression.children[0], scope);
  switch (expression.kind) {
    case ExpressionKind::kAttribute:
      return attribute(first, expression);
    case ExpressionKind::kItem: {
      TemplateValue key = evaluate(*expression.children[1], scope);
      line_ = expression.line;
      if (first.is(ValueKind::kLoop) && key.is_string()) {
        return loop_attribute(first.as<LoopObject>(), key.bytes());
      }
      return get_item(heap_, first, key);
    }
    case ExpressionKind::kFilter: {
      Arguments arguments = arguments_of(expression, scope);
      line_ = expression.line;
      return apply_filter(heap_, expression.name, first, arguments);
    }
    case ExpressionKind::kTest: {
      Arguments arguments = arguments_of(expression, scope);
      line_ = expression.line;
      return bool_value(apply_test(heap_, expression.name, first, arguments));
    }
    case ExpressionKind::kNot:
      return bool_value(!is_truthy(first));
    case ExpressionKind::kNegate:
      line_ = expression.line;
      return negate(first);
    default:
      line_ = expression.line;
      return plus(first);
  }
}

TemplateValue TemplateEvaluator::look_up(const Expression& expression, TemplateScope& scope) {
  for (TemplateScope* at = &scope; at != nullptr; at = at->outer) {
    auto found = at->names.find(expression.name);
    if (found != at->names.end()) return found->second;
  }
  // Names that Jinja defines and this program lacks; any other unknown name is undefined.
  constexpr std::array<std::string_view, 8> kOthers = {"dict",   "lipsum", "cycler",  "joiner",
                                                       "caller", "kwargs", "varargs", "self"};
  if (std::ranges::find(kOthers, expression.name) != kOthers.end()) {
    fault("'{}' is not supported", expression.name);
  }
  return undefined_value(budget_, fmt::format("'{}' is undefined", expression.name.substr(0, 100)));
}

TemplateValue TemplateEvaluator::make_sequence(const Expression& expression, TemplateScope& scope) {
  std::vector<TemplateValue> items;
  for (const ExpressionPtr& child : expression.children) items.push_back(evaluate(*child, scope));
  bool list = expression.kind == ExpressionKind::kList;
  return make_list(heap_, std::move(items), list ? ValueKind::kList : ValueKind::kTuple);
}

TemplateValue TemplateEvaluator::make_dict(const Expression& expression, TemplateScope& scope) {
  auto& dict = heap_.make<DictObject>();
  for (size_t i = 0; i < expression.children.size(); i += 2) {
    TemplateValue key = evaluate(*expression.children[i], scope);
    TemplateValue value = evaluate(*expression.children[i + 1], scope);
    line_ = expression.line;
    if (!is_hashable(key)) fault("a {} cannot be a key", type_name(key));
    set_entry(budget_, dict, key, std::move(value));
  }
  return object_value(ValueKind::kDict, dict);
}

TemplateValue TemplateEvaluator::slice(const Expression& expression, TemplateScope& scope) {
  std::array<TemplateValue, 4> parts;
  for (size_t i = 0; i < parts.size(); ++i) {
    const ExpressionPtr& child = expression.children[i];
    parts[i] = child != nullptr ? evaluate(*child, scope) : none_value();
  }
  line_ = expression.line;
  return get_slice(heap_, parts[0], parts[1], parts[2], parts[3]);
}

TemplateValue TemplateEvaluator::either(const Expression& expression, TemplateScope& scope) {
  bool ends = expression.kind == ExpressionKind::kOr;
  TemplateValue value;
  for (const ExpressionPtr& child : expression.children) {
    value = evaluate(*child, scope);
    if (is_truthy(value) == ends) break;
  }
  return value;
}

bool TemplateEvaluator::compare_one(CompareOp op, const TemplateValue& a, const TemplateValue& b) {
  switch (op) {
    case CompareOp::kEqual:
      return equal_values(budget_, a, b);
    case CompareOp::kNotEqual:
      return !equal_values(budget_, a, b);
    case CompareOp::kIn:
      return contains(heap_, b, a);
    case CompareOp::kNotIn:
      return !contains(heap_, b, a);
    default:
      return ordered(budget_, static_cast<OrderOp>(op), a, b);
  }
}

TemplateValue TemplateEvaluator::compare(const Expression& expression, TemplateScope& scope) {
  TemplateValue left = evaluate(*expression.children[0], scope);
  for (size_t i = 0; i < expression.compares.size(); ++i) {
    TemplateValue right = evaluate(*expression.children[i + 1], scope);
    line_ = expression.line;
    if (!compare_one(expression.compares[i], left, right)) return bool_value(false);
    left = std::move(right);
  }
  return bool_value(true);
}

TemplateValue TemplateEvaluator::chain(const Expression& expression, TemplateScope& scope) {
  TemplateValue left = evaluate(*expression.children[0], scope);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    TemplateValue right = evaluate(*expression.children[i + 1], scope);
    line_ = expression.line;
    left = apply_binary(heap_, expression.operators[i], left, right);
  }
  return left;
}

TemplateValue TemplateEvaluator::concat(const Expression& expression, TemplateScope& scope) {
  std::vector<TemplateValue> values;
  for (const ExpressionPtr& child : expression.children) values.push_back(evaluate(*child, scope));
  line_ = expression.line;
  TextBuilder builder(budget_);
  for (const TemplateValue& value : values) print_value(builder, budget_, value);
  return string_value(builder.finish());
}

TemplateValue TemplateEvaluator::condition(const Expression& expression, TemplateScope& scope) {
  if (is_truthy(evaluate(*expression.children[0], scope))) {
    return evaluate(*expression.children[1], scope);
  }
  if (expression.children[2] != nullptr) return evaluate(*expression.children[2], scope);
  return undefined_value(budget_, "an 'if' without 'else' gave no value");
}

Arguments TemplateEvaluator::arguments_of(const Expression& expression, TemplateScope& scope) {
  Arguments arguments;
  for (size_t i = 1; i < expression.children.size(); ++i) {
    arguments.positional.push_back(evaluate(*expression.children[i], scope));
  }
  for (const auto& [name, child] : expression.named) {
    arguments.named.emplace_back(name, evaluate(*child, scope));
  }
  return arguments;
}

TemplateValue TemplateEvaluator::call(const Expression& expression, TemplateScope& scope) {
  TemplateValue callee = evaluate(*expression.children[0], scope);
  Arguments arguments = arguments_of(expression, scope);
  line_ = expression.line;
  require_defined(callee);
  if (callee.is(ValueKind::kMacro)) return call_macro(callee, arguments);
  if (callee.is(ValueKind::kFunction)) {
    return call_function(heap_, callee.as<FunctionObject>().name, arguments, clock_);
  }
  if (callee.is(ValueKind::kMethod)) {
    const auto& method = callee.as<FunctionObject>();
    if (method.self.is(ValueKind::kLoop)) return call_loop(method, arguments);
    return call_method(heap_, method, arguments);
  }
  fault("a {} cannot be called", type_name(callee));
}

TemplateValue TemplateEvaluator::attribute(const TemplateValue& object,
                                           const Expression& expression) {
  line_ = expression.line;
  if (object.is(ValueKind::kLoop)) {
    return loop_attribute(object.as<LoopObject>(), expression.name);
  }
  if (object.is(ValueKind::kMacro) || object.is(ValueKind::kFunction)) {
    fault("attributes of a {} are not supported", type_name(object));
  }
  return get_attribute(heap_, object, expression.name);
}

TemplateValue TemplateEvaluator::loop_attribute(LoopObject& loop, std::string_view name) {
  if (name == "index") return int_value(loop.index0 + 1);
  if (name == "index0") return int_value(loop.index0);
  if (name == "first") return bool_value(loop.index0 == 0);
  if (name == "last") return bool_value(!loop.look_ahead());
  if (name == "length") return int_value(loop.count());
  if (name == "revindex") return int_value(loop.count() - loop.index0);
  if (name == "revindex0") return int_value(loop.count() - loop.index0 - 1);
  if (name == "depth") return int_value(1);
  if (name == "depth0") return int_value(0);
  if (name == "previtem") {
    return loop.index0 > 0 ? loop.previous : undefined_value(budget_, "there is no previous item");
  }
  if (name == "nextitem") {
    return loop.look_ahead() ? loop.next : undefined_value(budget_, "there is no next item");
  }
  if (name == "cycle" || name == "changed") {
    auto& method = heap_.make<FunctionObject>();
    method.name = std::string(name);
    method.self = object_value(ValueKind::kLoop, loop);
    return object_value(ValueKind::kMethod, method);
  }
  return undefined_value(budget_, fmt::format("'loop' has no '{}'", name.substr(0, 100)));
}

TemplateValue TemplateEvaluator::call_loop(const FunctionObject& method,
                                           const Arguments& arguments) {
  auto& loop = method.self.as<LoopObject>();
  if (!arguments.named.empty()) fault("'loop.{}' takes no named arguments", method.name);
  const std::vector<TemplateValue>& values = arguments.positional;
  if (method.name == "cycle") {
    if (values.empty()) fault("'loop.cycle' needs an argument");
    return values[static_cast<size_t>(loop.index0) % values.size()];
  }
  auto same = [&](const TemplateValue& a, const TemplateValue& b) {
    return equal_values(budget_, a, b);
  };
  bool changed = !loop.asked_changed || !std::ranges::equal(loop.changed, values, same);
  loop.asked_changed = true;
  loop.changed = values;
  return bool_value(changed);
}

}  // namespace hearth
