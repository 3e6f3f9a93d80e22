#include "server/ollama_vectors.h"

#include <utility>

#include "embed/pooling.h"
#include "server/ollama_reply.h"

namespace hearth {

OllamaVectors::OllamaVectors(EmbeddingForm form, std::string_view model,
                             std::optional<uint32_t> dimensions, std::vector<EmbedVector> vectors,
                             uint64_t tokens, double seconds)
    : one_(form == EmbeddingForm::kOllamaPrompt),
      dimensions_(dimensions),
      vectors_(std::move(vectors)),
      tokens_(tokens),
      seconds_(seconds) {
  json_.object();
  if (one_) {
    json_.key("embedding");
    if (vectors_.empty()) json_.array().end_array();
  } else {
    json_.key("model").text(model).key("embeddings").array();
  }
}

bool OllamaVectors::next(std::string* body) {
  for (; at_ < vectors_.size() && json_.size() < kPieceBytes; ++at_) {
    EmbedVector& vector = vectors_[at_];
    if (dimensions_) cut_dimensions(*dimensions_, true, &vector);
    json_.array();
    for (float element : vector) json_.real(element);
    json_.end_array();
    vector = {};
  }
  const bool any = at_ < vectors_.size();
  if (!any && !one_) {
    json_.end_array().key("total_duration").number(ollama_nanoseconds(seconds_));
    json_.key("load_duration").number(uint64_t{0}).key("prompt_eval_count").number(tokens_);
  }
  if (!any) json_.end_object();
  *body += json_.take();
  if (!any) *body += '\n';
  return any;
}

}  // namespace hearth
