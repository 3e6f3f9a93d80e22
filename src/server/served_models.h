// ServedModels: what is loaded, by what it can do; null: no such model is.
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

  // Returns the models whose texts wait in queues.
  std::vector<const ServedEmbedder*> of_queues() const;
  // Returns the model of a kind that is not for text.
  const ServedEmbedder* of_queue(ModelKind kind) const {
    return kind == ModelKind::kEmbedder ? embedder : reranker;
  }
  bool has(ModelKind kind) const;
  // Returns the name of the model of this kind.
  const std::string& name(ModelKind kind) const;
};

// GET /v1/plan. Asks the system: slow.
std::string plan_body(const ServedModels& models);

}  // namespace hearth
