#include "template/template_value.h"

#include <algorithm>
#include <bit>

namespace hearth {

TemplateValue none_value() {
  TemplateValue value;
  value.kind = ValueKind::kNone;
  return value;
}

TemplateValue bool_value(bool of, bool untrusted) {
  TemplateValue value;
  value.kind = ValueKind::kBool;
  value.whole = of ? 1 : 0;
  value.untrusted = untrusted;
  return value;
}

TemplateValue int_value(int64_t of, bool untrusted) {
  TemplateValue value;
  value.kind = ValueKind::kInt;
  value.whole = of;
  value.untrusted = untrusted;
  return value;
}

TemplateValue float_value(double of, bool untrusted) {
  TemplateValue value;
  value.kind = ValueKind::kFloat;
  value.real = of;
  value.untrusted = untrusted;
  return value;
}

TemplateValue object_value(ValueKind kind, TemplateObject& object) {
  TemplateValue value;
  value.kind = kind;
  value.object = &object;
  return value;
}

TemplateValue string_value(TextRef text) {
  TemplateValue value;
  value.kind = ValueKind::kString;
  value.text = std::move(text);
  return value;
}

TemplateValue string_value(TemplateBudget& budget, std::string_view bytes) {
  TextBuilder builder(budget);
  builder.append(bytes, false);
  return string_value(builder.finish());
}

TemplateValue undefined_value(TemplateBudget& budget, std::string_view why) {
  TemplateValue value = string_value(budget, why);
  value.kind = ValueKind::kUndefined;
  return value;
}

const char* type_name(const TemplateValue& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      return "Undefined";
    case ValueKind::kNone:
      return "NoneType";
    case ValueKind::kBool:
      return "bool";
    case ValueKind::kInt:
      return "int";
    case ValueKind::kFloat:
      return "float";
    case ValueKind::kString:
      return "str";
    case ValueKind::kList:
      return "list";
    case ValueKind::kTuple:
      return "tuple";
    case ValueKind::kDict:
      return "dict";
    case ValueKind::kRange:
      return "range";
    case ValueKind::kView:
      return "view of a dict";
    case ValueKind::kNamespace:
      return "Namespace";
    case ValueKind::kIterator:
      return "generator";
    case ValueKind::kFunction:
    case ValueKind::kMethod:
      return "function";
    case ValueKind::kMacro:
      return "Macro";
    case ValueKind::kLoop:
      return "LoopContext";
  }
  return "?";
}

void fault_undefined(const TemplateValue& undefined) {
  if (undefined.text == nullptr) fault("a value is undefined");
  fault("{}", undefined.bytes());
}

void check_value_depth(uint32_t depth) {
  if (depth > kValueDepth) {
    fault("a list or a mapping is nested deeper than {} levels", kValueDepth);
  }
}

bool is_truthy(const TemplateValue& value) {
  switch (value.kind) {
    case ValueKind::kUndefined:
    case ValueKind::kNone:
      return false;
    case ValueKind::kBool:
    case ValueKind::kInt:
      return value.whole != 0;
    case ValueKind::kFloat:
      return value.real != 0;
    case ValueKind::kString:
      return !value.bytes().empty();
    case ValueKind::kList:
    case ValueKind::kTuple:
      return !value.as<ListObject>().items.empty();
    case ValueKind::kDict:
      return !value.as<DictObject>().entries.empty();
    case ValueKind::kRange:
      return value.as<RangeObject>().count > 0;
    case ValueKind::kView:
      return !value.as<ViewObject>().dict->entries.empty();
    default:
      return true;
  }
}

bool is_hashable(const TemplateValue& value) {
  if (value.is(ValueKind::kTuple)) {
    return std::ranges::all_of(value.as<ListObject>().items, is_hashable);
  }
  return !value.is(ValueKind::kList) && !value.is(ValueKind::kDict);
}

const TemplateValue* find_entry(TemplateBudget& budget, const DictObject& dict,
                                const TemplateValue& key) {
  budget.scanned(dict.entries.size() * 8);
  for (const auto& [name, value] : dict.entries) {
    if (equal_values(budget, name, key)) return &value;
  }
  return nullptr;
}

void set_entry(TemplateBudget& budget, DictObject& dict, const TemplateValue& key,
               TemplateValue value) {
  if (const TemplateValue* found = find_entry(budget, dict, key)) {
    *const_cast<TemplateValue*>(found) = std::move(value);
    return;
  }
  budget.add_elements(2);
  dict.entries.emplace_back(key, std::move(value));
}

bool length_of(TemplateBudget& budget, const TemplateValue& value, size_t* length) {
  switch (value.kind) {
    case ValueKind::kUndefined:
      *length = 0;
      return true;
    case ValueKind::kString:
      budget.scanned(value.bytes().size());
      *length = count_characters(value.bytes());
      return true;
    case ValueKind::kList:
    case ValueKind::kTuple:
      *length = value.as<ListObject>().items.size();
      return true;
    case ValueKind::kDict:
      *length = value.as<DictObject>().entries.size();
      return true;
    case ValueKind::kRange:
      *length = static_cast<size_t>(value.as<RangeObject>().count);
      return true;
    case ValueKind::kView:
      *length = value.as<ViewObject>().dict->entries.size();
      return true;
    default:
      return false;
  }
}

TemplateValue make_list(TemplateHeap& heap, std::vector<TemplateValue> items, ValueKind kind) {
  heap.budget().add_elements(items.size());
  auto& list = heap.make<ListObject>();
  list.items = std::move(items);
  return object_value(kind, list);
}

TemplateValue character_at(TemplateBudget& budget, const Text& text, size_t* at) {
  TextBuilder builder(budget);
  size_t bytes = character_bytes(text.bytes()[*at]);
  builder.append(text, *at, *at + bytes);
  *at += bytes;
  return string_value(builder.finish());
}

}  // namespace hearth
