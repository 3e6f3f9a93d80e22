#include "cli/held_models.h"

#include <algorithm>
#include <utility>

#include "cli/load.h"
#include "cli/serve_embeddings.h"
#include "cli/serve_text.h"
#include "cli/topo_machine.h"
#include "topology/placement.h"

namespace hearth {
namespace {

// Bytes that an engine for embeddings takes in addition to its weights.
constexpr uint64_t kEmbedderBytes = uint64_t{64} << 20;

// Returns the PUs that only models that embed or rank use: those of a quarter of the cores. Takes
// the cores with the highest numbers of all that nothing else computes on, but leaves at least one
// to models for text.
std::vector<uint32_t> queue_pus(const ToHold& model) {
  if (!*model.queues_apart) return {};
  const Machine& machine = *model.machine;
  const std::vector<uint32_t> free = pus_beside(machine, *model.others);
  std::vector<std::vector<uint32_t>> cores;
  for (const Core& core : machine.cores) {
    std::vector<uint32_t> pus = core.pus;
    std::erase_if(pus, [&](uint32_t pu) { return std::ranges::find(free, pu) == free.end(); });
    if (!pus.empty()) cores.push_back(std::move(pus));
  }
  const size_t wanted = std::max(1u, default_thread_count(machine) / kShareBesideText);
  std::vector<uint32_t> pus;
  for (size_t i = 0; i < wanted && cores.size() > 1; ++i) {
    pus.insert(pus.end(), cores.back().begin(), cores.back().end());
    cores.pop_back();
  }
  std::ranges::sort(pus);
  return pus;
}

// Returns the model's options, with its threads restricted to queue_pus() unless the user's options
// place them.
ServeArgs queue_args(const ToHold& model) {
  ServeArgs args = model.args->args;
  PlanArgs& plan = args.engine.plan;
  const bool placed =
      plan.cpus || plan.file || !plan.nodes.empty() || !args.embedding.devices.devices.empty();
  const std::vector<uint32_t> pus = queue_pus(model);
  if (!placed && !pus.empty()) plan.cpus = ranges_text(pus);
  return args;
}

std::vector<uint32_t> others_of_text(const ToHold& model) {
  std::vector<uint32_t> others = *model.others;
  const std::vector<uint32_t> queues = queue_pus(model);
  others.insert(others.end(), queues.begin(), queues.end());
  return others;
}

OpenedModel open_model_of(const ServeArgs& args) {
  return open_named_model(args.model, args.pre, args.engine);
}

class HeldText final : public HeldModel {
 public:
  explicit HeldText(ToHold model)
      : model_(std::move(model)),
        text_(model_.args->args, *model_.machine, open_model_of(model_.args->args)) {}

  uint64_t min_bytes() const override { return text_.min_bytes(); }
  void load(uint64_t room) override { text_.load(model_.name, others_of_text(model_), room); }
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
        embeddings_(queue_args(model_), *model_.machine, open_model_of(model_.args->args),
                    {.ranks = ranks_, .share = kShareBesideText}) {}

  uint64_t min_bytes() const override { return bytes_; }
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
