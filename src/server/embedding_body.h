// The body of the reply to POST /v1/embeddings, in the form of OpenAI's API 2.3.0
// (src/server/openapi.json describes it), written one vector at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth {

class EmbeddingBody {
 public:
  // `base64`: each vector is its floats in little-endian order, as OpenAI's clients ask for; else
  // numbers with as many digits as identify a float.
  EmbeddingBody(std::string_view model, bool base64);

  void add(std::span<const float> vector);
  // Returns the text of the reply written since the last call; size() is its length in bytes.
  std::string take() { return json_.take(); }
  size_t size() const { return json_.size(); }
  // Returns the end of the body, after the last vector.
  std::string finish(uint64_t prompt_tokens);

 private:
  const std::string model_;
  const bool base64_;
  uint64_t count_ = 0;
  Json json_;
};

}  // namespace hearth
