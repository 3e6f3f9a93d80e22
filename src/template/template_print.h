// Template values as text: what Python's str() and repr() write of them, and `%` on strings.
#pragma once

#include <string>

#include "template/template_value.h"

namespace hearth {

// str(value). Throws where the value has no text that would be the same every time.
void print_value(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value);
// repr(value).
void print_repr(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value,
                uint32_t depth = 0);
// str(value) as a string; strings as they are.
TextRef text_of(TemplateBudget& budget, const TemplateValue& value);
// Writes a number as Python does: the shortest that reads back, "1.0", "1e+16", "nan".
std::string float_text(double value);

// `format % value`.
TemplateValue format_percent(TemplateHeap& heap, const TemplateValue& format,
                             const TemplateValue& value);

}  // namespace hearth
