// Filters by name: the tables that template_filters.cc looks them up in.
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

// Return the filters of lists and mappings.
std::span<const FilterEntry> list_filters();

}  // namespace hearth
