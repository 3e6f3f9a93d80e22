// Reads the body of POST /api/embed (ollama's API), or of /api/embeddings, which takes one text.
// server/ollama_vectors.h writes the reply.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"

namespace hearth {

enum class EmbeddingForm : uint8_t {
  kOpenAi,
  kOllama,        // `input`: a text or several
  kOllamaPrompt,  // `prompt`: a text
};

// Too long texts are cut, unless `truncate` is false. Without any text the request only asks
// whether the model is there. Throws RequestError, also where num_ctx in the body is above
// `context`, the tokens that the model takes.
EmbeddingCall read_ollama_embedding(std::string_view body, EmbeddingForm form,
                                    const EmbeddingLimits& limits, uint32_t vocabulary,
                                    uint32_t width, uint32_t context);

// Returns the names of all fields that the reader looks at, for one of the two forms.
std::vector<std::string_view> ollama_embedding_field_names(EmbeddingForm form);

}  // namespace hearth
