// App: the whole server, which already takes requests while its models are still loading. It serves
// a model for text, one for embeddings, a reranker, or several of these, and a set of models that
// are loaded when they are asked for (server/model_set.h).
//
// One thread runs the reactor (run()); it moves bytes and gives out results as they come. A
// RequestWorker reads bodies, renders templates, makes tokens and large answers. The engine's own
// thread only says that there are results.
//
//   App app(options);                          // listens; answers 503 where a model is needed
//   std::thread reactor([&] { app.run(); });
//   app.serve({.text = &model});               // now there is one, for text
//   ...
//   app.drain();                               // run() returns when the last request has its end
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/server.h"
#include "server/answers.h"
#include "server/completions.h"
#include "server/embedding_task.h"
#include "server/guard.h"
#include "server/model_set.h"
#include "server/model_stock.h"
#include "server/model_wait.h"
#include "server/ollama_api.h"
#include "server/pull_line.h"
#include "server/queued_texts.h"
#include "server/reply_bodies.h"
#include "server/request_log.h"
#include "server/request_worker.h"
#include "server/routes.h"
#include "server/served_models.h"
#include "server/text_api.h"
#include "server/token_routes.h"

namespace hearth {

struct AppOptions {
  HttpOptions http;
  bool text = true, embeddings = false, ranks = false;  // the models that it is going to serve
  bool several = false;                                 // it also serves a set of models
  CompletionOptions completions;
  EmbeddingLimits embedding_limits;
  std::vector<std::string> keys;     // API keys; empty: requests need none
  std::vector<std::string> names;    // further names that Host may give (Guard)
  std::vector<std::string> origins;  // whose pages may send requests; see origin_option()
  double drain_seconds = 30;
  RequestLog::Form log = RequestLog::Form::kText;
  bool log_all = false;         // also quiet routes: page, health, metrics
  ModelStock* stock = nullptr;  // what clients may pull and delete; outlives the App; null: nothing
};

class App {
 public:
  // Listens at the options' address. Throws as HttpServer does.
  explicit App(const AppOptions& options);
  // Must not be called while run() is under way.
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // Returns the port of HttpServer::port(number).
  uint16_t port(size_t number = 0) const { return server_.port(number); }
  size_t connection_limit() const { return server_.connection_limit(); }

  // Runs the reactor on the calling thread until drain() or stop() has ended it.
  void run() {
    server_.run();
    settled_ = worker_.end(kMaxEndSeconds) && pulls_.end_within(kMaxEndSeconds);
  }
  // Whether the work of all requests and pulls had ended when run() returned. If not, the App must
  // not be destroyed: the process should exit at once.
  bool settled() const { return settled_; }

  // Any thread may call the functions from here on.
  //
  // serve() sets the models that the options announced (the others are null), and from then on the
  // App takes requests for them. The models outlive run(). The models' queues, and all that the set
  // has loaded, end before the App is destroyed.
  void serve(const ServedModels& models, ModelSet* set = nullptr);
  // Replaces the API keys, from the next request on.
  void take_keys(std::vector<std::string> keys);
  // Pins the reactor's and the worker's thread to these PUs.
  void pin(const std::vector<uint32_t>& pus);
  // Takes no new requests; run() returns once those under way have ended. Those left after
  // `drain_seconds` end with an error.
  void drain();
  // Ends run() at once, with all requests.
  void stop() { server_.stop(); }

 private:
  friend std::span<const Route> routes();

  // Seconds that run() waits at its end for tasks whose clients are gone; a task stops at its next
  // pause.
  static constexpr double kMaxEndSeconds = 2;

