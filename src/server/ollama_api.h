// ollama's API (https://docs.ollama.com/api): POST /api/chat, /api/generate, /api/show, and the
// lists of models. Errors are {"error": "..."}.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/answer.h"
#include "server/model_set.h"
#include "server/ollama_request.h"
#include "server/served_embedder.h"
#include "server/served_model.h"
#include "server/text_api.h"

namespace hearth {

// The version of ollama whose API this follows: clients ask for it to know which features they may
// use.
inline constexpr std::string_view kOllamaVersion = "0.12.11";

std::unique_ptr<TextApi> ollama_api(OllamaRoute route);

// OllamaModel: a model as ollama's clients see it. Its pointers lead into the served model.
struct OllamaModel {
  std::string name;
  int64_t created = 0;
  uint32_t context = 0;
  const ModelFacts* facts = nullptr;
  std::vector<std::string_view> capabilities = {};
  const SamplingParams* sampling = nullptr;  // null: generates no text, or is not loaded
  std::vector<std::string> aliases = {};
  bool loaded = true;
  // Seconds from now until it is unloaded; nothing: never.
  std::optional<double> expires_seconds = {};
  std::shared_ptr<const void> holds = nullptr;  // keeps what the pointers lead to alive
};

OllamaModel ollama_model(const ServedModel& model);
// A reranker gets no capability, as ollama has no name for it.
OllamaModel ollama_model(const ServedEmbedder& model);
// Returns the model of a set's row, loaded or not.
OllamaModel ollama_model(const ModelRow& row);

// Return the bodies of GET /api/tags, all models, and /api/ps, the loaded ones.
std::string ollama_tags_body(std::span<const OllamaModel> models);
std::string ollama_running_body(std::span<const OllamaModel> models);
std::string ollama_version_body(std::string_view own_version);
// Returns the body of POST /api/show.
std::string ollama_show_body(const OllamaModel& model);

// Answers POST /api/show, all of it on the worker.
class OllamaShow final : public Answer {
 public:
  OllamaShow(Answers& answers, std::shared_ptr<Exchange> exchange, std::vector<OllamaModel> models,
             uint32_t depth)
      : Answer(answers, std::move(exchange), nullptr), models_(std::move(models)), depth_(depth) {}

 private:
  void begin() override;
  // Returns the model that the body asks for. Throws RequestError.
  const OllamaModel& asked(std::string_view body) const;

  const std::vector<OllamaModel> models_;
  const uint32_t depth_;
};

}  // namespace hearth
