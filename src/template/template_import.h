// Converts JSON to template values: of the request, of the program, and what the filter from_json
// reads. Errors are TemplateFaults.
#pragma once

#include <boost/json/value.hpp>

#include "template/template_value.h"

namespace hearth {

// `untrusted`: its strings and numbers are untrusted. Whole numbers beyond 64 bits, which Python
// has exactly, become floats.
TemplateValue import_json(TemplateHeap& heap, const boost::json::value& json, bool untrusted);

}  // namespace hearth
