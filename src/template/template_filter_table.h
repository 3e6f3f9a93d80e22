// The tables in which template_filters.cc looks up filters by name.
#pragma once

#include <span>
#include <string_view>

#include "template/template_value.h"

namespace hearth {

struct FilterEntry {
  std::string_view name;
  TemplateValue (*apply)(TemplateHeap& heap, const TemplateValue& subject,
                         const Arguments& arguments);
};

// Returns the filters of lists and mappings.
std::span<const FilterEntry> list_filters();

}  // namespace hearth
