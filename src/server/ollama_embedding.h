// The parameters of a body of POST /api/embed (ollama's API), or of /api/embeddings, which takes
// one text. server/ollama_vectors.h has the reply.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/embedding_request.h"

namespace hearth {

enum class EmbeddingForm : uint8_t {
  kOpenAi,
  kOllama,        // input: a text or several
  kOllamaPrompt,  // prompt: a text
};

// Texts that are too long are cut, unless `truncate` is false. There may be no text: then nothing
// is asked but that the model is there. Throws RequestError, also where `context`, what the model
// takes, is below what the body counts on.
EmbeddingCall read_ollama_embedding(std::string_view body, EmbeddingForm form,
                                    const EmbeddingLimits& limits, uint32_t vocabulary,
                                    uint32_t width, uint32_t context);

// The names of all fields that it looks at, of one of the two forms.
std::vector<std::string_view> ollama_embedding_field_names(EmbeddingForm form);

}  // namespace hearth
