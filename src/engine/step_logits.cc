#include "engine/step_logits.h"

#include <array>
#include <functional>
#include <limits>

#include "base/check.h"

namespace hearth {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();

size_t in_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

StepLogits::StepLogits(uint32_t vocabulary, uint32_t rows, const AxisCuts& cuts)
    : vocabulary_(vocabulary), rows_(rows) {
  for (uint32_t s = 0; s < cuts.shard_count(); ++s) {
    parts_.push_back({cuts.shard(s).size()});
    first_panel_.push_back(cuts.shard(s).begin);
  }
  first_panel_.push_back(cuts.units());
  HEARTH_CHECK(vocabulary <= cuts.units() * kPanelRows, "the axis covers the vocabulary");
}

size_t StepLogits::part_bytes(uint32_t shard) const {
  const ShardLogits& part = parts_[shard];
  return rows_ * part.columns() * sizeof(float) + in_lines(rows_ * part.panels * sizeof(float));
}

size_t StepLogits::row_bytes() const {
  return parts_.size() == 1 ? 0 : size_t{first_panel_.back()} * kPanelRows * sizeof(float);
}

size_t StepLogits::bytes(uint32_t shard) const {
  return part_bytes(shard) + (shard == 0 ? row_bytes() : 0);
}

void StepLogits::place(uint32_t shard, std::byte* base) {
  ShardLogits& part = parts_[shard];
  part.logits = reinterpret_cast<float*>(base);
  part.maxima = part.logits + rows_ * part.columns();
  if (shard == 0) row_ = reinterpret_cast<float*>(base + part_bytes(0));
}

std::span<const ShardLogits> StepLogits::begin_step() {
  for (Reader& reader : readers_) reader.gathered.reset();
  return parts_;
}

std::vector<ShardLogits> StepLogits::parts_from(size_t first) const {
  std::vector<ShardLogits> parts = parts_;
  for (ShardLogits& part : parts) {
    part.logits = part.row(first);
    part.maxima = part.row_maxima(first);
  }
  return parts;
}

std::span<const float> StepLogits::row(size_t i, uint32_t reader) {
  if (parts_.size() == 1) return {parts_[0].row(i), vocabulary_};
  Reader& own = readers_[reader];
  if (reader != 0) own.row.resize(size_t{first_panel_.back()} * kPanelRows);
  float* row = reader == 0 ? row_ : own.row.data();
  for (size_t s = 0; own.gathered != i && s < parts_.size(); ++s) {
    std::copy_n(parts_[s].row(i), parts_[s].columns(), row + first_panel_[s] * kPanelRows);
  }
  own.gathered = i;
  return {row, vocabulary_};
}

// Returns columns [begin, end) of row i, all of one panel.
std::span<const float> StepLogits::columns(size_t i, uint32_t begin, uint32_t end) const {
  auto behind = std::upper_bound(first_panel_.begin(), first_panel_.end(), begin / kPanelRows);
  auto s = static_cast<size_t>(behind - first_panel_.begin() - 1);
  return {parts_[s].row(i) + (begin - first_panel_[s] * kPanelRows), end - begin};
}

// Calls call(maxima, first) for the panels from `first` on that lie within [0, below) and in one
// shard.
template <typename Call>
void StepLogits::for_each_maxima(size_t i, uint32_t below, const Call& call) const {
  for (size_t s = 0; s < parts_.size(); ++s) {
    uint32_t first = first_panel_[s], end = std::min(first_panel_[s + 1], below / kPanelRows);
    if (first < end) call(std::span(parts_[s].row_maxima(i), end - first), first);
  }
}

// Returns a bound that is at most the count-th largest maximum of row i, or nothing if a maximum is
// not finite. The bound is the count-th largest of the row's stripes, which are some of these
// maxima. With it the search for the largest maxima skips most candidates that it would drop later.
std::optional<float> StepLogits::min_maximum(size_t i, uint32_t count, uint32_t below) const {
  std::array<float, kStripes> stripes;
  stripes.fill(kLowest);
  bool finite = true;
  for_each_maxima(i, below, [&](std::span<const float> maxima, uint32_t) {
    finite = finite && all_finite(maxima);
    raise_stripes(maxima, stripes);
  });
  if (!finite) return {};
  if (count > kStripes) return kLowest;
  auto at = stripes.begin() + (count - 1);
  std::nth_element(stripes.begin(), at, stripes.end(), std::greater<>());
  return *at;
}

// Reads the `count` panels with the largest maxima. They hold the tokens, since a token in any
// other panel ranks after the largest in each of these.
std::span<const TokenLogit> StepLogits::best(size_t i, uint32_t count, uint32_t below,
                                             uint32_t reader) {
  HEARTH_CHECK(count > 0 && below <= vocabulary_, "some tokens of the vocabulary are wanted");
  std::optional<float> least = min_maximum(i, count, below);
  if (!least) return {};
  TopTokens &panels = readers_[reader].panels, &tokens = readers_[reader].tokens;
  panels.start(count, *least);
  for_each_maxima(i, below, [&](std::span<const float> maxima, uint32_t first) {
    panels.offer(maxima, static_cast<int32_t>(first));
  });
  tokens.start(count, *least);
  for (const TokenLogit& panel : panels.unsorted()) {
    auto first = static_cast<uint32_t>(panel.token) * kPanelRows;
    tokens.offer(columns(i, first, first + kPanelRows), static_cast<int32_t>(first));
  }
  // If `below` cuts a panel, its maximum may be of a column that is not wanted. So all wanted
  // columns of that panel are offered.
  if (uint32_t rest = below % kPanelRows; rest > 0) {
    std::span<const float> last = columns(i, below - rest, below);
    if (!all_finite(last)) return {};
    tokens.offer(last, static_cast<int32_t>(below - rest));
  }
  return tokens.sorted();
}

}  // namespace hearth
