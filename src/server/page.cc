#include "server/page.h"

#include <span>
#include <string>

#include "base/embedded_file.h"

namespace hearth {

std::span<const EmbeddedFile> page_files();

namespace {

std::string_view content_type(std::string_view name) {
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  return "text/html; charset=utf-8";
}

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' "
    "data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

}  // namespace

std::optional<HttpReply> page_file(std::string_view path) {
  std::string_view wanted = path == "/" ? "page/index.html" : path.substr(1);
  for (const EmbeddedFile& file : page_files()) {
    if (file.name != wanted) continue;
    return HttpReply{.content_type = std::string(content_type(file.name)),
                     .fields = {{"Content-Security-Policy", std::string(kPolicy)},
                                {"X-Content-Type-Options", "nosniff"},
                                {"Referrer-Policy", "no-referrer"},
                                {"Cache-Control", "no-cache"}},
                     .body = std::string(file.bytes)};
  }
  return {};
}

}  // namespace hearth
