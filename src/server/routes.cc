#include "server/routes.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace hearth {
namespace {

constexpr Route kRoutes[] = {
    {.id = RouteId::kChat, .method = "POST", .path = "/v1/chat/completions"},
    {.id = RouteId::kText, .method = "POST", .path = "/v1/completions"},
    {.id = RouteId::kTokenize, .method = "POST", .path = "/tokenize"},
    {.id = RouteId::kDetokenize, .method = "POST", .path = "/detokenize"},
    {.id = RouteId::kTemplate, .method = "POST", .path = "/apply-template"},
    {.id = RouteId::kModels, .method = "GET", .path = "/v1/models"},
    {.id = RouteId::kModel, .method = "GET", .path = "/v1/models/"},
    {.id = RouteId::kMetrics, .method = "GET", .path = "/metrics", .early = true},
    {.id = RouteId::kPlan, .method = "GET", .path = "/v1/plan"},
    {.id = RouteId::kOpenApi, .method = "GET", .path = "/openapi.json", .early = true},
    {.id = RouteId::kHealth, .method = "GET", .path = "/health", .open = true, .early = true},
    {.id = RouteId::kLive, .method = "GET", .path = "/live", .open = true, .early = true},
    {.id = RouteId::kPage, .method = "GET", .path = "/", .open = true, .early = true},
    {.id = RouteId::kPage, .method = "GET", .path = "/page/", .open = true, .early = true},
};

bool leads_to(const Route& route, std::string_view path) {
  bool prefix = route.path.size() > 1 && route.path.ends_with('/');
  return prefix ? path.size() > route.path.size() && path.starts_with(route.path)
                : path == route.path;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

const Route* find_route(std::string_view path) {
  const auto* found =
      std::ranges::find_if(kRoutes, [&](const Route& route) { return leads_to(route, path); });
  return found == std::end(kRoutes) ? nullptr : found;
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
