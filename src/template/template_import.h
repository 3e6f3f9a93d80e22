// Converts JSON to template values: the JSON of the request and of the program, and that which the
// filter from_json reads. Errors are TemplateFaults.
#pragma once

#include <boost/json/value.hpp>

#include "template/template_value.h"

namespace hearth {

// `untrusted`: its strings and numbers are untrusted. Whole numbers beyond 64 bits, which Python
// has exactly, become floats.
TemplateValue import_json(TemplateHeap& heap, const boost::json::value& json, bool untrusted);

}  // namespace hearth
