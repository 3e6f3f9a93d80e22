#include "embed/sim_device.h"

#include "embed/pooling.h"

namespace hearth {
namespace {

// FNV-1a, over 64 bits.
uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3u; }

double even(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

}  // namespace

double SimTime::seconds(uint64_t tokens) {
  double queries = static_cast<double>(tokens) / options_.tokens;
  double factor = 1;
  if (options_.noise > 0) factor += options_.noise * (2 * even(random_) - 1);
  return (options_.alpha * queries + options_.beta) * factor;
}

EmbedVector simulated_vector(const EmbedQuery& query, uint32_t width) {
  uint64_t hash = 0xcbf29ce484222325u;
  if (query.tokens.empty()) {
    for (unsigned char byte : query.text) hash = mixed(hash, byte);
  } else {
    for (int32_t token : query.tokens) hash = mixed(hash, static_cast<uint32_t>(token));
  }
  std::mt19937_64 random(hash);
  EmbedVector vector(width);
  for (float& element : vector) element = static_cast<float>(even(random) - 0.5);
  normalise(vector);
  return vector;
}

std::vector<EmbedVector> SimDevice::run(std::span<const EmbedQuery* const> batch) {
  double began = clock_.now();
  uint64_t tokens = 0;
  std::vector<EmbedVector> vectors;
  vectors.reserve(batch.size());
  for (const EmbedQuery* query : batch) {
    tokens += query_tokens(*query);
    vectors.push_back(simulated_vector(*query, options_.width));
  }
  clock_.sleep_until(began + time_.seconds(tokens));
  return vectors;
}

}  // namespace hearth
