#include "server/app.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "server/exception_error.h"
#include "server/openapi.h"
#include "server/page.h"
#include "server/reply_bodies.h"
#include "server/token_routes.h"
#include "threads/pin.h"

namespace hearth {
namespace {

constexpr double kLookAgainSeconds = 0.05;
// For the last errors to reach their clients.
constexpr double kLastWordsSeconds = 2;

ApiError ended() { return {503, "", "draining", "the server ended before this answer did"}; }

LogEntry entry_of(const HttpRequest& request, unsigned status) {
  LogEntry entry;
  entry.id = request.id;
  entry.peer = request.peer;
  entry.method = request.method;
  entry.path = request.path;
  entry.status = status;
  entry.seconds = steady_seconds() - request.received_seconds;
  return entry;
}

ModelInfo info_of(const ServedModel& model) {
  return {model.name, model.created, model.backend.context()};
}

}  // namespace

App::App(const AppOptions& options)
    : options_(options),
      guard_(options.keys, options.names),
      log_(options.log),
      server_(
          options.http, [this](const HttpRequest& head) { return check(head); },
          [this](const std::shared_ptr<Exchange>& exchange) { handle(exchange); },
          [this](const HttpRequest& head, const ApiError& error) { note_refusal(head, error); }),
      completions_(options.completions, server_, worker_, log_) {}

App::~App() { server_.stop(); }

const char* App::state() const {
  if (draining_) return "draining";
  return model_.load() == nullptr ? "loading" : "ok";
}

std::optional<ApiError> App::refuse(const HttpRequest& head, const Route* route) const {
  if (!guard_.knows_host(head)) {
    return ApiError{403, "", "host_not_allowed",
                    fmt::format("this server does not answer to the name '{}': ask for it by "
                                "address, or start it with --allow-host",
                                *head.find("host"))};
  }
  if (Guard::from_elsewhere(head)) {
    return ApiError{403, "", "origin_not_allowed",
                    "a page of another origin may not ask this server"};
  }
  if ((route == nullptr || !route->open) && !guard_.knows_key(head)) {
    return ApiError{401,
                    "",
                    "invalid_api_key",
                    "this server wants one of its keys, as `Authorization: Bearer KEY`",
                    {},
                    {{"WWW-Authenticate", "Bearer"}}};
  }
  if (route == nullptr) {
    return ApiError{404, "", "not_found",
                    fmt::format("there is no {}; /openapi.json tells what there is", head.path)};
  }
  if (!takes(*route, head.method)) {
    std::string methods = route->method == "GET" ? "GET, HEAD" : std::string(route->method);
    return ApiError{405,
                    "",
                    "method_not_allowed",
                    fmt::format("{} takes {}", head.path, methods),
                    {},
                    {{"Allow", methods}}};
  }
  if (!route->early && (draining_ || model_.load() == nullptr)) {
    return ApiError{503,
                    "",
                    state(),
                    draining_ ? "the server is about to end: ask another one"
                              : "the model is still being loaded: try again in a moment",
                    {},
                    {{"Retry-After", draining_ ? "30" : "2"}}};
  }
  return {};
}

void App::note_refusal(const HttpRequest& head, const ApiError& error) {
  LogEntry entry = entry_of(head, error.status);
  entry.finish = error.code;
  log_.write(entry);
  const Route* route = find_route(head.path);
  if (route == nullptr) return;
  bool completion = route->id == RouteId::kChat || route->id == RouteId::kText;
  if (completion) completions_.count_refusal(error.status);
}

HttpReply App::refused(const HttpRequest& head, const ApiError& error) {
  note_refusal(head, error);
  return error_reply(error);
}

std::optional<HttpReply> App::check(const HttpRequest& head) {
  const Route* route = find_route(head.path);
  std::optional<ApiError> error = refuse(head, route);
  if (!error) return {};
  return refused(head, *error);
}

void App::answer(const std::shared_ptr<Exchange>& exchange, HttpReply reply) {
  log_.write(entry_of(exchange->request(), reply.status));
  exchange->reply(std::move(reply));
}

std::string App::metrics() const {
  const ServedModel* model = model_.load();
  AppGauges gauges{server_.connections(), server_.exchanges()};
  return metrics_text(completions_.metrics(), gauges,
                      model != nullptr ? &model->backend.statistics() : nullptr);
}

// The route was checked: it exists, takes the method, and has its model.
void App::handle(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const Route* route = find_route(request.path);
  // Its body came too late.
  if (last_words_ && !route->early) return exchange->reply(refused(request, ended()));
  switch (route->id) {
    case RouteId::kChat:
    case RouteId::kText:
      return completions_.start(exchange, *model_.load(), route->id == RouteId::kChat);
    case RouteId::kTokenize:
    case RouteId::kDetokenize:
    case RouteId::kTemplate:
      return answer_later(exchange, route->id);
    case RouteId::kModels:
      return answer(exchange, {.body = model_list_body({{info_of(*model_.load())}})});
    case RouteId::kModel: {
      const ServedModel& model = *model_.load();
      std::string name = percent_decoded(std::string_view(request.path).substr(route->path.size()));
      if (name != model.name) {
        return exchange->reply(refused(request, no_such_model(name, model.name)));
      }
      return answer(exchange, {.body = model_body(info_of(model))});
    }
    case RouteId::kMetrics:
      return answer(exchange, {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                               .body = metrics()});
    case RouteId::kPlan:
      return answer(exchange, {.body = model_.load()->plan});
    case RouteId::kOpenApi:
      return answer(exchange, {.body = std::string(openapi_json())});
    case RouteId::kHealth: {
      bool ready = model_.load() != nullptr && !draining_;
      return answer(exchange, {.status = ready ? 200u : 503u, .body = health_body(state())});
    }
    case RouteId::kLive:
      return answer(exchange, {.body = health_body("ok")});
    case RouteId::kPage: {
      std::optional<HttpReply> file = page_file(request.path);
      if (file) return answer(exchange, *std::move(file));
      return exchange->reply(
          refused(request, {404, "", "not_found", fmt::format("there is no {}", request.path)}));
    }
  }
}

// What takes time is the worker's.
void App::answer_later(const std::shared_ptr<Exchange>& exchange, RouteId route) {
  auto gone = std::make_shared<std::atomic<bool>>(false);
  exchange->on_gone([gone] { *gone = true; });
  worker_.post([this, exchange, route, gone, &model = *model_.load()] {
    const HttpRequest& request = exchange->request();
    if (*gone) return;
    try {
      answer(exchange, {.body = token_route_body(route, exchange->take_body(), model,
                                                 options_.completions.limits)});
    } catch (const std::exception& error) {
      exchange->reply(refused(request, api_error_of(error)));
    }
  });
}

void App::pin(const std::vector<uint32_t>& pus) {
  if (pus.empty()) return;
  // A refusal costs nothing but speed.
  server_.post([pus] { set_affinity(0, pus); });
  worker_.post([pus] { set_affinity(0, pus); });
}

void App::drain() {
  draining_ = true;
  server_.drain();
  double until = steady_seconds() + options_.drain_seconds;
  server_.post([this, until] { end_drain(until); });
}

void App::end_drain(double until) {
  if (server_.exchanges() == 0) return server_.stop();
  if (steady_seconds() >= until) {
    if (last_words_) return server_.stop();
    last_words_ = true;
    completions_.fail_all(ended());
    until = steady_seconds() + kLastWordsSeconds;
  }
  server_.after(kLookAgainSeconds, [this, until] { end_drain(until); });
}

}  // namespace hearth
