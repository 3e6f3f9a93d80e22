// ServedModel: a loaded text model, with all that the server tells its clients of it.
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
  std::string name;         // the name that requests use
  int64_t created = 0;      // the file's Unix time
  std::string fingerprint;  // make_fingerprint(): the same seed and fingerprint give the same text
  // Writes members into an object of GET /v1/plan. App::serve() calls it, once.
  std::function<void(Json&)> plan;
  Backend& backend;
  const ChatPrompt& chat;
  SamplingParams sampling;  // the defaults of requests
  // The format of the model's turns, which outlives this; null: none was found, and a chat's text
  // is all content.
  const TurnFormat* turns = nullptr;
  // The reason why tools cannot be called, in words that follow "the chat template": "shows no
  // calls". Empty: they can.
  std::string turns_problem = {};
  ModelFacts facts = {};
  // Grammars compiled for this model's tokens. Only the worker's threads use them.
  std::shared_ptr<Languages> languages = std::make_shared<Languages>();
};

// Returns "fp_0123456789ab", a hash of all that decides a text besides the request: the version,
// the model's tensors and metadata (`facts`), the level of the kernels, how weights are split, the
// format of the KV pages, the default sampling, and `others`, options that change prompts.
std::string make_fingerprint(const ModelFacts& facts, const Engine& engine,
                             const SamplingParams& sampling, std::span<const std::string> others);

// Writes the threads' and the weights' places on the machine into the object under way in `json`.
void json_served_plan(Json& json, const std::string& name, const Engine& engine,
                      const Machine& machine);

}  // namespace hearth
