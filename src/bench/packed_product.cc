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
  return make_problem(spec.kind, spec.form, panels, spec.blocks(), 0, m, Fill::kRandom, 1);
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

PackedProduct::PackedProduct(const PackedCopies& weights, const GemmKernel& gemm, uint32_t m,
                             TimedTeam& team, const GemmSchedule& schedule)
    : weights_(weights),
      gemm_(gemm),
      team_(team),
      m_(m),
      schedule_(schedule),
      x_(random_problem(weights.spec(), 1, m)),
      out_(sizeof(float) * m * weights.spec().rows * schedule.k_parts),
      tasks_(make_tasks()),
      done_(team.size()) {
  for (uint32_t i = 0; i < team.size(); ++i) scratch_.emplace_back(kGemmScratchBytes);
  std::memset(out_.data(), 0, out_.size());
}

void PackedProduct::set_schedule(const GemmSchedule& schedule) {
  schedule_ = schedule;
  const size_t bytes = sizeof(float) * m_ * weights_.spec().rows * schedule.k_parts;
  if (out_.size() < bytes) {
    out_ = PaddedBytes(bytes);
    std::memset(out_.data(), 0, bytes);
  }
  tasks_ = make_tasks();
}

std::vector<PackedProduct::Task> PackedProduct::make_tasks() const {
  const PackSpec& spec = weights_.spec();
  const uint32_t step = schedule_.is_default() ? task_panels(spec, spec.panels(), team_.size(), m_)
                                               : schedule_.task_panels;
  std::vector<Task> tasks;
  for (uint32_t part = 0; part < schedule_.k_parts; ++part) {
    for (PanelRange panels : panel_ranges(0, spec.panels(), step)) tasks.push_back({part, panels});
  }
  return tasks;
}

double PackedProduct::run(uint32_t count) {
  double seconds = team_.together([&](uint32_t member, uint32_t) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
      work(member, epoch_ + 1 + i, weights_.copy((next_copy_ + i) % weights_.count()));
      done_.arrive_and_wait(member);
      if (schedule_.k_parts == 1) continue;
      sum_parts(member);
      done_.arrive_and_wait(member);
    }
  });
  epoch_ += count;
  next_copy_ = (next_copy_ + count) % weights_.count();
  return seconds;
}

void PackedProduct::work(uint32_t member, uint32_t epoch, const WeightView& weights) noexcept {
  auto* out = reinterpret_cast<float*>(out_.data());
  const uint32_t rows = schedule_.is_default() ? kTaskRows : schedule_.task_rows;
  run_tasks(
      tasks_, m_, rows,
      [&](uint32_t count) { return next_.next_several(epoch, count, team_.size()); },
      [&](const Task& task, uint32_t row, uint32_t m) {
        float* part = out + size_t{task.part} * m_ * out_stride();
        gemm_({weights,
               task.panels.panel0,
               task.panels.panels,
               first_block(task.part),
               first_block(task.part + 1),
               act_rows(x_.a, row, 0),
               m,
               part + row * out_stride() + task.panels.panel0 * kPanelRows,
               out_stride(),
               scratch_[member].data(),
               {},
               schedule_});
      });
}

void PackedProduct::sum_parts(uint32_t member) noexcept {
  auto* sum = reinterpret_cast<float*>(out_.data());
  const size_t values = m_ * out_stride();
  const size_t begin = values * member / team_.size(), end = values * (member + 1) / team_.size();
  for (uint32_t part = 1; part < schedule_.k_parts; ++part) {
    const float* right = sum + part * values;
    for (size_t i = begin; i < end; ++i) sum[i] += right[i];
  }
}

}  // namespace hearth
