// The OpenAPI 3.1 document of every route, as GET /openapi.json returns it: the file
// src/server/openapi.json, which is built into the program.
#pragma once

#include <string_view>

namespace hearth {

std::string_view openapi_json();

}  // namespace hearth
