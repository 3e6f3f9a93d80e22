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
  std::string model;           // as given; empty: none
  std::vector<Prompt> inputs;  // at least one; none empty
  bool base64 = false;         // else arrays of numbers
  std::optional<uint32_t> dimensions;
  // The most tokens of a text, the special ones included: what is longer is cut at its end, and at
  // what the model takes at any rate. Nothing: what the model does not take is refused.
  std::optional<uint32_t> truncate_to;
};

struct EmbeddingLimits {
  uint32_t inputs = 2048;  // of one request, as OpenAI has it
  uint32_t depth = 64;     // of the JSON
  // The limit in bytes on texts, vectors and replies under way.
  uint64_t memory_bytes = uint64_t{1} << 30;
};

// Throws RequestError. `vocabulary`: ids of tokens lie in [0, vocabulary); `width`: the most
// dimensions.
EmbeddingCall read_embedding_call(std::string_view body, const EmbeddingLimits& limits,
                                  uint32_t vocabulary, uint32_t width);

// The names of all fields that it looks at.
std::vector<std::string_view> embedding_field_names();

}  // namespace hearth
