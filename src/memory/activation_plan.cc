#include "memory/activation_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {
namespace {

bool overlap_in_time(const ActivationValue& a, const ActivationValue& b) {
  return a.first_use <= b.last_use && b.first_use <= a.last_use;
}

// The values placed so far, by offset.
struct Placed {
  size_t offset, end;
  uint32_t value;
};

// Returns the first offset from `from` on at which the value lies in one piece.
size_t whole_from(size_t from, const ActivationValue& value, size_t piece_bytes) {
  const size_t offset = round_up(from, value.align), in_piece = offset % piece_bytes;
  return value.bytes <= piece_bytes - in_piece ? offset : offset - in_piece + piece_bytes;
}

// Sets the sizes of the plan's pieces, and their sum, as the values at its offsets need.
void measure_pieces(std::span<const ActivationValue> values, size_t piece_bytes,
                    ActivationPlan* plan) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].bytes == 0) continue;
    const size_t piece = plan->offsets[i] / piece_bytes;
    if (piece >= plan->pieces.size()) plan->pieces.resize(piece + 1, 0);
    size_t& bytes = plan->pieces[piece];
    bytes = std::max(bytes, plan->offsets[i] % piece_bytes + values[i].bytes);
  }
  plan->peak_bytes = std::accumulate(plan->pieces.begin(), plan->pieces.end(), size_t{0});
}

// Places values in the given order, each in the tightest gap that holds it, or past the end.
ActivationPlan place_in_order(std::span<const ActivationValue> values,
                              const std::vector<uint32_t>& order, size_t piece_bytes) {
  ActivationPlan plan;
  plan.offsets.assign(values.size(), 0);
  std::vector<Placed> placed;
  for (uint32_t index : order) {
    const ActivationValue& value = values[index];
    if (value.bytes == 0) continue;
    size_t best_offset = 0, best_gap = SIZE_MAX, free_from = 0;
    bool found = false;
    for (const Placed& other : placed) {
      if (!overlap_in_time(value, values[other.value])) continue;
      size_t offset = whole_from(free_from, value, piece_bytes);
      if (other.offset >= offset + value.bytes && other.offset - free_from < best_gap) {
        best_offset = offset;
        best_gap = other.offset - free_from;
        found = true;
      }
      free_from = std::max(free_from, other.end);
    }
    if (!found) best_offset = whole_from(free_from, value, piece_bytes);
    Placed entry{best_offset, best_offset + value.bytes, index};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), entry,
                                   [](const Placed& a, const Placed& b) {
                                     return std::tie(a.offset, a.value) <
                                            std::tie(b.offset, b.value);
                                   }),
                  entry);
    plan.offsets[index] = best_offset;
  }
  measure_pieces(values, piece_bytes, &plan);
  return plan;
}

// Moves the values that end at the arena's end to the front of the order. In the next attempt they
// are placed first, and so find room further down.
void put_highest_first(std::span<const ActivationValue> values, const ActivationPlan& plan,
                       std::vector<uint32_t>* order) {
  const auto end_of = [&](uint32_t i) { return plan.offsets[i] + values[i].bytes; };
  size_t end = 0;
  for (uint32_t i : *order) end = std::max(end, end_of(i));
  std::stable_partition(order->begin(), order->end(), [&](uint32_t i) { return end_of(i) == end; });
}

}  // namespace

ActivationPlan plan_activations(std::span<const ActivationValue> values, size_t piece_bytes) {
  for (const ActivationValue& value : values) {
    HEARTH_CHECK(value.first_use <= value.last_use, "a value is used first before it is used last");
    HEARTH_CHECK(value.align != 0 && (value.align & (value.align - 1)) == 0, "a power of two");
    HEARTH_CHECK(value.bytes <= piece_bytes, "a value lies in one piece");
    HEARTH_CHECK(piece_bytes == SIZE_MAX || piece_bytes % value.align == 0, "pieces are aligned");
  }
  std::vector<uint32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  auto sorted_by = [&](auto key) {
    std::vector<uint32_t> result = order;
    std::stable_sort(result.begin(), result.end(),
                     [&](uint32_t a, uint32_t b) { return key(values[a]) > key(values[b]); });
    return result;
  };
  auto lifetime = [](const ActivationValue& v) { return uint64_t{v.last_use} - v.first_use + 1; };
  std::vector<uint32_t> orders[] = {
      sorted_by([&](const ActivationValue& v) { return std::make_pair(v.bytes, lifetime(v)); }),
      sorted_by([&](const ActivationValue& v) { return std::make_pair(lifetime(v), v.bytes); }),
      sorted_by([&](const ActivationValue& v) { return lifetime(v) * v.bytes; }),
  };
  size_t bound = max_live_bytes(values);
  ActivationPlan best;
  best.peak_bytes = SIZE_MAX;
  for (std::vector<uint32_t>& each : orders) {
    for (int attempt = 0; attempt < 8 && best.peak_bytes > bound; ++attempt) {
      ActivationPlan plan = place_in_order(values, each, piece_bytes);
      put_highest_first(values, plan, &each);
      if (plan.peak_bytes < best.peak_bytes) best = std::move(plan);
    }
  }
  return best;
}

size_t max_live_bytes(std::span<const ActivationValue> values) {
  std::map<uint64_t, int64_t> change;
  for (const ActivationValue& value : values) {
    change[value.first_use] += static_cast<int64_t>(value.bytes);
    change[uint64_t{value.last_use} + 1] -= static_cast<int64_t>(value.bytes);
  }
  int64_t live = 0, most = 0;
  for (const auto& [time, bytes] : change) most = std::max(most, live += bytes);
  return static_cast<size_t>(most);
}

}  // namespace hearth
