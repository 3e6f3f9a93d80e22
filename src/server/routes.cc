#include "server/routes.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace hearth {
namespace {

bool leads_to(const Route& route, std::string_view path) {
  bool prefix = route.path.size() > 1 && route.path.ends_with('/');
  return prefix ? path.size() > route.path.size() && path.starts_with(route.path)
                : path == route.path;
}

}  // namespace

const Route* find_route(std::string_view path) {
  std::span<const Route> all = routes();
  auto found = std::ranges::find_if(all, [&](const Route& route) { return leads_to(route, path); });
  return found == all.end() ? nullptr : &*found;
}

bool takes(const Route& route, std::string_view method) {
  return method == route.method || (method == "HEAD" && route.method == "GET");
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace hearth
