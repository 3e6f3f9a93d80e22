// ServedEmbedder: a model for embeddings as the server's clients see it, made once it is loaded.
#pragma once

#include <cstdint>
#include <string>

#include "embed/queue_manager.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

struct ServedEmbedder {
  std::string name;     // what requests call it
  int64_t created = 0;  // Unix time of the file
  std::string plan;     // GET /v1/plan: its devices, a JSON object
  const Tokenizer& tokenizer;
  uint32_t context = 0;  // tokens of a text, special ones included
  QueueManager& queues;
  // Whether clients share the slots of the queues: where these bound a number of tokens, and not
  // the time of an answer.
  bool shares_slots = false;
};

}  // namespace hearth
