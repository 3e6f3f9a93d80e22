#include "server/served_models.h"

namespace hearth {

std::vector<const ServedEmbedder*> ServedModels::of_queues() const {
  std::vector<const ServedEmbedder*> models = {embedder, reranker};
  std::erase(models, nullptr);
  return models;
}

bool ServedModels::has(ModelKind kind) const {
  if (kind == ModelKind::kText) return text != nullptr;
  return of_queue(kind) != nullptr;
}

const std::string& ServedModels::name(ModelKind kind) const {
  if (kind == ModelKind::kText) return text->name;
  return of_queue(kind)->name;
}

std::string plan_body(const ServedModels& models) {
  Json json;
  json.object();
  if (models.text != nullptr) models.text->plan(json);
  auto add = [&](const char* key, const ServedEmbedder* model) {
    if (model == nullptr) return;
    json.key(key).object();
    model->plan(json);
    json.end_object();
  };
  add("embeddings", models.embedder);
  add("rerank", models.reranker);
  return json.end_object().line();
}

}  // namespace hearth
