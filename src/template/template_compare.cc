// Equality, order and membership of template values, as Python has them.
#include <algorithm>
#include <cmath>
#include <compare>

#include "template/template_value.h"

namespace hearth {
namespace {

// Compares whole numbers as such: a double would round them.
std::partial_ordering compare_numbers(const TemplateValue& a, const TemplateValue& b) {
  if (a.is_whole() && b.is_whole()) return a.whole <=> b.whole;
  if (!a.is_whole() && !b.is_whole()) return a.real <=> b.real;
  if (!a.is_whole()) return 0 <=> compare_numbers(b, a);
  double real = b.real;
  if (std::isnan(real)) return std::partial_ordering::unordered;
  if (real >= 0x1p63) return std::partial_ordering::less;
  if (real < -0x1p63) return std::partial_ordering::greater;
  double floor = std::floor(real);
  auto whole = static_cast<int64_t>(floor);
  if (a.whole != whole) return a.whole <=> whole;
  return floor < real ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

bool equal_lists(TemplateBudget& budget, const TemplateValue& a, const TemplateValue& b,
                 uint32_t depth) {
  const auto& left = a.as<ListObject>().items;
  const auto& right = b.as<ListObject>().items;
  budget.scanned(std::min(left.size(), right.size()) * 8);
  return std::ranges::equal(left, right, [&](const TemplateValue& x, const TemplateValue& y) {
    return equal_values(budget, x, y, depth + 1);
  });
}

bool equal_dicts(TemplateBudget& budget, const TemplateValue& a, const TemplateValue& b,
                 uint32_t depth) {
  const auto& left = a.as<DictObject>();
  const auto& right = b.as<DictObject>();
  if (left.entries.size() != right.entries.size()) return false;
  return std::ranges::all_of(left.entries, [&](const auto& entry) {
    const TemplateValue* other = find_entry(budget, right, entry.first);
    return other != nullptr && equal_values(budget, entry.second, *other, depth + 1);
  });
}

bool equal_ranges(const RangeObject& a, const RangeObject& b) {
  if (a.count != b.count) return false;
  return a.count == 0 || (a.start == b.start && (a.count == 1 || a.step == b.step));
}

bool holds(OrderOp op, std::partial_ordering order) {
  switch (op) {
    case OrderOp::kLess:
      return order < 0;
    case OrderOp::kLessEqual:
      return order <= 0;
    case OrderOp::kGreater:
      return order > 0;
    default:
      return order >= 0;
  }
}

}  // namespace

bool equal_values(TemplateBudget& budget, const TemplateValue& a, const TemplateValue& b,
                  uint32_t depth) {
  check_value_depth(depth);
  if (a.is_number() && b.is_number()) return compare_numbers(a, b) == 0;
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case ValueKind::kUndefined:
    case ValueKind::kNone:
      return true;
    case ValueKind::kString:
      budget.copied(std::min(a.bytes().size(), b.bytes().size()));
      return a.bytes() == b.bytes();
    case ValueKind::kList:
    case ValueKind::kTuple:
      return a.object == b.object || equal_lists(budget, a, b, depth);
    case ValueKind::kDict:
      return a.object == b.object || equal_dicts(budget, a, b, depth);
    case ValueKind::kRange:
      return equal_ranges(a.as<RangeObject>(), b.as<RangeObject>());
    default:
      return a.object == b.object;
  }
}

bool ordered(TemplateBudget& budget, OrderOp op, const TemplateValue& a, const TemplateValue& b,
             uint32_t depth) {
  check_value_depth(depth);
  if (a.is_number() && b.is_number()) return holds(op, compare_numbers(a, b));
  require_defined(a);
  require_defined(b);
  if (a.is_string() && b.is_string()) {
    budget.copied(std::min(a.bytes().size(), b.bytes().size()));
    return holds(op, a.bytes() <=> b.bytes());
  }
  if (a.kind == b.kind && (a.is(ValueKind::kList) || a.is(ValueKind::kTuple))) {
    const auto& left = a.as<ListObject>().items;
    const auto& right = b.as<ListObject>().items;
    size_t both = std::min(left.size(), right.size());
    budget.scanned(both * 8);
    for (size_t i = 0; i < both; ++i) {
      if (!equal_values(budget, left[i], right[i], depth + 1)) {
        return ordered(budget, op, left[i], right[i], depth + 1);
      }
    }
    return holds(op, left.size() <=> right.size());
  }
  constexpr const char* kOps[] = {"<", "<=", ">", ">="};
  fault("'{}' does not work between {} and {}", kOps[static_cast<size_t>(op)], type_name(a),
        type_name(b));
}

bool contains(TemplateHeap& heap, const TemplateValue& container, const TemplateValue& item) {
  TemplateBudget& budget = heap.budget();
  if (container.is_string()) {
    if (!item.is_string()) {
      require_defined(item);
      fault("'in' cannot look for a {} in a string", type_name(item));
    }
    return find_text(budget, container.bytes(), item.bytes()) != std::string_view::npos;
  }
  const DictObject* dict = nullptr;
  if (container.is(ValueKind::kDict)) dict = &container.as<DictObject>();
  if (container.is(ValueKind::kView) && container.as<ViewObject>().view == ViewKind::kKeys) {
    dict = container.as<ViewObject>().dict;
  }
  if (dict != nullptr) {
    if (!is_hashable(item)) fault("a {} cannot be a key", type_name(item));
    return find_entry(budget, *dict, item) != nullptr;
  }
  IteratorObject& iterator = iterate(heap, container);
  for (TemplateValue value; iterator.next(value);) {
    budget.scanned(32);
    if (equal_values(budget, value, item)) return true;
  }
  return false;
}

}  // namespace hearth
