// One matrix product with packed weights, run by a team as a linear op of the engine runs it.
#pragma once

#include <algorithm>
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

// Packed copies of a matrix of random codes on one node. All copies have the same bytes; they only
// lie at different addresses.
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

// The parameters of a product that no schedule decides.
struct ProductForm {
  uint32_t matrices = 1;  // matrices multiplied side by side, all with the same rows
  uint32_t segments = 1;  // even segments into which K is divided
};

// Multiplies `m` rows with the copies in turn, one or several copies at a time. The schedule is the
// default or one of the kernel's menu. Where the schedule divides K into parts (at most
// `segments`), each part has outputs of its own, and the team sums them after a barrier, as a
// reduce does.
class PackedProduct {
 public:
  // `weights` and `team` must outlive this object.
  PackedProduct(const PackedCopies& weights, const GemmKernel& gemm, uint32_t m, TimedTeam& team,
                const GemmSchedule& schedule = {}, const ProductForm& form = {});

  // Sets the schedule of all products from here on.
  void set_schedule(const GemmSchedule& schedule);

  // Runs `count` products, each with the next copies; returns the seconds they took together.
  double run(uint32_t count);
  // Returns the first copy that the next product uses.
  uint32_t next_copy() const { return next_copy_; }
  // Returns the last product: [matrix][m][stride].
  const float* out() const { return reinterpret_cast<const float*>(out_.data()); }
  size_t out_stride() const { return weights_.spec().rows; }
  const ActView& activations() const { return x_.a; }

 private:
  struct Task {
    uint32_t matrix, part;  // `part` is a part of K
    PanelRange panels;

    bool join(const Task& next) {
      return matrix == next.matrix && part == next.part && panels.join(next.panels);
    }
  };

  std::vector<Task> make_tasks() const;
  size_t out_bytes() const {
    return sizeof(float) * m_ * weights_.spec().rows * schedule_.k_parts * form_.matrices;
  }
  uint32_t segments() const { return std::max<uint32_t>(form_.segments, schedule_.k_parts); }
  // Returns the first block of a segment; the end of K for the segment after the last.
  uint32_t first_block(uint32_t segment) const {
    return static_cast<uint32_t>(uint64_t{weights_.spec().blocks()} * segment / segments());
  }
  // Computes a member's tasks of a product with the copies from `copy` on, and its share of the sum
  // over K's parts.
  void work(uint32_t member, uint32_t epoch, uint32_t copy) noexcept;
  void multiply(const Task& task, uint32_t member, uint32_t copy, uint32_t row,
                uint32_t m) noexcept;
  void sum_parts(uint32_t member) noexcept;

  const PackedCopies& weights_;
  GemmKernel gemm_;
  TimedTeam& team_;
  uint32_t m_;
  GemmSchedule schedule_;
  ProductForm form_;
  Problem x_;                         // only its activations are used
  PaddedBytes out_;                   // [part][matrix][row][stride]
  std::vector<PaddedBytes> scratch_;  // one for each member
  std::vector<Task> tasks_;
  ChunkCounter next_;
  Barrier done_;
  uint32_t epoch_ = 0, next_copy_ = 0;
};

}  // namespace hearth
