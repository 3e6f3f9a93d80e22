// The page to chat on, src/server/page, which is part of the program.
#pragma once

#include <optional>
#include <string_view>

#include "http/request.h"

namespace hearth {

// The file at `path`: "/", "/page/app.js". Nothing where there is none. Its header lets a browser
// run and ask nothing but what comes from this server.
std::optional<HttpReply> page_file(std::string_view path);

}  // namespace hearth
