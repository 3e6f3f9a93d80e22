// The body of a reply that ranks documents, the best first, in the words of the API that was asked
// (src/server/openapi.json describes all three). A score is a probability, 1 / (1 + e^-logit), or
// where raw ones were asked for the logit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "server/body_source.h"
#include "server/rerank_request.h"

namespace hearth {

class RerankBody final : public BodySource {
 public:
  // `logits`: by document. Equal ones stay in the documents' order.
  RerankBody(std::string id, std::string model, RerankCall call, std::vector<float> logits,
             uint64_t tokens);

  bool next(std::string* body) override;

 private:
  void begin();
  void add(size_t document);
  void end();

  const std::string id_, model_;
  const RerankCall call_;
  const std::vector<float> logits_;
  const uint64_t tokens_;
  std::vector<size_t> order_;  // documents, the best first
  size_t at_ = 0;
  Json json_;
};

}  // namespace hearth
