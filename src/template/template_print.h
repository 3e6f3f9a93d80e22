// Converts template values to text: Python's str() and repr(), and `%` on strings.
#pragma once

#include <string>

#include "template/template_value.h"

namespace hearth {

// Writes str(value). Throws if the text could differ from one rendering to the next.
void print_value(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value);
// Writes repr(value).
void print_repr(TextBuilder& out, TemplateBudget& budget, const TemplateValue& value,
                uint32_t depth = 0);
// Returns str(value); strings unchanged.
TextRef text_of(TemplateBudget& budget, const TemplateValue& value);
// Writes a number as Python does: the shortest text that gives the same number again, "1.0",
// "1e+16", "nan".
std::string float_text(double value);

// Returns `format % value`.
TemplateValue format_percent(TemplateHeap& heap, const TemplateValue& format,
                             const TemplateValue& value);

}  // namespace hearth
