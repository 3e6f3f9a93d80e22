// Arithmetic and joining of template values.
#include <cmath>

#include "template/template_ops.h"
#include "template/template_print.h"

namespace hearth {
namespace {

constexpr const char* kSigns[] = {"+", "-", "*", "/", "//", "%", "**"};

[[noreturn]] void fault_too_large() { fault("a whole number would not fit into 64 bits"); }

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == -1) {
    int64_t result = 0;
    if (__builtin_sub_overflow(int64_t{0}, a, &result)) fault_too_large();
    return result;
  }
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t modulo(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fault_too_large();
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fault_too_large();
  }
  return result;
}

// Returns the quotient and the remainder of Python's divmod() of floats.
std::pair<double, double> divide_floats(double a, double b) {
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0) {
    if ((b < 0) != (rest < 0)) {
      rest += b;
      quotient -= 1;
    }
  } else {
    rest = std::copysign(0.0, b);
  }
  if (quotient == 0) return {std::copysign(0.0, a / b), rest};
  double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, rest};
}

TemplateValue whole_result(BinaryOp op, int64_t a, int64_t b, bool untrusted) {
  int64_t result = 0;
  bool over = false;
  switch (op) {
    case BinaryOp::kAdd:
      over = __builtin_add_overflow(a, b, &result);
      break;
    case BinaryOp::kSubtract:
      over = __builtin_sub_overflow(a, b, &result);
      break;
    case BinaryOp::kMultiply:
      over = __builtin_mul_overflow(a, b, &result);
      break;
    case BinaryOp::kFloorDivide:
      result = floor_divide(a, b);
      break;
    case BinaryOp::kModulo:
      result = modulo(a, b);
      break;
    default:
      result = power(a, b);
      break;
  }
  if (over) fault_too_large();
  return int_value(result, untrusted);
}

double float_power(double a, double b) {
  if (a == 0 && b < 0) fault("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(a) && std::isfinite(b) && b != std::floor(b)) {
    fault("a negative number cannot be raised to a fraction");
  }
  double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b)) fault("a power is too large");
  return result;
}

TemplateValue float_result(BinaryOp op, double a, double b, bool untrusted) {
  switch (op) {
    case BinaryOp::kAdd:
      return float_value(a + b, untrusted);
    case BinaryOp::kSubtract:
      return float_value(a - b, untrusted);
    case BinaryOp::kMultiply:
      return float_value(a * b, untrusted);
    case BinaryOp::kDivide:
      return float_value(a / b, untrusted);
    case BinaryOp::kFloorDivide:
      return float_value(divide_floats(a, b).first, untrusted);
    case BinaryOp::kModulo:
      return float_value(divide_floats(a, b).second, untrusted);
    default:
      return float_value(float_power(a, b), untrusted);
  }
}

TemplateValue number_result(BinaryOp op, const TemplateValue& a, const TemplateValue& b) {
  bool untrusted = a.untrusted || b.untrusted;
  bool divides = op == BinaryOp::kDivide || op == BinaryOp::kFloorDivide || op == BinaryOp::kModulo;
  if (divides && b.number() == 0) fault("a number is divided by zero");
  bool whole = a.is_whole() && b.is_whole() && op != BinaryOp::kDivide;
  if (whole && (op != BinaryOp::kPower || b.whole >= 0)) {
    return whole_result(op, a.whole, b.whole, untrusted);
  }
  return float_result(op, a.number(), b.number(), untrusted);
}

TemplateValue repeat_text(TemplateBudget& budget, const TemplateValue& value, int64_t times) {
  const Text& text = *value.text;
  TextBuilder builder(budget);
  if (times > 0 && !text.bytes().empty()) {
    auto most = static_cast<int64_t>(TemplateBudget::kTextBytes);
    builder.require_room(static_cast<size_t>(std::min(times, most)) * text.bytes().size());
    for (int64_t i = 0; i < times; ++i) {
      budget.scanned(8);
      builder.append(text);
    }
  }
  return string_value(builder.finish(text.markup()));
}

