// The table of the server's routes: what each needs, and which member function of App answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hearth {

class App;
class Exchange;

// The model that a route needs.
enum class RouteNeeds : uint8_t { kNothing, kAnyModel, kTextModel, kEmbedder, kReranker };

// The kind under which GET /metrics counts a route's requests.
enum class CountedAs : uint8_t { kNothing, kText, kEmbeddings, kRanks };

struct Route {
  std::string_view method;  // GET routes take HEAD, too
  std::string_view path;    // with '/' at its end (except "/" itself): all paths that begin with it
  // Answers a request, on the reactor's thread, without blocking.
  void (App::*answer)(const std::shared_ptr<Exchange>& exchange);
  // The model that must be loaded; kNothing also answers while models are loaded and while the
  // server drains.
  RouteNeeds needs = RouteNeeds::kAnyModel;
  CountedAs counted = CountedAs::kNothing;
  bool open = false;   // needs no key
  bool quiet = false;  // logged only with AppOptions::log_all
};

std::span<const Route> routes();

// Returns the route of a path, whatever the method; null where there is none.
const Route* find_route(std::string_view path);
// Whether the route takes the method.
bool takes(const Route& route, std::string_view method);

// Returns a path without its %-escapes, which must be well-formed: "a/b" of "a%2Fb".
std::string percent_decoded(std::string_view text);

}  // namespace hearth
