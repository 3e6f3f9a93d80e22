// JSON as a template sees it: values of the request and of the program, and what the filter
// from_json reads. Errors are TemplateFaults.
#pragma once

#include <boost/json/value.hpp>

#include "template/template_value.h"

namespace hearth {

// `foreign`: whether the strings and numbers in it are the request's. Whole numbers beyond 63 bits,
// with which Python would go on exactly, become floats.
TemplateValue import_json(TemplateHeap& heap, const boost::json::value& json, bool foreign);

}  // namespace hearth
