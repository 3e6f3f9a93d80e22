// ServedModels: the loaded models by kind; null where there is none of a kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/served_embedder.h"
#include "server/served_model.h"

namespace hearth {

// The purpose of a model.
enum class ModelKind : uint8_t { kText, kEmbedder, kReranker };

struct ServedModels {
  const ServedModel* text = nullptr;
  const ServedEmbedder *embedder = nullptr, *reranker = nullptr;

  // Returns the embedder and the reranker, those that are there.
  std::vector<const ServedEmbedder*> of_queues() const;
  // Returns the embedder or the reranker.
  const ServedEmbedder* of_queue(ModelKind kind) const {
    return kind == ModelKind::kEmbedder ? embedder : reranker;
  }
  bool has(ModelKind kind) const;
  // Returns the name of the model of this kind.
  const std::string& name(ModelKind kind) const;
};

// Returns the body of GET /v1/plan. Slow: it asks the operating system.
std::string plan_body(const ServedModels& models);

}  // namespace hearth
