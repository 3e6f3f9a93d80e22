#include "server/routes.h"

#include <algorithm>
#include <string>

#include "base/ascii.h"

namespace hearth {
namespace {

constexpr Route kRoutes[] = {
    {RouteId::kChat, "POST", "/v1/chat/completions", false, RouteNeeds::kTextModel},
    {RouteId::kText, "POST", "/v1/completions", false, RouteNeeds::kTextModel},
    {RouteId::kEmbeddings, "POST", "/v1/embeddings", false, RouteNeeds::kEmbedder},
    {RouteId::kTokenize, "POST", "/tokenize"},
    {RouteId::kDetokenize, "POST", "/detokenize"},
    {RouteId::kTemplate, "POST", "/apply-template", false, RouteNeeds::kTextModel},
    {RouteId::kModels, "GET", "/v1/models"},
    {RouteId::kModel, "GET", "/v1/models/"},
    {RouteId::kMetrics, "GET", "/metrics", false, RouteNeeds::kNothing},
    {RouteId::kPlan, "GET", "/v1/plan"},
    {RouteId::kOpenApi, "GET", "/openapi.json", false, RouteNeeds::kNothing},
    {RouteId::kHealth, "GET", "/health", true, RouteNeeds::kNothing},
    {RouteId::kLive, "GET", "/live", true, RouteNeeds::kNothing},
    {RouteId::kPage, "GET", "/", true, RouteNeeds::kNothing},
    {RouteId::kPage, "GET", "/page/", true, RouteNeeds::kNothing},
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
