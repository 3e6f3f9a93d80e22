// RerankBody: the body of a reply that ranks documents, the best first, in the form of the API
// asked (src/server/openapi.json describes all three). A score is the probability 1 / (1 +
// e^-logit), or the logit itself if raw scores are asked for.
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
  // `logits`: one for each document. Documents with equal logits keep their order.
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
  std::vector<size_t> order_;  // indices of documents, the best first
  size_t at_ = 0;
  Json json_;
};

}  // namespace hearth
