#include "hybrid/pass_time.h"

#include <algorithm>
#include <vector>

#include "hybrid/layer_runs.h"

namespace hearth {
namespace {

// Multiply-adds a second of a product with so many rows: those of the nearest number that was
// measured; of a kind that was not, the least of all others.
double product_rate(const AcceleratorRates& rates, PackKind kind, uint32_t rows) {
  double least = 0, nearest = 0;
  uint32_t apart = 0;
  for (const ProductRate& rate : rates.products) {
    if (!rate.refused.empty()) continue;
    const auto per_second = static_cast<double>(rate.per_second.median);
    if (least == 0 || per_second < least) least = per_second;
    if (rate.kind != kind) continue;
    const uint32_t distance = std::max(rate.rows, rows) - std::min(rate.rows, rows);
    if (nearest == 0 || distance < apart) {
      nearest = per_second;
      apart = distance;
    }
  }
  return nearest > 0 ? nearest : std::max(least, 1.0);
}

}  // namespace

PassTime::PassTime(const Model& model, const StreamPlan& plan, AcceleratorRates rates)
    : rates_(std::move(rates)) {
  const TransferRate& link = rates_.import_to ? *rates_.import_to : rates_.write;
  const std::vector<LayerRuns> runs = layer_runs(model);
  layers_.resize(runs.size());
  for (size_t layer = plan.kept; layer < runs.size(); ++layer) {
    layers_[layer].load_seconds =
        static_cast<double>(runs[layer].bytes) / static_cast<double>(link.per_second.median);
  }
  for (const WeightSpec& weight : model.spec().weights) {
    if (!weight.is_matrix() || weight.layer < 0) continue;
    auto& products = layers_[static_cast<size_t>(weight.layer)].products;
    auto at = std::ranges::find(products, weight.packed.kind, [](auto& one) { return one.first; });
    if (at == products.end()) at = products.insert(at, {weight.packed.kind, 0});
    at->second += static_cast<double>(weight.rows) * weight.k;
  }
}

double PassTime::seconds(uint32_t rows) const {
  const double begin = static_cast<double>(rates_.submission_nanoseconds.median) * 1e-9;
  double seconds = 0;
  for (const LayerWork& layer : layers_) {
    double compute = 0;
    for (const auto& [kind, adds] : layer.products) {
      compute += adds * rows / product_rate(rates_, kind, rows);
    }
    seconds += std::max(layer.load_seconds, compute) + begin;
  }
  return seconds;
}

}  // namespace hearth
