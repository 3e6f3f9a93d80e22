// The routes of text, models and health: how each answers, and the table of all routes. The build
// defines HEARTH_VERSION.
#include <fmt/format.h>

#include "base/json.h"
#include "server/app.h"
#include "server/completion.h"
#include "server/embedding_task.h"
#include "server/exception_error.h"
#include "server/messages_api.h"
#include "server/messages_reply.h"
#include "server/ollama_stock.h"
#include "server/openapi.h"
#include "server/page.h"
#include "server/prompt_count.h"
#include "server/rerank_task.h"
#include "server/responses_api.h"
#include "server/responses_items.h"
#include "server/text_api.h"

namespace hearth {

namespace {

// Returns the model whose tokenizer /tokenize uses: the text model's, or without one that of the
// first queue (embedder or reranker).
TokenRouteModel token_model(const ServedModels& models) {
  if (models.text == nullptr) return {models.of_queues().front()->tokenizer, nullptr, true};
  return {models.text->backend.tokenizer(), &models.text->chat, false, models.text->turns};
}

std::optional<ModelKind> kind_of(RouteNeeds needs) {
  switch (needs) {
    case RouteNeeds::kTextModel:
      return ModelKind::kText;
    case RouteNeeds::kEmbedder:
      return ModelKind::kEmbedder;
    case RouteNeeds::kReranker:
      return ModelKind::kReranker;
    default:
      return {};
  }
}

}  // namespace

std::span<const Route> routes() {
  using Needs = RouteNeeds;
  constexpr bool kOpen = true, kQuiet = true;
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
      {"POST", "/api/pull", &App::ollama_pull},
      {"DELETE", "/api/delete", &App::ollama_delete},
      {"POST", "/tokenize", &App::tokenize},
      {"POST", "/detokenize", &App::detokenize},
      {"POST", "/apply-template", &App::apply_template, Needs::kTextModel},
      {"GET", "/v1/models", &App::list_models},
      {"GET", "/v1/models/", &App::answer_model},
      {"POST", "/models/load", &App::load_model},
      {"POST", "/models/unload", &App::load_model},
      {"GET", "/props", &App::answer_properties},
      {"GET", "/metrics", &App::answer_metrics, Needs::kNothing, CountedAs::kNothing, false,
       kQuiet},
      {"GET", "/v1/plan", &App::answer_plan},
      {"GET", "/version", &App::answer_version, Needs::kNothing},
      {"GET", "/openapi.json", &App::send_openapi, Needs::kNothing},
      {"GET", "/health", &App::answer_health, Needs::kNothing, CountedAs::kNothing, kOpen, kQuiet},
      {"GET", "/live", &App::answer_life, Needs::kNothing, CountedAs::kNothing, kOpen, kQuiet},
      {"GET", "/", &App::send_page, Needs::kNothing, CountedAs::kNothing, kOpen, kQuiet},
      {"GET", "/page/", &App::send_page, Needs::kNothing, CountedAs::kNothing, kOpen, kQuiet},
  };
  return kRoutes;
}

void App::answer_with_model(const std::shared_ptr<Exchange>& exchange, ModelWait::Make make) {
  if (set_ == nullptr) return answers_.start(make(exchange, models_));
  const Route& route = *find_route(exchange->request().path);
  const ModelWait::Choice choice{*set_, models_, kind_of(route.needs),
                                 options_.completions.limits.depth,
                                 route.counted == CountedAs::kText};
  answers_.start(
      std::make_shared<ModelWait>(answers_, exchange, metrics_of(route), choice, std::move(make)));
}

void App::answer_text(const std::shared_ptr<Exchange>& exchange, MakeApi make_api) {
  answer_with_model(exchange, [this, make_api](const auto& asked, const ServedModels& models) {
    return std::make_shared<Completion>(completions_, answers_, asked, *models.text, make_api());
  });
}

void App::count_prompt(const std::shared_ptr<Exchange>& exchange, MakeApi make_api,
                       std::string (*body)(uint64_t tokens)) {
  answer_with_model(
      exchange, [this, make_api, body](const auto& asked, const ServedModels& models) {
        return std::make_shared<PromptCount>(answers_, asked, *models.text,
                                             options_.completions.limits, make_api(), body);
      });
}

