// The description of every route, OpenAPI 3.1, as GET /openapi.json gives it: the file
// src/server/openapi.json, which is part of the program.
#pragma once

#include <string_view>

namespace hearth {

std::string_view openapi_json();

}  // namespace hearth
