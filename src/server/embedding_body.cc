#include "server/embedding_body.h"

#include <bit>

#include "base/base64.h"

namespace hearth {

static_assert(std::endian::native == std::endian::little, "vectors are sent as they lie here");

EmbeddingBody::EmbeddingBody(std::string_view model, bool base64) : model_(model), base64_(base64) {
  json_.object().key("object").text("list").key("data").array();
}

void EmbeddingBody::add(std::span<const float> vector) {
  json_.object().key("object").text("embedding").key("index").number(count_++).key("embedding");
  if (base64_) {
    json_.text(base64_encode(std::as_bytes(vector)));
  } else {
    json_.array();
    for (float element : vector) json_.real(element);
    json_.end_array();
  }
  json_.end_object();
}

std::string EmbeddingBody::finish(uint64_t prompt_tokens) {
  json_.end_array().key("model").text(model_).key("usage").object();
  json_.key("prompt_tokens").number(prompt_tokens).key("total_tokens").number(prompt_tokens);
  json_.end_object().end_object();
  return json_.line();
}

}  // namespace hearth