void App::answer_vectors(const std::shared_ptr<Exchange>& exchange, EmbeddingForm form) {
  answer_with_model(exchange, [this, form](const auto& asked, const ServedModels& models) {
    return std::make_shared<EmbeddingTask>(embeddings_, answers_, asked, *models.embedder, form);
  });
}

void App::chat(const std::shared_ptr<Exchange>& exchange) { answer_text(exchange, chat_api); }

void App::text(const std::shared_ptr<Exchange>& exchange) { answer_text(exchange, prompt_api); }

void App::count_message(const std::shared_ptr<Exchange>& exchange) {
  count_prompt(
      exchange, [] { return messages_api(MessagesWish::kCount); }, input_tokens_body);
}

void App::respond(const std::shared_ptr<Exchange>& exchange) {
  answer_text(exchange, [] { return responses_api(); });
}

void App::answer_messages(const std::shared_ptr<Exchange>& exchange) {
  answer_text(exchange, [] { return messages_api(); });
}

void App::embed(const std::shared_ptr<Exchange>& exchange) {
  answer_vectors(exchange, EmbeddingForm::kOpenAi);
}

void App::rank(const std::shared_ptr<Exchange>& exchange) {
  answer_with_model(exchange, [this](const auto& asked, const ServedModels& models) {
    const bool cohere = asked->request().path == "/v2/rerank";
    return std::make_shared<RerankTask>(ranks_, answers_, asked, *models.reranker, cohere);
  });
}

void App::ollama_chat(const std::shared_ptr<Exchange>& exchange) {
  answer_text(exchange, [] { return ollama_api(OllamaRoute::kChat); });
}

void App::ollama_generate(const std::shared_ptr<Exchange>& exchange) {
  answer_text(exchange, [] { return ollama_api(OllamaRoute::kGenerate); });
}

void App::ollama_embed(const std::shared_ptr<Exchange>& exchange) {
  const bool several = exchange->request().path == "/api/embed";
  answer_vectors(exchange, several ? EmbeddingForm::kOllama : EmbeddingForm::kOllamaPrompt);
}

void App::ollama_version(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = ollama_version_body(HEARTH_VERSION)});
}

void App::refuse_change(const std::shared_ptr<Exchange>& exchange, const char* sentence) {
  exchange->reply(refused(exchange->request(), {403, "", "not_allowed", sentence}));
}

void App::ollama_pull(const std::shared_ptr<Exchange>& exchange) {
  if (options_.stock == nullptr) {
    return refuse_change(exchange,
                         "this server does not pull models: start it with --models --allow-pull, "
                         "or pull the model yourself (hearth pull)");
  }
  answers_.start(std::make_shared<OllamaPull>(answers_, exchange, *options_.stock, pulls_,
                                              options_.completions.limits.depth));
}

void App::ollama_delete(const std::shared_ptr<Exchange>& exchange) {
  if (options_.stock == nullptr) {
    return refuse_change(exchange,
                         "this server does not delete models: start it with --models --allow-pull, "
                         "or remove the model yourself (hearth remove)");
  }
  answers_.start(std::make_shared<OllamaDelete>(answers_, exchange, *options_.stock,
                                                options_.completions.limits.depth));
}

void App::answer_tokens(const std::shared_ptr<Exchange>& exchange, TokenRoute route) {
  answer_with_model(exchange, [this, route](const auto& asked, const ServedModels& models) {
    return std::make_shared<TokenAnswer>(answers_, asked, route, token_model(models),
                                         options_.completions.limits);
  });
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
  count_prompt(
      exchange, [] { return responses_api(); }, response_tokens_body);
}

void App::answer_health(const std::shared_ptr<Exchange>& exchange) {
  bool ready = ready_ && !draining_;
  answer(exchange, {.status = ready ? 200u : 503u, .body = health_body(state())});
}

void App::answer_life(const std::shared_ptr<Exchange>& exchange) {
  answer(exchange, {.body = health_body("ok")});
}

void App::answer_version(const std::shared_ptr<Exchange>& exchange) {
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

}  // namespace hearth
