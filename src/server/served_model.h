// ServedModel: a model as the server's clients see it, made once it is loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/json.h"
#include "chat/turn_format.h"
#include "engine/engine.h"
#include "formats/model_source.h"
#include "server/backend.h"
#include "server/languages.h"
#include "server/model_facts.h"
#include "template/chat_prompt.h"

namespace hearth {

struct ServedModel {
  std::string name;         // what requests call it
  int64_t created = 0;      // Unix time of the file
  std::string fingerprint;  // the same seed under the same fingerprint gives the same text
  // GET /v1/plan: writes members into an object. Called once, by App::serve().
  std::function<void(Json&)> plan;
  Backend& backend;
  const ChatPrompt& chat;
  SamplingParams sampling;  // where a request says nothing
  // The format of its turns; null: a chat's text is content as it is. It outlives the object.
  const TurnFormat* turns = nullptr;
  // The reason why tools cannot be called, as a verb of the chat template: "shows no calls"; empty
  // where they can.
  std::string turns_problem = {};
  ModelFacts facts = {};
  // The worker's threads alone use it; grammars hold the model's tokens.
  std::shared_ptr<Languages> languages = std::make_shared<Languages>();
};

// "fp_0123456789ab", from all that decides on a text besides the request: the version, the model's
// tensors and metadata (`facts`), the level of kernels, how the weights are cut, how keys and
// values are kept, how tokens are sampled where a request does not say, and `others`: options that
// change prompts.
std::string make_fingerprint(const ModelFacts& facts, const Engine& engine,
                             const SamplingParams& sampling, std::span<const std::string> others);

// Writes who works on what, and what lies where, into the object that `json` is in.
void json_served_plan(Json& json, const std::string& name, const Engine& engine,
                      const Machine& machine);

}  // namespace hearth
