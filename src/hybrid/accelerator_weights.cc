#include "hybrid/accelerator_weights.h"

#include <algorithm>
#include <span>

#include "base/bytes_text.h"
#include "base/error.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint64_t kAlign = 256;
// Of one buffer, so that a hole in the memory of a card hurts little.
constexpr uint64_t kBufferBytes = uint64_t{1} << 30;

// What is copied, and where its place is written down.
struct Upload {
  std::span<const std::byte> bytes;
  Place* place;
};

}  // namespace

AcceleratorWeights::AcceleratorWeights(const Model& model, Accelerator& accelerator)
    : model_(model) {
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
  uint64_t bytes = 0;
  for (const Upload& upload : uploads) bytes += round_up(upload.bytes.size(), kAlign);
  const AcceleratorFacts& facts = accelerator.facts();
  const uint64_t room = facts.free_bytes != 0 ? facts.free_bytes : facts.memory_bytes;
  if (bytes > room) {
    fail(ErrorCode::kResource, "the model's weights take {} and {} has {}: take a smaller type",
         bytes_text(bytes), facts.name, bytes_text(room));
  }
  const uint64_t most = std::min(facts.allocation_bytes, kBufferBytes);
  for (size_t begin = 0; begin < uploads.size();) {
    uint64_t taken = 0;
    size_t end = begin;
    for (; end < uploads.size(); ++end) {
      const uint64_t next = round_up(uploads[end].bytes.size(), kAlign);
      if (end > begin && taken + next > most) break;
      taken += next;
    }
    Buffer& buffer = buffers_.emplace_back(accelerator.allocate(taken));
    uint64_t offset = 0;
    for (; begin < end; ++begin) {
      const Upload& upload = uploads[begin];
      *upload.place = buffer.at(offset);
      accelerator.write(*upload.place, upload.bytes);
      offset += round_up(upload.bytes.size(), kAlign);
    }
  }
}

}  // namespace hearth
