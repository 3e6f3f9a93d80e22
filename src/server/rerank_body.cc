#include "server/rerank_body.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "embed/score_head.h"

namespace hearth {

RerankBody::RerankBody(std::string id, std::string model, RerankCall call,
                       std::vector<float> logits, uint64_t tokens)
    : id_(std::move(id)),
      model_(std::move(model)),
      call_(std::move(call)),
      logits_(std::move(logits)),
      tokens_(tokens),
      order_(logits_.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::ranges::stable_sort(order_, [&](size_t a, size_t b) { return logits_[a] > logits_[b]; });
  order_.resize(std::min(order_.size(), call_.best));
  begin();
}

void RerankBody::begin() {
  if (call_.form != RerankForm::kTei) {
    json_.object().key("id").text(id_);
    if (call_.form == RerankForm::kJina) {
      json_.key("object").text("list").key("model").text(model_);
    }
    json_.key("results");
  }
  json_.array();
}

void RerankBody::add(size_t document) {
  const bool tei = call_.form == RerankForm::kTei;
  const auto logit = static_cast<double>(logits_[document]);
  json_.object().key("index").number(uint64_t{document});
  json_.key(tei ? "score" : "relevance_score").real(call_.raw ? logit : sigmoid(logit));
  if (call_.with_documents && tei) json_.key("text").text(call_.documents[document]);
  if (call_.with_documents && !tei) {
    json_.key("document").object().key("text").text(call_.documents[document]).end_object();
  }
  json_.end_object();
}

void RerankBody::end() {
  json_.end_array();
  if (call_.form == RerankForm::kTei) return;
  if (call_.form == RerankForm::kCohere) {
    json_.key("meta").object().key("api_version").object().key("version").text("2").end_object();
    json_.key("tokens").object().key("input_tokens").number(tokens_).end_object().end_object();
  } else {
    json_.key("usage").object().key("prompt_tokens").number(tokens_);
    json_.key("total_tokens").number(tokens_).end_object();
  }
  json_.end_object();
}

bool RerankBody::next(std::string* body) {
  while (at_ < order_.size() && json_.size() < kPieceBytes) add(order_[at_++]);
  if (at_ < order_.size()) {
    *body += json_.take();
    return true;
  }
  end();
  *body += json_.line();
  return false;
}

}  // namespace hearth
