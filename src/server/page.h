// The files of the chat page (src/server/page), which are built into the program.
#pragma once

#include <optional>
#include <string_view>

#include "http/request.h"

namespace hearth {

// Returns the file at `path`, such as "/" or "/page/app.js"; nothing where there is none. Its
// header (CSP) lets the browser load and contact only this server.
std::optional<HttpReply> page_file(std::string_view path);

}  // namespace hearth
