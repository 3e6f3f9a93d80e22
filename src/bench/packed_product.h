// One matrix product with packed weights, run by a team as a linear op of the engine runs it.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/matrix_shapes.h"
#include "cost/timed_team.h"
#include "graph/ops/gemm_tasks.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_problem.h"
#include "memory/arena.h"
#include "threads/barrier.h"
#include "threads/chunk_counter.h"

namespace hearth {

// Copies of a matrix of random codes on one node, packed. Copies are alike: what matters is that
// they lie at different addresses.
class PackedCopies {
 public:
  // Throws kResource where there is no memory for them.
  PackedCopies(const Machine& machine, uint32_t node, const Rotation& rotation);

  const PackSpec& spec() const { return rotation_.spec; }
  uint32_t count() const { return rotation_.copies; }
  WeightView copy(uint32_t index) const;

 private:
  std::byte* codes(uint32_t index) const { return base_ + index * rotation_.copy_bytes(); }

  Rotation rotation_;
  Arena arena_;
  std::byte* base_;
};

// The product of `m` rows with one of the copies after the other, as set by hand or by a schedule
// of the kernel's menu. Where the schedule deals K into parts (even ones, as segments of column-cut
// weights are), each part has outputs of its own, and the team sums them behind a barrier, as a
// reduce does.
class PackedProduct {
 public:
  // `weights` and `team` outlive it.
  PackedProduct(const PackedCopies& weights, const GemmKernel& gemm, uint32_t m, TimedTeam& team,
                const GemmSchedule& schedule = {});

  // Every product from here on is computed by this.
  void set_schedule(const GemmSchedule& schedule);

  // Runs `count` products, each with the next copy; returns the seconds they took together.
  double run(uint32_t count);
  // The copy that the next product takes.
  uint32_t next_copy() const { return next_copy_; }
  // Returns the last product: [m][stride].
  const float* out() const { return reinterpret_cast<const float*>(out_.data()); }
  size_t out_stride() const { return weights_.spec().rows; }
  const ActView& activations() const { return x_.a; }

 private:
  struct Task {
    uint32_t part;  // of K
    PanelRange panels;

    bool join(const Task& next) { return part == next.part && panels.join(next.panels); }
  };

  std::vector<Task> make_tasks() const;
  uint32_t first_block(uint32_t part) const {
    return static_cast<uint32_t>(uint64_t{weights_.spec().blocks()} * part / schedule_.k_parts);
  }
  // A member's part of a product, and of the sum of all parts of K.
  void work(uint32_t member, uint32_t epoch, const WeightView& weights) noexcept;
  void sum_parts(uint32_t member) noexcept;

  const PackedCopies& weights_;
  GemmKernel gemm_;
  TimedTeam& team_;
  uint32_t m_;
  GemmSchedule schedule_;
  Problem x_;                         // for its activations
  PaddedBytes out_;                   // [part][row][stride]
  std::vector<PaddedBytes> scratch_;  // of each member
  std::vector<Task> tasks_;
  ChunkCounter next_;
  Barrier done_;
  uint32_t epoch_ = 0, next_copy_ = 0;
};

}  // namespace hearth
