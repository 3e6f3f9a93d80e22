// The parameters of a body of POST /v1/embeddings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/completion_request.h"

namespace hearth {

struct EmbeddingCall {
  std::string model;           // as the client gave it; empty: not given
  std::vector<Prompt> inputs;  // at least one, none of them empty
  bool base64 = false;         // vectors as base64, else as arrays of numbers
  std::optional<uint32_t> dimensions;
  // The most tokens of a text, special ones included: longer ones are cut at their end, to the
  // model's own limit at most. Nothing: a text over the model's limit is refused.
  std::optional<uint32_t> truncate_to;
};

struct EmbeddingLimits {
  uint32_t inputs = 2048;  // the most inputs in one request, as in OpenAI's API
  uint32_t depth = 64;     // the most levels of the JSON
  // The limit in bytes on the memory of texts, vectors and replies of all requests under way.
  uint64_t memory_bytes = uint64_t{1} << 30;
};

// Reads the body of a request for embeddings. Throws RequestError. `vocabulary`: token ids lie in
// [0, vocabulary). `width`: the most dimensions.
EmbeddingCall read_embedding_call(std::string_view body, const EmbeddingLimits& limits,
                                  uint32_t vocabulary, uint32_t width);

// Returns the names of all fields that read_embedding_call() looks at.
std::vector<std::string_view> embedding_field_names();

}  // namespace hearth
