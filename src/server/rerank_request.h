// Reads the body of POST /rerank, /v1/rerank and /v2/rerank, in the form of Jina's and Cohere's
// APIs (`documents`) or of text-embeddings-inference's (`texts`).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"

namespace hearth {

// The API whose form the reply has: Jina's, Cohere's version 2, or text-embeddings-inference's.
enum class RerankForm : uint8_t { kJina, kCohere, kTei };

struct RerankCall {
  RerankForm form = RerankForm::kJina;
  std::string model;  // as the client gave it; empty: not given
  std::string query;
  std::vector<std::string> documents;  // at least one
  // The most documents in the reply; the best ones are kept.
  size_t best = std::numeric_limits<size_t>::max();
  bool with_documents = false;
  bool raw = false;  // scores are logits, not probabilities
  // Documents that do not fit beside the query are cut at their end; false: they are refused.
  bool truncate = false;
  // The most tokens of a document; its end is cut.
  uint32_t document_tokens = std::numeric_limits<uint32_t>::max();

  const char* documents_field() const { return form == RerankForm::kTei ? "texts" : "documents"; }
};

// Reads the body. `cohere`: it came on Cohere's route. Throws RequestError.
RerankCall read_rerank_call(std::string_view body, const EmbeddingLimits& limits, bool cohere);

// Returns the names of all fields that read_rerank_call() looks at.
std::vector<std::string_view> rerank_field_names();

}  // namespace hearth
