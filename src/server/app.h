// App: the server before models that may still be loading, from the first request to the last: one
// for text, one for embeddings, a reranker, or several of these; and a set of models that are
// loaded when they are asked for (server/model_set.h).
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
  bool text = true, embeddings = false, ranks = false;  // what it is going to serve
  bool several = false;                                 // and a set of models beside that
  CompletionOptions completions;
  EmbeddingLimits embedding_limits;
  std::vector<std::string> keys;     // empty: nobody needs one
  std::vector<std::string> names;    // that Host may give besides http.host (Guard)
  std::vector<std::string> origins;  // of pages that may ask; as of origin_option()
  double drain_seconds = 30;
  RequestLog::Form log = RequestLog::Form::kText;
  bool log_all = false;         // also who asks for the page, for health and for figures
  ModelStock* stock = nullptr;  // that clients may change; outlives the App; null: they may not
};

class App {
 public:
  // Listens. Throws as HttpServer does.
  explicit App(const AppOptions& options);
  // Must not be called while run() is under way.
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // Returns the port of HttpServer::port().
  uint16_t port(size_t number = 0) const { return server_.port(number); }
  size_t connection_limit() const { return server_.connection_limit(); }

  // The reactor; returns after drain() or stop(). By one thread.
  void run() {
    server_.run();
    settled_ = worker_.end(kMostEndSeconds) && pulls_.end_within(kMostEndSeconds);
  }
  // Whether the work of all requests and pulls came to an end before run() returned. If not, the
  // App may not be destroyed, and the process ends best at once.
  bool settled() const { return settled_; }

  // The following from any thread.
  // What the options announced, null what they did not. The models outlive run(); queues end before
  // the App does, and so does all that the set has loaded.
  void serve(const ServedModels& models, ModelSet* set = nullptr);
  // Takes other keys, from the next request on.
  void take_keys(std::vector<std::string> keys);
  // Keeps reactor and worker on these PUs.
  void pin(const std::vector<uint32_t>& pus);
  // Takes no new requests, and ends once those under way have ended or `drain_seconds` are over:
  // what is left then gets an error.
  void drain();
  // Ends everything at once.
  void stop() { server_.stop(); }

 private:
  friend std::span<const Route> routes();

  // Seconds that the end waits for tasks whose clients are gone; each stops at its next pause.
  static constexpr double kMostEndSeconds = 2;

  std::optional<HttpReply> check(HttpRequest& head);
  std::optional<ApiError> refuse(const HttpRequest& head, const Route* route) const;
  std::optional<ApiError> refuse_without_model(const Route& route) const;
  std::optional<ApiError> refuse_kind(const Route& route) const;
  // Returns the counters of a route's requests; null where nothing counts them.
  RequestMetrics* metrics_of(const Route& route);
  void note_refusal(const HttpRequest& head, const ApiError& error);
  HttpReply refused(const HttpRequest& head, const ApiError& error);
  void handle(const std::shared_ptr<Exchange>& exchange);
  void answer(const std::shared_ptr<Exchange>& exchange, HttpReply reply);
  // The routes (app_routes.cc). Each was checked: it takes the method, and has its model.
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
  void tell_properties(const std::shared_ptr<Exchange>& exchange);
  void list_models(const std::shared_ptr<Exchange>& exchange);
  void tell_model(const std::shared_ptr<Exchange>& exchange);
  void tell_plan(const std::shared_ptr<Exchange>& exchange);
  void tell_metrics(const std::shared_ptr<Exchange>& exchange);
  void tell_health(const std::shared_ptr<Exchange>& exchange);
  void tell_life(const std::shared_ptr<Exchange>& exchange);
  void tell_version(const std::shared_ptr<Exchange>& exchange);
  // ollama's API.
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
  // The answers to routes that need a model, once it is there.
  using MakeApi = std::function<std::unique_ptr<TextApi>()>;
  void answer_with_model(const std::shared_ptr<Exchange>& exchange, ModelWait::Make make);
  void answer_text(const std::shared_ptr<Exchange>& exchange, MakeApi make_api);
  void answer_vectors(const std::shared_ptr<Exchange>& exchange, EmbeddingForm form);
  void count_prompt(const std::shared_ptr<Exchange>& exchange, MakeApi make_api,
                    std::string (*body)(uint64_t tokens));
  void refuse_name(const std::shared_ptr<Exchange>& exchange, const std::string& name);
  // Returns the row of the model that a path or a query names.
  std::optional<ModelRow> row_of(const std::string& name) const;
  const char* state() const;
  void end_drain(double until);
  void wait_for_end(double until);

  const AppOptions options_;
  Guard guard_;  // the reactor's
  RequestLog log_;
  // The models are there, as far as the options announced them, once `ready_` is set.
  ServedModels models_;
  ModelSet* set_ = nullptr;  // null: `models_` are all
  std::string plan_;         // GET /v1/plan, of these
  std::atomic<bool> ready_{false};
  std::atomic<bool> draining_{false};
  std::atomic<bool> settled_{true};
  bool last_words_ = false;  // what was left when the time for draining was over got its error
  HttpServer server_;
  Completions completions_;
  QueuedTexts embeddings_, ranks_;
  Answers answers_;
  RequestWorker worker_;  // goes before these, with its tasks
  PullLine pulls_;        // and this with its own before that
};

}  // namespace hearth
