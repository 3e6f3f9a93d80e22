// ServedEmbedder: a loaded embedder or reranker, with all that the server tells its clients of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "embed/pair_text.h"
#include "embed/queue_manager.h"
#include "server/model_facts.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

struct ServedEmbedder {
  std::string name;     // the name that requests use
  int64_t created = 0;  // the file's Unix time
  // Writes the model's devices into an object of GET /v1/plan. App::serve() calls it, once.
  std::function<void(Json&)> plan;
  const Tokenizer& tokenizer;
  uint32_t context = 0;  // tokens of a text, including special ones
  QueueManager& queues;
  // Whether each client may only have a share of the queues' slots: true where slots limit a number
  // of tokens, false where they limit the time until an answer.
  bool shares_slots = false;
  // How a reranker joins a query and a document to one text; its vectors then are scores. Null: an
  // embedder.
  const PairText* pairs = nullptr;
  ModelFacts facts = {};
};

}  // namespace hearth
