// What the routes answer, and the table of them. The build gives HEARTH_VERSION.
#include <fmt/format.h>

#include "base/json.h"
#include "server/app.h"
#include "server/embedding_task.h"
#include "server/exception_error.h"
#include "server/messages_api.h"
#include "server/messages_reply.h"
#include "server/openapi.h"
#include "server/page.h"
#include "server/prompt_count.h"
#include "server/rerank_task.h"
#include "server/responses_api.h"
#include "server/responses_items.h"
#include "server/text_api.h"

namespace hearth {

std::span<const Route> routes() {
  using Needs = RouteNeeds;
  constexpr bool kOpen = true;
  static constexpr Route kRoutes[] = {
      {"POST", "/v1/chat/completions", &App::chat, Needs::kTextModel, CountedAs::kText},
      {"POST", "/v1/completions", &App::text, Needs::kTextModel, CountedAs::kText},
      {"POST", "/v1/responses", &App::respond, Needs::kTextModel, CountedAs::kText},
      {"POST", "/v1/messages", &App::answer_messages, Needs::kTextModel, CountedAs::kText},
      {"POST", "/v1/responses/input_tokens", &App::count_response_input, Needs::kTextModel},
      {"POST", "/v1/messages/count_tokens", &App::count_message, Needs::kTextModel},
      {"POST", "/v1/embeddings", &App::embed, Needs::kEmbedder, CountedAs::kEmbeddings},
      {"POST", "/v1/rerank", &App::rank, Needs::kReranker, CountedAs::kRanks},
      {"POST", "/v2/rerank", &App::rank, Needs::kReranker, CountedAs::kRanks},
      {"POST", "/rerank", &App::rank, Needs::kReranker, CountedAs::kRanks},
      {"POST", "/api/chat", &App::ollama_chat, Needs::kTextModel, CountedAs::kText},
      {"POST", "/api/generate", &App::ollama_generate, Needs::kTextModel, CountedAs::kText},
      {"POST", "/api/embed", &App::ollama_embed, Needs::kEmbedder, CountedAs::kEmbeddings},
      {"POST", "/api/embeddings", &App::ollama_embed, Needs::kEmbedder, CountedAs::kEmbeddings},
      {"POST", "/api/show", &App::ollama_show},
      {"GET", "/api/tags", &App::ollama_tags},
      {"GET", "/api/ps", &App::ollama_running},
      {"GET", "/api/version", &App::ollama_version, Needs::kNothing},
      {"POST", "/api/pull", &App::ollama_refuse, Needs::kNothing},
      {"DELETE", "/api/delete", &App::ollama_refuse, Needs::kNothing},
      {"POST", "/tokenize", &App::tokenize},
      {"POST", "/detokenize", &App::detokenize},
      {"POST", "/apply-template", &App::apply_template, Needs::kTextModel},
      {"GET", "/v1/models", &App::list_models},
      {"GET", "/v1/models/", &App::tell_model},
      {"GET", "/metrics", &App::tell_metrics, Needs::kNothing},
      {"GET", "/v1/plan", &App::tell_plan},
      {"GET", "/version", &App::tell_version, Needs::kNothing},
      {"GET", "/openapi.json", &App::send_openapi, Needs::kNothing},
      {"GET", "/health", &App::tell_health, Needs::kNothing, CountedAs::kNothing, kOpen},
      {"GET", "/live", &App::tell_life, Needs::kNothing, CountedAs::kNothing, kOpen},
      {"GET", "/", &App::send_page, Needs::kNothing, CountedAs::kNothing, kOpen},
      {"GET", "/page/", &App::send_page, Needs::kNothing, CountedAs::kNothing, kOpen},
  };
  return kRoutes;
}

void App::chat(const std::shared_ptr<Exchange>& exchange) {
  completions_.start(answers_, exchange, *models_.text, chat_api());
}

void App::text(const std::shared_ptr<Exchange>& exchange) {
  completions_.start(answers_, exchange, *models_.text, prompt_api());
}

void App::count_message(const std::shared_ptr<Exchange>& exchange) {
  const RequestLimits& limits = options_.completions.limits;
  answers_.start(std::make_shared<PromptCount>(answers_, exchange, *models_.text, limits,
                                               messages_api(MessagesWish::kCount),
                                               input_tokens_body));
}

void App::respond(const std::shared_ptr<Exchange>& exchange) {
  completions_.start(answers_, exchange, *models_.text, responses_api());
}

void App::answer_messages(const std::shared_ptr<Exchange>& exchange) {
  completions_.start(answers_, exchange, *models_.text, messages_api());
}

void App::embed(const std::shared_ptr<Exchange>& exchange) {
  answers_.start(
      std::make_shared<EmbeddingTask>(embeddings_, answers_, exchange, *models_.embedder));
}

void App::rank(const std::shared_ptr<Exchange>& exchange) {
  const bool cohere = exchange->request().path == "/v2/rerank";
  answers_.start(
      std::make_shared<RerankTask>(ranks_, answers_, exchange, *models_.reranker, cohere));
}

void App::ollama_chat(const std::shared_ptr<Exchange>& exchange) {
  completions_.start(answers_, exchange, *models_.text, ollama_api(OllamaRoute::kChat));
}

void App::ollama_generate(const std::shared_ptr<Exchange>& exchange) {
  completions_.start(answers_, exchange, *models_.text, ollama_api(OllamaRoute::kGenerate));
}

void App::ollama_embed(const std::shared_ptr<Exchange>& exchange) {
  const bool several = exchange->request().path == "/api/embed";
  const EmbeddingForm form = several ? EmbeddingForm::kOllama : EmbeddingForm::kOllamaPrompt;
  answers_.start(
      std::make_shared<EmbeddingTask>(embeddings_, answers_, exchange, *models_.embedder, form));
}

void App::ollama_show(const std::shared_ptr<Exchange>& exchange) {
  const uint32_t depth = options_.completions.limits.depth;
  answers_.start(std::make_shared<OllamaShow>(answers_, exchange, ollama_models(), depth));
}

void App::ollama_tags(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = ollama_tags_body(ollama_models())});
}

