// Operators, attributes and items of template values, as Python and Jinja have them. Errors are
// TemplateFaults; what Jinja answers with an undefined value, such as a key that is not there, is
// one here, too.
#pragma once

#include <string_view>

#include "text/template_value.h"

namespace hearth {

enum class BinaryOp : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kFloorDivide,
  kModulo,
  kPower
};

Value apply_binary(TemplateHeap& heap, BinaryOp op, const Value& a, const Value& b);
Value negate(const Value& value);
Value plus(const Value& value);

// `object.name`: a method before a key of that name.
Value get_attribute(TemplateHeap& heap, const Value& object, std::string_view name);
// `object[key]`: an item before a method of that name.
Value get_item(TemplateHeap& heap, const Value& object, const Value& key);
// `object[start:stop:step]`; parts that were left out are None.
Value get_slice(TemplateHeap& heap, const Value& object, const Value& start, const Value& stop,
                const Value& step);

// A method of that name as Python has it, whether this program supports it or not, or undefined.
// Throws where the sandbox forbids it.
bool find_method(TemplateHeap& heap, const Value& object, std::string_view name, Value* method);

// HTML's special characters escaped, as what `safe` made does with all that joins it.
TextRef escape_markup(TemplateBudget& budget, const TextRef& text);

}  // namespace hearth