  std::optional<HttpReply> check(HttpRequest& head);
  std::optional<ApiError> refuse(const HttpRequest& head, const Route* route) const;
  std::optional<ApiError> refuse_without_model(const Route& route) const;
  std::optional<ApiError> refuse_kind(const Route& route) const;
  // Returns the counters of a route's requests; null for a route that is not counted.
  RequestMetrics* metrics_of(const Route& route);
  void note_refusal(const HttpRequest& head, const ApiError& error);
  HttpReply refused(const HttpRequest& head, const ApiError& error);
  void handle(const std::shared_ptr<Exchange>& exchange);
  void answer(const std::shared_ptr<Exchange>& exchange, HttpReply reply);
  // The handlers of routes (app_routes.cc). check() has passed: the method is right, and a model
  // that the route needs is there.
  void chat(const std::shared_ptr<Exchange>& exchange);
  void text(const std::shared_ptr<Exchange>& exchange);
  void answer_messages(const std::shared_ptr<Exchange>& exchange);
  void respond(const std::shared_ptr<Exchange>& exchange);
  void count_message(const std::shared_ptr<Exchange>& exchange);
  void embed(const std::shared_ptr<Exchange>& exchange);
  void rank(const std::shared_ptr<Exchange>& exchange);
  void tokenize(const std::shared_ptr<Exchange>& exchange);
  void detokenize(const std::shared_ptr<Exchange>& exchange);
  void apply_template(const std::shared_ptr<Exchange>& exchange);
  void count_response_input(const std::shared_ptr<Exchange>& exchange);
  void load_model(const std::shared_ptr<Exchange>& exchange);
  void answer_properties(const std::shared_ptr<Exchange>& exchange);
  void list_models(const std::shared_ptr<Exchange>& exchange);
  void answer_model(const std::shared_ptr<Exchange>& exchange);
  void answer_plan(const std::shared_ptr<Exchange>& exchange);
  void answer_metrics(const std::shared_ptr<Exchange>& exchange);
  void answer_health(const std::shared_ptr<Exchange>& exchange);
  void answer_life(const std::shared_ptr<Exchange>& exchange);
  void answer_version(const std::shared_ptr<Exchange>& exchange);
  // The handlers of ollama's API.
  void ollama_chat(const std::shared_ptr<Exchange>& exchange);
  void ollama_generate(const std::shared_ptr<Exchange>& exchange);
  void ollama_embed(const std::shared_ptr<Exchange>& exchange);
  void ollama_show(const std::shared_ptr<Exchange>& exchange);
  void ollama_tags(const std::shared_ptr<Exchange>& exchange);
  void ollama_running(const std::shared_ptr<Exchange>& exchange);
  void ollama_version(const std::shared_ptr<Exchange>& exchange);
  void ollama_pull(const std::shared_ptr<Exchange>& exchange);
  void ollama_delete(const std::shared_ptr<Exchange>& exchange);
  void refuse_change(const std::shared_ptr<Exchange>& exchange, const char* sentence);
  void send_openapi(const std::shared_ptr<Exchange>& exchange);
  void send_page(const std::shared_ptr<Exchange>& exchange);
  void answer_tokens(const std::shared_ptr<Exchange>& exchange, TokenRoute route);
  std::vector<ModelInfo> models() const;
  std::vector<OllamaModel> ollama_models() const;
  std::string metrics() const;
  // Answers for routes that need a model: they begin once the model is loaded.
  using MakeApi = std::function<std::unique_ptr<TextApi>()>;
  void answer_with_model(const std::shared_ptr<Exchange>& exchange, ModelWait::Make make);
  void answer_text(const std::shared_ptr<Exchange>& exchange, MakeApi make_api);
  void answer_vectors(const std::shared_ptr<Exchange>& exchange, EmbeddingForm form);
  void count_prompt(const std::shared_ptr<Exchange>& exchange, MakeApi make_api,
                    std::string (*body)(uint64_t tokens));
  void refuse_name(const std::shared_ptr<Exchange>& exchange, const std::string& name);
  // Returns the row of the model that a path or a query names; nothing where there is none.
  std::optional<ModelRow> row_of(const std::string& name) const;
  const char* state() const;
  void end_drain(double until);
  void wait_for_end(double until);

  const AppOptions options_;
  Guard guard_;  // only the reactor uses it
  RequestLog log_;
  // All models that the options announced, valid once `ready_` is set.
  ServedModels models_;
  ModelSet* set_ = nullptr;  // null: there are no others than `models_`
  std::string plan_;         // the body of GET /v1/plan for `models_`
  std::atomic<bool> ready_{false};
  std::atomic<bool> draining_{false};
  std::atomic<bool> settled_{true};
  bool last_words_ = false;  // draining took too long: answers left got their error
  HttpServer server_;
  Completions completions_;
  QueuedTexts embeddings_, ranks_;
  Answers answers_;
  RequestWorker worker_;  // destroyed before the members above: its tasks use them
  PullLine pulls_;        // destroyed before worker_
};

}  // namespace hearth