void App::ollama_running(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = ollama_running_body(ollama_models())});
}

void App::ollama_version(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = ollama_version_body(HEARTH_VERSION)});
}

void App::ollama_refuse(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  const bool pull = request.path == "/api/pull";
  exchange->reply(refused(
      request, {403, "", "not_allowed",
                pull ? "this server pulls no models: get the file yourself, and start hearth serve "
                       "with it"
                     : "this server deletes no models: remove the file that it was started with "
                       "yourself"}));
}

void App::answer_tokens(const std::shared_ptr<Exchange>& exchange, TokenRoute route) {
  const RequestLimits& limits = options_.completions.limits;
  answers_.start(std::make_shared<TokenAnswer>(answers_, exchange, route, token_model(), limits));
}

void App::tokenize(const std::shared_ptr<Exchange>& exchange) {
  answer_tokens(exchange, TokenRoute::kTokenize);
}

void App::detokenize(const std::shared_ptr<Exchange>& exchange) {
  answer_tokens(exchange, TokenRoute::kDetokenize);
}

void App::apply_template(const std::shared_ptr<Exchange>& exchange) {
  answer_tokens(exchange, TokenRoute::kTemplate);
}

void App::count_response_input(const std::shared_ptr<Exchange>& exchange) {
  const RequestLimits& limits = options_.completions.limits;
  answers_.start(std::make_shared<PromptCount>(answers_, exchange, *models_.text, limits,
                                               responses_api(), response_tokens_body));
}

void App::list_models(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = model_list_body(models())});
}

void App::tell_model(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  std::string_view name =
      std::string_view(request.path).substr(find_route(request.path)->path.size());
  std::string decoded = percent_decoded(name), known;
  for (const ModelInfo& model : models()) {
    if (model.id == decoded) return answer(exchange, {.body = model_body(model)});
    known += (known.empty() ? "" : "' and '") + model.id;
  }
  exchange->reply(refused(request, no_such_model(decoded, known)));
}

void App::tell_plan(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = plan_});
}

void App::tell_metrics(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()});
}

void App::tell_health(const std::shared_ptr<Exchange>& exchange) {
  bool ready = ready_ && !draining_;
  answer(exchange, {.status = ready ? 200u : 503u, .body = health_body(state())});
}

void App::tell_life(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = health_body("ok")});
}

void App::tell_version(const std::shared_ptr<Exchange>& exchange) {
  Json json;
  json.object().key("version").text(HEARTH_VERSION).end_object();
  answer(exchange, {.body = json.line()});
}

void App::send_openapi(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = std::string(openapi_json())});
}

void App::send_page(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& request = exchange->request();
  if (std::optional<HttpReply> file = page_file(request.path)) {
    return answer(exchange, *std::move(file));
  }
  exchange->reply(
      refused(request, {404, "", "not_found", fmt::format("there is no {}", request.path)}));
}

std::string App::metrics() const {
  AppGauges gauges{server_.connections(), server_.exchanges(), server_.displaced_connections(),
                   server_.refused_connections(), server_.reply_bytes()};
  bool text = ready_ && models_.text != nullptr;
  std::string all = metrics_text(completions_.metrics(), gauges,
                                 text ? &models_.text->backend.statistics() : nullptr);
  auto add = [&](const QueueMetricNames& names, const QueuedTexts& requests,
                 const ServedEmbedder* model) {
    std::vector<DeviceStatistics> devices;
    if (ready_) devices = model->queues.statistics();
    all += queue_metrics_text(names, requests.metrics(), devices);
  };
  if (options_.embeddings) add(kEmbeddingMetrics, embeddings_, models_.embedder);
  if (options_.ranks) add(kRerankMetrics, ranks_, models_.reranker);
  return all;
}

TokenRouteModel App::token_model() const {
  if (models_.text == nullptr) return {models_.of_queues().front()->tokenizer, nullptr, true};
  return {models_.text->backend.tokenizer(), &models_.text->chat, false, models_.text->turns};
}

std::vector<OllamaModel> App::ollama_models() const {
  std::vector<OllamaModel> models;
  if (models_.text != nullptr) models.push_back(ollama_model(*models_.text));
  for (const ServedEmbedder* model : models_.of_queues()) models.push_back(ollama_model(*model));
  return models;
}

std::vector<ModelInfo> App::models() const {
  std::vector<ModelInfo> models;
  if (const ServedModel* text = models_.text) {
    models.push_back({text->name, text->created, text->backend.context()});
  }
  for (const ServedEmbedder* model : models_.of_queues()) {
    models.push_back({model->name, model->created, model->context});
  }
  return models;
}

}  // namespace hearth
