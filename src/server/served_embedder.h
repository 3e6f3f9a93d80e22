// ServedEmbedder: a model for embeddings, or a reranker, as the server's clients see it, made once
// it is loaded.
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
  std::string name;     // what requests call it
  int64_t created = 0;  // Unix time of the file
  // GET /v1/plan: writes its devices into an object. Called once, by App::serve().
  std::function<void(Json&)> plan;
  const Tokenizer& tokenizer;
  uint32_t context = 0;  // tokens of a text, special ones included
  QueueManager& queues;
  // Whether clients share the slots of the queues: where these bound a number of tokens, and not
  // the time of an answer.
  bool shares_slots = false;
  // How a reranker reads a query and a document; its vectors are their scores. Null: it is none.
  const PairText* pairs = nullptr;
  ModelFacts facts = {};
};

}  // namespace hearth
