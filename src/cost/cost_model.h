// The cost model: predicts what a step of a model costs under a plan on a machine, from
// measurements of the machine and counts of the model. It serves to choose between plans and to say
// what a rate should be. docs/topo.md has the formulas with an example.
//
// Notation: i and j are nodes; g is one of P groups. n_i threads are at work on node i (a resting
// thread reads and computes nothing), and N_i threads measured it. B_ij is the bandwidth with which
// all of node i reads the memory of j (BandwidthTable).
//
// Bytes. Counted are the bytes of the packed matrices (PackSpec), cut as the engine cuts them, and
// those of the keys and values that attention sees. A group reads its part of a shard by those of
// its threads that stand on the shard, each as much as it is fast. If none of them stands there,
// all of its threads read it. The part lies on the shard's node (placed). Unplaced pages lie evenly
// on all nodes, as an operating system leaves them by default. In a reduce, every group reads the
// partial sums of all groups for all rows. If rows are dealt (graph/ops/reduce.h), a group reads
// the sums of its own rows, and writes the norms of these rows into the other groups' copies. The
// activations of a group lie on its first node; its threads on other nodes read and write them from
// there. A byte written counts as a byte read. Traffic within a node's caches is not counted.
//
// Reading. n threads of node i read from node j at b_ij(n) = B_ij f(n) / f(N_i), with f(n) = 1 - (1
// - u)^n, where u is one thread's part of its node's bandwidth. So each of n independent readers
// keeps the memory busy for a part u of the time. If contention was measured (cost/contention.h),
// its rate for the working cores and hyper-threads takes the place of f(n) / f(N_i). That rate may
// fall when more of them work; B_ij below is then the rate of as many threads as read most. A node
// reaches all other nodes through one port, so the reads of its threads from other nodes queue up.
// The reads of all nodes from one memory queue up too: it gives no more than its own node could
// take. V_ij is how many bytes node i reads from j in an op. Then group g reads for
//   T_read(g) = max over i, j that it reads of max( sum_j V_ij / b_ij(n_i),
//                   sum_(i != j) V_ij / B_ij, sum_i V_ij / max_i B_ij ) / read_share
// If whole experts are dealt to shards, the busiest shard has more of a step's choices than the
// mean. Its op takes longer by that factor (OpLoad::stretch).
//
// Computing. The time is the operations of each unit over the rate of the group's cores together:
//   T_ops(g) = sum over units of ops / (arithmetic_share * cores of g * rate of a core)
// A core of a slower kind counts slow_core. A core with two threads counts its measured rate for
// two, or if that is not known, as much as with one. If two groups have threads on a core, they
// share it. An op takes T = max(T_read, T_ops). A reduce takes at least the time of its longest
// thread, since each row is dealt to one thread.
//
// Waiting. A barrier of n threads takes ceil(log2 n) messages, and a meeting of groups two. The
// times of an op's threads scatter by `jitter` of T. So P groups that wait for each other wait e(P)
// standard deviations; e(P) is the mean of the greatest of P normal variables. Groups out of
// lockstep wait once a segment, which is the ops between two meetings (ArcLight's Sync B):
//   max over g of sum of (T(g) + barrier(g)) + meeting + e(P) jitter sqrt(sum T^2)
// Groups in lockstep meet in a barrier of all after every op (its Sync A):
//   sum over ops of (max over g of T(g) + barrier(all) + e(P) jitter T)
#pragma once

#include <cstdint>
#include <vector>

#include "cost/bandwidth.h"
#include "kernels/attention/attention.h"
#include "models/axis_cutting.h"
#include "models/model_spec.h"
#include "plan/plan.h"
#include "topology/machine.h"
#include "topology/placement.h"

namespace hearth {

// Constants of the model that are neither measured nor counted. Times are in seconds.
struct CostConstants {
  double read_share = 0.9;         // of a read loop's rate that GEMV kernels reach
  double arithmetic_share = 0.65;  // of a unit's peak that GEMM kernels reach
  double core_fill = 0.125;        // u where one thread's rate is not known
  // A core's operations a second by arithmetic unit, where no rate is known. They are those of a
  // core of 2.6 GHz with two 128-bit pipes.
  std::array<double, kArithmeticUnits> core_ops{40e9, 80e9, 160e9, 40e9};
  double slow_core = 0.5;
  // The time of a message between two threads: under one last-level cache (Zen 5), on one node, and
  // between nodes (a line in another socket's cache takes 380 to 450 ns on Xeon 6).
  double cache_hop = 65e-9, node_hop = 130e-9, remote_hop = 400e-9;
  double jitter = 0.05;
  double row_element = 1e-9;  // by one thread: norms and quantises an element
};

enum class WeightPlacing : uint8_t { kPlaced, kUnplaced };

// A plan with its threads on a machine: the engine's (engine/engine_plan.h) or any other.
struct PlacedPlan {
  Plan plan;
  Placement placement;                // seats of the plan's members, in order
  std::vector<uint32_t> shard_nodes;  // [shard]: the machine's node
  std::vector<uint32_t> shares;       // the shards' shares of the axes that are cut
  WeightPlacing placing = WeightPlacing::kPlaced;
  ExpertCut experts = ExpertCut::kCut;
};

// A step of `rows` tokens of one sequence that holds `depth` positions already. It makes the logits
// of the last row. An encoder holds no positions, and makes the hidden states of all rows.
struct StepShape {
  uint32_t rows = 1, depth = 0;
  uint32_t expanded = 0;  // in a model with latents: its expanded rows (graph/ops/latent.h)
  KvType kv_type = KvType::kF16;
};

struct StepCost {
  // How many bytes the threads of a node read from the node's own memory and from other nodes.
  struct NodeTraffic {
    uint32_t node = 0, threads = 0;
    double local_bytes = 0, remote_bytes = 0;
  };
  std::vector<NodeTraffic> nodes;  // the nodes with threads
  // The bytes that all nodes read. Those of the embedding are of all panels with rows of the step's
  // tokens. If a panel has several such rows, a cache may serve all but the first.
  double weight_bytes = 0, kv_bytes = 0, activation_bytes = 0, embedding_bytes = 0;
  std::array<double, kArithmeticUnits> ops{};  // by arithmetic unit, of all groups together

  uint32_t barriers = 0;  // that each thread passes: its group's, or in lockstep those of all
  uint32_t meetings = 0;  // points where groups meet
  double seconds = 0;
  double work_seconds = 0;  // reading and computing, as a mean over groups; the rest is waiting
  double tokens_per_second = 0;

  double local_bytes() const;
  double remote_bytes() const;
};

// Predicts the cost of one step. `table` must have passed check_bandwidth(), and the plan's members
// must have seats on nodes with threads.
StepCost predict_step(const Machine& machine, const BandwidthTable& table, const ModelSpec& model,
                      const PlacedPlan& plan, const StepShape& step,
                      const CostConstants& constants = {});

}  // namespace hearth
