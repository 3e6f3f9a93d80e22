#include "cli/held_models.h"

#include <utility>

#include "cli/load.h"
#include "cli/serve_embeddings.h"
#include "cli/serve_text.h"

namespace hearth {
namespace {

// What an engine that embeds takes besides its weights.
constexpr uint64_t kEmbedderBytes = uint64_t{64} << 20;

OpenedModel open_model_of(const ServeArgs& args) {
  return open_named_model(args.model, args.pre, args.engine);
}

class HeldText final : public HeldModel {
 public:
  explicit HeldText(ToHold model)
      : model_(std::move(model)),
        text_(model_.args->args, *model_.machine, open_model_of(model_.args->args)) {}

  uint64_t least_bytes() const override { return text_.least_bytes(); }
  void load(uint64_t room) override { text_.load(model_.name, *model_.others, room); }
  uint64_t bytes() const override { return text_.served().facts.memory_bytes; }
  ServedModels served() const override { return {.text = &text_.served()}; }

 private:
  const ToHold model_;
  ServedText text_;
};

class HeldEmbedder final : public HeldModel {
 public:
  HeldEmbedder(ToHold model, ModelKind kind, uint64_t file_bytes)
      : model_(std::move(model)),
        ranks_(kind == ModelKind::kReranker),
        bytes_(file_bytes + kEmbedderBytes),
        embeddings_(model_.args->args, *model_.machine, open_model_of(model_.args->args),
                    {.ranks = ranks_, .share = kShareBesideText}) {}

  uint64_t least_bytes() const override { return bytes_; }
  void load(uint64_t) override { embeddings_.load(model_.name, *model_.others); }
  uint64_t bytes() const override { return bytes_; }
  ServedModels served() const override {
    if (ranks_) return {.reranker = &embeddings_.served()};
    return {.embedder = &embeddings_.served()};
  }

 private:
  const ToHold model_;
  const bool ranks_;
  const uint64_t bytes_;
  ServedEmbeddings embeddings_;
};

}  // namespace

ModelKind kind_of(const ModelSpec& spec) {
  if (spec.is_reranker()) return ModelKind::kReranker;
  return embeds(spec) ? ModelKind::kEmbedder : ModelKind::kText;
}

std::unique_ptr<HeldModel> open_held_model(const ToHold& model, ModelKind kind,
                                           uint64_t file_bytes) {
  if (kind == ModelKind::kText) return std::make_unique<HeldText>(model);
  return std::make_unique<HeldEmbedder>(model, kind, file_bytes);
}

}  // namespace hearth
