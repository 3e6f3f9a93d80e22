#include "bench/packed_product.h"

#include <algorithm>
#include <cstring>

namespace hearth {
namespace {

// The number of random panels that are made. A matrix repeats them.
constexpr uint32_t kRandomPanels = 32;
// The bytes allocated after the last copy, since kernels prefetch beyond the end of the weights.
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
                             TimedTeam& team, const GemmSchedule& schedule, const ProductForm& form)
    : weights_(weights),
      gemm_(gemm),
      team_(team),
      m_(m),
      schedule_(schedule),
      form_(form),
      x_(random_problem(weights.spec(), 1, m)),
      out_(out_bytes()),
      tasks_(make_tasks()),
      done_(team.size()) {
  for (uint32_t i = 0; i < team.size(); ++i) scratch_.emplace_back(kGemmScratchBytes);
  std::memset(out_.data(), 0, out_.size());
}

void PackedProduct::set_schedule(const GemmSchedule& schedule) {
  schedule_ = schedule;
  if (out_.size() < out_bytes()) {
    out_ = PaddedBytes(out_bytes());
    std::memset(out_.data(), 0, out_bytes());
  }
  tasks_ = make_tasks();
}

std::vector<PackedProduct::Task> PackedProduct::make_tasks() const {
  const PackSpec& spec = weights_.spec();
  const uint32_t step = schedule_.is_default() ? task_panels(spec, spec.panels(), team_.size(), m_)
                                               : schedule_.task_panels;
  std::vector<Task> tasks;
  for (uint32_t i = 0; i < schedule_.k_parts * form_.matrices; ++i) {
    for (PanelRange panels : panel_ranges(0, spec.panels(), step)) {
      tasks.push_back({i % form_.matrices, i / form_.matrices, panels});
    }
  }
  return tasks;
}

double PackedProduct::run(uint32_t count) {
  double seconds = team_.together([&](uint32_t member, uint32_t) noexcept {
    for (uint32_t i = 0; i < count; ++i) {
      work(member, epoch_ + 1 + i, next_copy_ + i * form_.matrices);
      done_.arrive_and_wait(member);
      if (schedule_.k_parts == 1) continue;
      sum_parts(member);
      done_.arrive_and_wait(member);
    }
  });
  epoch_ += count;
  next_copy_ = (next_copy_ + count * form_.matrices) % weights_.count();
  return seconds;
}

void PackedProduct::work(uint32_t member, uint32_t epoch, uint32_t copy) noexcept {
  const uint32_t rows = schedule_.is_default() ? kTaskRows : schedule_.task_rows;
  run_tasks(
      tasks_, m_, rows,
      [&](uint32_t count) { return next_.next_several(epoch, count, team_.size()); },
      [&](const Task& task, uint32_t row, uint32_t m) { multiply(task, member, copy, row, m); });
}

void PackedProduct::multiply(const Task& task, uint32_t member, uint32_t copy, uint32_t row,
                             uint32_t m) noexcept {
  float* out = reinterpret_cast<float*>(out_.data()) +
               (size_t{task.part} * form_.matrices + task.matrix) * m_ * out_stride();
  const uint32_t begin = task.part * segments() / schedule_.k_parts;
  const uint32_t end = (task.part + 1) * segments() / schedule_.k_parts;
  // Some segments of a short K have no blocks.
  uint32_t cuts[kMaxCuts];
  size_t count = 0;
  for (uint32_t s = begin + 1; s < end; ++s) {
    const uint32_t before = count == 0 ? first_block(begin) : cuts[count - 1];
    if (first_block(s) > before) cuts[count++] = first_block(s);
  }
  gemm_({weights_.copy((copy + task.matrix) % weights_.count()),
         task.panels.panel0,
         task.panels.panels,
         first_block(begin),
         first_block(end),
         act_rows(x_.a, row, 0),
         m,
         out + row * out_stride() + task.panels.panel0 * kPanelRows,
         out_stride(),
         scratch_[member].data(),
         {cuts, count},
         schedule_});
}

void PackedProduct::sum_parts(uint32_t member) noexcept {
  auto* sum = reinterpret_cast<float*>(out_.data());
  const size_t values = size_t{form_.matrices} * m_ * out_stride();
  const size_t begin = values * member / team_.size(), end = values * (member + 1) / team_.size();
  for (uint32_t part = 1; part < schedule_.k_parts; ++part) {
    const float* right = sum + part * values;
    for (size_t i = begin; i < end; ++i) sum[i] += right[i];
  }
}

}  // namespace hearth
