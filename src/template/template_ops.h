// Operators, attributes and items of template values, with Python's and Jinja's semantics. Errors
// are TemplateFaults; where Jinja gives an undefined value, as for a missing key, these functions
// give one, too.
#pragma once

#include <string_view>

#include "template/template_value.h"

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

TemplateValue apply_binary(TemplateHeap& heap, BinaryOp op, const TemplateValue& a,
                           const TemplateValue& b);
TemplateValue negate(const TemplateValue& value);
TemplateValue plus(const TemplateValue& value);

// Returns `object.name`: a method has precedence over a key of that name.
TemplateValue get_attribute(TemplateHeap& heap, const TemplateValue& object, std::string_view name);
// Returns `object[key]`: an item has precedence over a method of that name.
TemplateValue get_item(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& key);
// Returns `object[start:stop:step]`; parts that were left out are None.
TemplateValue get_slice(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& start,
                        const TemplateValue& stop, const TemplateValue& step);

// Finds the value's method of that name as in Python, whether this program supports calling it or
// not. Returns false where Python has none. A method that the sandbox forbids becomes undefined,
// with the reason.
bool find_method(TemplateHeap& heap, const TemplateValue& object, std::string_view name,
                 TemplateValue* method);

// Escapes HTML's special characters, as for text that is joined to what `safe` made.
TextRef escape_markup(TemplateBudget& budget, const TextRef& text);

}  // namespace hearth
