// Operators, attributes and items of template values, as Python and Jinja have them. Errors are
// TemplateFaults; what Jinja answers with an undefined value, such as a key that is not there, is
// one here, too.
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

// `object.name`: a method before a key of that name.
TemplateValue get_attribute(TemplateHeap& heap, const TemplateValue& object, std::string_view name);
// `object[key]`: an item before a method of that name.
TemplateValue get_item(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& key);
// `object[start:stop:step]`; parts that were left out are None.
TemplateValue get_slice(TemplateHeap& heap, const TemplateValue& object, const TemplateValue& start,
                        const TemplateValue& stop, const TemplateValue& step);

// A method of that name as Python has it, whether this program supports it or not, or undefined.
// Throws where the sandbox forbids it.
bool find_method(TemplateHeap& heap, const TemplateValue& object, std::string_view name,
                 TemplateValue* method);

// HTML's special characters escaped, as what `safe` made does with all that joins it.
TextRef escape_markup(TemplateBudget& budget, const TextRef& text);

}  // namespace hearth
