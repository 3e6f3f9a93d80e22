// The routes of the server as a table, and what those of them answer that need neither time nor the
// engine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

enum class RouteId : uint8_t {
  kChat,
  kText,
  kEmbeddings,
  kTokenize,
  kDetokenize,
  kTemplate,
  kModels,
  kModel,
  kMetrics,
  kPlan,
  kOpenApi,
  kHealth,
  kLive,
  kPage,
};

// The model without which a route has no answer.
enum class RouteNeeds : uint8_t { kNothing, kAnyModel, kTextModel, kEmbedder };

struct Route {
  RouteId id;
  std::string_view method;  // GET routes take HEAD too
  std::string_view path;    // one that ends in '/' stands for all that begin so; but for "/" itself
  bool open = false;        // without a key
  // Routes that need nothing also answer while models are loaded and while the last requests end.
  RouteNeeds needs = RouteNeeds::kAnyModel;
};

std::span<const Route> routes();

// The route, whatever the method; null where the path leads nowhere.
const Route* find_route(std::string_view path);
// Whether the route takes the method.
bool takes(const Route& route, std::string_view method);

// "a%2Fb" as "a/b"; escapes were checked.
std::string percent_decoded(std::string_view text);

}  // namespace hearth
