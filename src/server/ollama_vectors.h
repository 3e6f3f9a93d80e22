// The body of the reply to POST /api/embed or /api/embeddings, in the forms of ollama's API
// (src/server/openapi.json describes them). The vectors have length 1, as those of /v1/embeddings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "embed/device.h"
#include "server/body_source.h"
#include "server/ollama_embedding.h"

namespace hearth {

// OllamaVectors: writes the body one vector at a time.
class OllamaVectors final : public BodySource {
 public:
  OllamaVectors(EmbeddingForm form, std::string_view model, std::optional<uint32_t> dimensions,
                std::vector<EmbedVector> vectors, uint64_t tokens, double seconds);
  bool next(std::string* body) override;

 private:
  const bool one_;
  const std::optional<uint32_t> dimensions_;
  std::vector<EmbedVector> vectors_;
  const uint64_t tokens_;
  const double seconds_;
  size_t at_ = 0;
  Json json_;
};

}  // namespace hearth