TemplateValue repeat_list(TemplateHeap& heap, const TemplateValue& value, int64_t times) {
  const auto& items = value.as<ListObject>().items;
  std::vector<TemplateValue> result;
  if (times > 0 && !items.empty()) {
    auto most = static_cast<int64_t>(TemplateBudget::kElements);
    heap.budget().add_elements(static_cast<size_t>(std::min(times, most)) * items.size());
    for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  }
  return make_list(heap, std::move(result), value.kind);
}

bool is_list(const TemplateValue& value) {
  return value.is(ValueKind::kList) || value.is(ValueKind::kTuple);
}

TemplateValue repeated(TemplateHeap& heap, const TemplateValue& value, const TemplateValue& times) {
  if (value.is_string()) return repeat_text(heap.budget(), value, times.whole);
  return repeat_list(heap, value, times.whole);
}

TemplateValue join_texts(TemplateBudget& budget, const TemplateValue& a, const TemplateValue& b) {
  bool markup = a.text->markup() || b.text->markup();
  TextBuilder builder(budget);
  builder.append(markup ? *escape_markup(budget, a.text) : *a.text);
  builder.append(markup ? *escape_markup(budget, b.text) : *b.text);
  return string_value(builder.finish(markup));
}

TemplateValue join_lists(TemplateHeap& heap, const TemplateValue& a, const TemplateValue& b) {
  const auto& left = a.as<ListObject>().items;
  const auto& right = b.as<ListObject>().items;
  heap.budget().add_elements(left.size() + right.size());
  std::vector<TemplateValue> items = left;
  items.insert(items.end(), right.begin(), right.end());
  return make_list(heap, std::move(items), a.kind);
}

}  // namespace

TextRef escape_markup(TemplateBudget& budget, const TextRef& text) {
  if (text->markup()) return text;
  TextBuilder builder(budget);
  std::string_view bytes = text->bytes();
  budget.mapped(bytes.size());
  for (size_t at = 0; at < bytes.size(); ++at) {
    constexpr std::string_view kSpecial = "&<>'\"";
    constexpr const char* kEscapes[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    size_t which = kSpecial.find(bytes[at]);
    if (which == std::string_view::npos) {
      builder.append(*text, at, at + 1);
    } else {
      builder.append(kEscapes[which], text->any_untrusted(at, at + 1));
    }
  }
  return builder.finish(true);
}

TemplateValue apply_binary(TemplateHeap& heap, BinaryOp op, const TemplateValue& a,
                           const TemplateValue& b) {
  if (a.is_number() && b.is_number()) return number_result(op, a, b);
  if (op == BinaryOp::kModulo && a.is_string()) return format_percent(heap, a, b);
  require_defined(a);
  require_defined(b);
  if (op == BinaryOp::kAdd) {
    if (a.is_string() && b.is_string()) return join_texts(heap.budget(), a, b);
    if (a.kind == b.kind && is_list(a)) return join_lists(heap, a, b);
  }
  if (op == BinaryOp::kMultiply) {
    if ((a.is_string() || is_list(a)) && b.is_whole()) return repeated(heap, a, b);
    if ((b.is_string() || is_list(b)) && a.is_whole()) return repeated(heap, b, a);
  }
  fault("'{}' does not work between {} and {}", kSigns[static_cast<size_t>(op)], type_name(a),
        type_name(b));
}

TemplateValue negate(const TemplateValue& value) {
  if (value.is(ValueKind::kFloat)) return float_value(-value.real, value.untrusted);
  if (value.is_whole()) {
    return whole_result(BinaryOp::kSubtract, 0, value.whole, value.untrusted);
  }
  require_defined(value);
  fault("'-' does not work on a {}", type_name(value));
}

TemplateValue plus(const TemplateValue& value) {
  if (value.is(ValueKind::kFloat)) return value;
  if (value.is_whole()) return int_value(value.whole, value.untrusted);
  require_defined(value);
  fault("'+' does not work on a {}", type_name(value));
}

}  // namespace hearth
