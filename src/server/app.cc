#include "server/app.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/json.h"
#include "server/reply_pieces.h"
#include "server/route_error.h"
#include "threads/pin.h"

namespace hearth {
namespace {

constexpr double kLookAgainSeconds = 0.05;
// Seconds for which connections stay open at the end of draining, so that clients can read the last
// errors.
constexpr double kLastWordsSeconds = 2;

ApiError ended() { return {503, "", "draining", "the server ended before this answer did"}; }

// Errors below /api/, ollama's API, are lines of JSON: its clients read no other form.
HttpOptions with_lines(HttpOptions options) {
  options.lines_below = "/api/";
  return options;
}

}  // namespace

App::App(const AppOptions& options)
    : options_(options),
      guard_(options.keys, options.names, options.http.host, options.origins),
      log_(options.log),
      server_(
          with_lines(options.http), [this](HttpRequest& head) { return check(head); },
          [this](const std::shared_ptr<Exchange>& exchange) { handle(exchange); },
          [this](const HttpRequest& head, const ApiError& error) { note_refusal(head, error); },
          [this](const HttpRequest& head) { return guard_.cors_fields(head); },
          [this](const std::exception& thrown) { log_.write_trouble(thrown); }),
      completions_(options.completions),
      embeddings_(options.embedding_limits, "requests for embeddings"),
      ranks_(options.embedding_limits, "requests to rank documents"),
      answers_(server_, worker_, log_),
      worker_([this](const std::exception& thrown) { log_.write_trouble(thrown); }) {}

App::~App() { server_.stop(); }

const char* App::state() const {
  if (draining_) return "draining";
  return ready_ ? "ok" : "loading";
}

void App::serve(const ServedModels& models, ModelSet* set) {
  HEARTH_CHECK(options_.text == (models.text != nullptr) &&
                   options_.embeddings == (models.embedder != nullptr) &&
                   options_.ranks == (models.reranker != nullptr) &&
                   options_.several == (set != nullptr),
               "what is served was announced");
  models_ = models;
  set_ = set;
  plan_ = plan_body(models_);
  ready_ = true;
}

void App::take_keys(std::vector<std::string> keys) {
  server_.post([this, keys = std::move(keys)] { guard_.set_keys(keys); });
}

std::optional<ApiError> App::refuse(const HttpRequest& head, const Route* route) const {
  if (!guard_.knows_host(head)) {
    return ApiError{403, "", "host_not_allowed",
                    fmt::format("this server does not accept the host name '{}': use its address, "
                                "or start it with --allow-host NAME",
                                *head.find("host"))};
  }
  if (guard_.from_elsewhere(head)) {
    return ApiError{403, "", "origin_not_allowed",
                    "web pages of another origin may not use this server: send one of its API "
                    "keys, or start it with --allow-origin ORIGIN"};
  }
  if ((route == nullptr || !route->open) && !guard_.knows_key(head)) {
    return ApiError{
        401,
        "",
        "invalid_api_key",
        "this server needs an API key: send `Authorization: Bearer KEY` or `X-Api-Key: KEY`",
        {},
        {{"WWW-Authenticate", "Bearer"}}};
  }
  if (route == nullptr) {
    return ApiError{404, "", "not_found",
                    fmt::format("there is no {}; see /openapi.json", head.path)};
  }
  if (!takes(*route, head.method)) {
    std::string methods = route->method == "GET" ? "GET, HEAD" : std::string(route->method);
    return ApiError{405,
                    "",
                    "method_not_allowed",
                    fmt::format("{} accepts only {}", head.path, methods),
                    {},
                    {{"Allow", methods}}};
  }
  return refuse_without_model(*route);
}

std::optional<ApiError> App::refuse_without_model(const Route& route) const {
  if (route.needs == RouteNeeds::kNothing) return {};
  // A set may load models of any kind, so ModelWait refuses a model of the wrong kind once it is
  // known.
  if (const auto error = refuse_kind(route); error && !options_.several) return error;
  if (ready_ && !draining_) return {};
  return ApiError{503,
                  "",
                  state(),
                  draining_ ? "the server is about to end: ask another one"
                            : "the model is still being loaded: try again in a moment",
                  {},
                  {{"Retry-After", draining_ ? "30" : "2"}}};
}

std::optional<ApiError> App::refuse_kind(const Route& route) const {
  if (route.needs == RouteNeeds::kTextModel && !options_.text) {
    return ApiError{
        404, "", "no_text_model",
        fmt::format(
            "{} needs a model that generates text, and this server has none: start it with one",
            route.path)};
  }
  if (route.needs == RouteNeeds::kEmbedder && !options_.embeddings) {
    return ApiError{
        404, "", "no_embedding_model",
        fmt::format(
            "{} needs an embedding model: start the server with one, or add one with --embed FILE",
            route.path)};
  }
  if (route.needs == RouteNeeds::kReranker && !options_.ranks) {
    return ApiError{
        404, "", "no_reranker",
        fmt::format("{} needs a reranker: start the server with one, or add one with --rerank FILE",
                    route.path)};
  }
  return {};
}

RequestMetrics* App::metrics_of(const Route& route) {
  if (route.counted == CountedAs::kEmbeddings) return &embeddings_.metrics().requests;
  if (route.counted == CountedAs::kRanks) return &ranks_.metrics().requests;
  return route.counted == CountedAs::kText ? &completions_.metrics().requests : nullptr;
}

void App::note_refusal(const HttpRequest& head, const ApiError& error) {
  LogEntry entry = log_entry(head, error.status);
  entry.finish = error.code;
  log_.write(entry);
  const Route* route = find_route(head.path);
  if (route == nullptr) return;
  RequestMetrics* metrics = metrics_of(*route);
  if (metrics != nullptr) metrics->count(outcome_of_error(error.status), entry.seconds);
}

HttpReply App::refused(const HttpRequest& head, const ApiError& error) {
  note_refusal(head, error);
  return route_error(head, error);
}

std::optional<HttpReply> App::check(HttpRequest& head) {
  head.client = guard_.client_of(head);
  if (guard_.knows_host(head)) {
    if (std::optional<HttpReply> preflight = guard_.preflight(head)) {
      log_.write(log_entry(head, preflight->status));
      return preflight;
    }
  }
  const Route* route = find_route(head.path);
  std::optional<ApiError> error = refuse(head, route);
  if (!error) return {};
  return refused(head, *error);
}

void App::answer(const std::shared_ptr<Exchange>& exchange, HttpReply reply) {
  if (!exchange->hold(reply.body.size())) {
    return exchange->reply(refused(exchange->request(), replies_full()));
  }
  const Route* route = find_route(exchange->request().path);
  if (options_.log_all || route == nullptr || !route->quiet) {
    log_.write(log_entry(exchange->request(), reply.status));
  }
  exchange->reply(std::move(reply));
}

void App::handle(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  // The request was checked, so its route exists.
  const Route& route = *find_route(request.path);
  // The body arrived after the time for draining was over.
  if (last_words_ && route.needs != RouteNeeds::kNothing) {
    return exchange->reply(refused(request, ended()));
  }
  (this->*route.answer)(exchange);
}

void App::pin(const std::vector<uint32_t>& pus) {
  if (pus.empty()) return;
  // An error of pinning is ignored, since threads that are not pinned are only slower.
  server_.post([pus] { set_affinity(0, pus); });
  worker_.post([pus] { set_affinity(0, pus); });
}

void App::drain() {
  draining_ = true;
  pulls_.end();
  server_.drain();
  double until = steady_seconds() + options_.drain_seconds;
  try {
    server_.post([this, until] { end_drain(until); });
  } catch (const std::bad_alloc&) {
    server_.stop();
  }
}

void App::end_drain(double until) {
  try {
    wait_for_end(until);
  } catch (const std::bad_alloc&) {
    // There was no memory for the timer that waits for the answers, so run() ends at once.
    server_.stop();
  }
}

void App::wait_for_end(double until) {
  if (server_.exchanges() == 0) return server_.stop();
  if (steady_seconds() >= until) {
    if (last_words_) return server_.stop();
    last_words_ = true;
    answers_.fail_all(ended());
    until = steady_seconds() + kLastWordsSeconds;
  }
  server_.after(kLookAgainSeconds, [this, until] { end_drain(until); });
}

}  // namespace hearth
