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

double pass_seconds(const Model& model, const StreamPlan& plan, const AcceleratorRates& rates,
                    uint32_t rows) {
  const ModelSpec& spec = model.spec();
  const std::vector<LayerRuns> runs = layer_runs(model);
  std::vector<double> compute(runs.size(), 0);
  for (const WeightSpec& weight : spec.weights) {
    if (!weight.is_matrix() || weight.layer < 0) continue;
    compute[static_cast<size_t>(weight.layer)] += static_cast<double>(weight.rows) * weight.k *
                                                  rows /
                                                  product_rate(rates, weight.packed.kind, rows);
  }
  const TransferRate& link = rates.import_to ? *rates.import_to : rates.write;
  const double begin = static_cast<double>(rates.submission_nanoseconds.median) * 1e-9;
  double seconds = 0;
  for (uint32_t layer = 0; layer < runs.size(); ++layer) {
    const double load = layer < plan.kept ? 0
                                          : static_cast<double>(runs[layer].bytes) /
                                                static_cast<double>(link.per_second.median);
    seconds += std::max(load, compute[layer]) + begin;
  }
  return seconds;
}

}  // namespace hearth
