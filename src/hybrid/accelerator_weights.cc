#include "hybrid/accelerator_weights.h"

#include <span>

#include "base/bytes_text.h"
#include "base/error.h"
#include "hybrid/upload.h"

namespace hearth {
AcceleratorWeights::AcceleratorWeights(const Model& model, Accelerator& accelerator)
    : PassWeights(model) {
  std::vector<Upload> uploads;
  for (uint32_t i = 0; i < model.spec().weights.size(); ++i) {
    const WeightId id{i};
    if (!model.spec().weights[i].is_matrix()) {
      const VectorWeight& weight = model.weights().vector(id);
      Place& place = vectors_[&weight];
      uploads.push_back({std::as_bytes(std::span(weight.copies[0], weight.size)), &place});
    } else {
      const Weight& weight = model.weights().matrix(id);
      std::vector<ShardPlace>& places = matrices_[&weight];
      places.resize(weight.shards.size());
      for (size_t s = 0; s < places.size(); ++s) {
        const Shard& shard = weight.shards[s];
        if (shard.spec.rows == 0 || shard.spec.k == 0) continue;
        uploads.push_back({{shard.codes, shard.spec.codes_bytes()}, &places[s].codes});
        if (shard.spec.scales_bytes() == 0) continue;
        uploads.push_back({{shard.scales, shard.spec.scales_bytes()}, &places[s].scales});
      }
    }
  }
  const AcceleratorFacts& facts = accelerator.facts();
  const uint64_t bytes = upload_bytes(uploads);
  const uint64_t room = facts.free_bytes != 0 ? facts.free_bytes : facts.memory_bytes;
  if (bytes > room) {
    fail(ErrorCode::kResource,
         "the model's weights take {}, but {} has only {}: choose a smaller type with --weights",
         bytes_text(bytes), facts.name, bytes_text(room));
  }
  buffers_ = upload_all(accelerator, uploads);
}

}  // namespace hearth
