#include "bench/packed_product.h"

#include <algorithm>
#include <cstring>

namespace hearth {
namespace {

// Random panels; a matrix repeats them.
constexpr uint32_t kRandomPanels = 32;
// Kernels prefetch beyond the end of what they read.
constexpr size_t kBeyond = 4096;

Problem random_problem(const PackSpec& spec, uint32_t panels, uint32_t m) {
  return make_problem(spec.kind, panels, spec.blocks(), 0, m, Fill::kRandom, 1);
}

}  // namespace

PackedCopies::PackedCopies(const Machine& machine, uint32_t node, const Rotation& rotation)
    : rotation_(rotation),
      arena_(machine, node, rotation.copies * rotation.copy_bytes() + kBeyond, "packed copies"),
      base_(arena_.allocate(rotation.copies * rotation.copy_bytes())) {
  const PackSpec& spec = rotation_.spec;
  uint32_t panels = std::min(spec.panels(), kRandomPanels);
  Problem random = random_problem(spec, panels, 1);
  size_t code_bytes = spec.codes_panel_bytes(), scale_bytes = spec.scales_panel_bytes();
  for (uint32_t i = 0; i < rotation_.copies; ++i) {
    std::byte* scales = codes(i) + spec.codes_bytes();
    for (uint32_t p = 0; p < spec.panels(); ++p) {
      uint32_t from = p % panels;
      std::memcpy(codes(i) + p * code_bytes, random.codes.data() + from * code_bytes, code_bytes);
      std::memcpy(scales + p * scale_bytes, random.scales.data() + from * scale_bytes, scale_bytes);
    }
  }
}

WeightView PackedCopies::copy(uint32_t index) const {
  return weight_view(spec(), codes(index), codes(index) + spec().codes_bytes());
}

PackedProduct::PackedProduct(const PackedCopies& weights, GemmFn gemm, uint32_t m, TimedTeam& team)
    : weights_(weights),
      gemm_(gemm),
      team_(team),
      m_(m),
      x_(random_problem(weights.spec(), 1, m)),
      out_(sizeof(float) * m * weights.spec().rows),
      tasks_(panel_ranges(0, weights.spec().panels(),
                          task_panels(weights.spec(), weights.spec().panels(), team.size(), m))),
      done_(team.size()) {
  for (uint32_t i = 0; i < team.size(); ++i) scratch_.emplace_back(kGemmScratchBytes);
  std::memset(out_.data(), 0, out_.size());
}

double PackedProduct::run(uint32_t count) {
  double seconds = team_.together([&](uint32_t member, uint32_t) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
      work(member, epoch_ + 1 + i, weights_.copy((next_copy_ + i) % weights_.count()));
      done_.arrive_and_wait(member);
    }
  });
  epoch_ += count;
  next_copy_ = (next_copy_ + count) % weights_.count();
  return seconds;
}

void PackedProduct::work(uint32_t member, uint32_t epoch, const WeightView& weights) noexcept {
  auto* out = reinterpret_cast<float*>(out_.data());
  run_tasks(
      tasks_, m_, [&](uint32_t count) { return next_.next_several(epoch, count, team_.size()); },
      [&](const PanelRange& panels, uint32_t row) {
        gemm_({weights, panels.panel0, panels.panels, 0, weights_.spec().blocks(),
               act_rows(x_.a, row, 0), std::min(kTaskRows, m_ - row),
               out + row * out_stride() + panels.panel0 * kPanelRows, out_stride(),
               scratch_[member].data()});
      });
}

}  // namespace hearth
