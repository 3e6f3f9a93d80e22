#include "server/embedding_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "embed/embed_text.h"
#include "embed/pooling.h"
#include "server/embedding_body.h"
#include "server/exception_error.h"
#include "server/json_fields.h"
#include "server/model_facts.h"
#include "server/ollama_vectors.h"

namespace hearth {
namespace {

// VectorsBody: writes the vectors and then the usage. Each vector's memory is freed once it was
// written.
class VectorsBody : public BodySource {
 public:
  VectorsBody(std::string_view model, const EmbeddingCall& call, std::vector<EmbedVector> vectors,
              uint64_t tokens)
      : body_(model, call.base64),
        dimensions_(call.dimensions),
        vectors_(std::move(vectors)),
        tokens_(tokens) {}

  bool next(std::string* body) override {
    for (; at_ < vectors_.size() && body_.size() < kPieceBytes; ++at_) {
      EmbedVector& vector = vectors_[at_];
      if (dimensions_) cut_dimensions(*dimensions_, true, &vector);
      body_.add(vector);
      vector = {};
    }
    bool any = at_ < vectors_.size();
    *body += any ? body_.take() : body_.finish(tokens_);
    return any;
  }

 private:
  EmbeddingBody body_;
  const std::optional<uint32_t> dimensions_;
  std::vector<EmbedVector> vectors_;
  const uint64_t tokens_;
  size_t at_ = 0;
};

// Returns the name of an input for errors: "input", or "input[3]" where there are several.
std::string input_name(const char* field, size_t index, size_t count) {
  return count == 1 ? field : entry_name(field, index);
}

}  // namespace

size_t EmbeddingTask::read_call(std::string_view body) {
  auto vocabulary = static_cast<uint32_t>(model().tokenizer.size());
  const uint32_t width = model().queues.width();
  if (form_ == EmbeddingForm::kOpenAi) {
    call_ = read_embedding_call(body, limits(), vocabulary, width);
    check_model(call_.model);
  } else {
    call_ = read_ollama_embedding(body, form_, limits(), vocabulary, width, model().context);
    if (!ollama_names(call_.model, model().name)) check_model(call_.model);
  }
  return call_.inputs.size();
}

EmbedQuery EmbeddingTask::query_of(size_t index) {
  std::string name = input_name(texts_field(), index, call_.inputs.size());
  const bool cuts = call_.truncate_to.has_value();
  const uint32_t most = std::min(call_.truncate_to.value_or(model().context), model().context);
  Prompt& input = call_.inputs[index];
  if (input.ids) {
    std::vector<int32_t>& ids = *input.ids;
    if (cuts) ids.resize(std::min<size_t>(ids.size(), most));
    if (ids.size() > model().context) {
      throw RequestError(text_too_long(name, name, ids.size(), model().context));
    }
    return {{}, std::move(ids)};
  }
  std::string whole = std::move(input.text);
  EmbedTokens tokens;
  try {
    Pace turns = pace();
    tokens = embed_tokens(model().tokenizer, whole, most, &turns);
  } catch (const RequestError&) {
    throw;  // thrown by the pace
  } catch (const Error& error) {
    throw RequestError(
        {400, "", std::string(kInvalidValue), fmt::format("{}: {}", name, error.what()), name, {}});
  }
  if (tokens.ids.empty()) {
    throw RequestError({400,
                        "",
                        std::string(kInvalidValue),
                        fmt::format("{}: {}", name, no_tokens_reason(whole)),
                        name,
                        {}});
  }
  if (!tokens.was_cut()) return {std::move(whole), std::move(tokens.ids)};
  if (!cuts) throw RequestError(text_too_long(name, name, tokens.whole, model().context));
  return {{}, std::move(tokens.ids)};  // the device needs only the ids, not the text
}

std::unique_ptr<BodySource> EmbeddingTask::body_of(std::vector<EmbedVector> vectors,
                                                   uint64_t tokens) {
  if (form_ != EmbeddingForm::kOpenAi) {
    const double seconds = steady_seconds() - exchange().request().received_seconds;
    const std::string& name = call_.model.empty() ? model().name : call_.model;
    return std::make_unique<OllamaVectors>(form_, name, call_.dimensions, std::move(vectors),
                                           tokens, seconds);
  }
  return std::make_unique<VectorsBody>(model().name, call_, std::move(vectors), tokens);
}

}  // namespace hearth
