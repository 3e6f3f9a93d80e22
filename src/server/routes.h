// The routes of the server as a table: who may ask what, and which member function of App answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

class App;
class Exchange;

// The model without which a route has no answer.
enum class RouteNeeds : uint8_t { kNothing, kAnyModel, kTextModel, kEmbedder, kReranker };

// The requests among which GET /metrics counts those of a route.
enum class CountedAs : uint8_t { kNothing, kText, kEmbeddings, kRanks };

struct Route {
  std::string_view method;  // GET routes take HEAD too
  std::string_view path;    // one that ends in '/' stands for all that begin so; but for "/" itself
  // Answers; by the reactor, which does not wait.
  void (App::*answer)(const std::shared_ptr<Exchange>& exchange);
  // Routes that need nothing also answer while models are loaded and while the last requests end.
  RouteNeeds needs = RouteNeeds::kAnyModel;
  CountedAs counted = CountedAs::kNothing;
  bool open = false;   // without a key
  bool quiet = false;  // logged only where everything is
};

std::span<const Route> routes();

// The route, whatever the method; null where the path leads nowhere.
const Route* find_route(std::string_view path);
// Whether the route takes the method.
bool takes(const Route& route, std::string_view method);

// "a%2Fb" as "a/b"; escapes were checked.
std::string percent_decoded(std::string_view text);

}  // namespace hearth
