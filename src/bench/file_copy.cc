#include "bench/file_copy.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "base/round_up.h"
#include "models/shard_tasks.h"

namespace hearth {
namespace {

// The alignment of allocations, and of the offsets at which a matrix is cut.
constexpr size_t kAlign = 64;

}  // namespace

FileCopy::FileCopy(const ModelSource& source, const ModelSpec& spec, const Machine& machine,
                   const std::vector<CopyShard>& shards, Binding binding)
    : source_(source), pieces_(shards.size()) {
  double all = 0;
  for (const CopyShard& shard : shards) all += static_cast<double>(shard.share);
  HEARTH_CHECK(all > 0, "somebody has a share");
  double before = 0;
  for (size_t s = 0; s < shards.size(); ++s) {
    double until = before + static_cast<double>(shards[s].share);
    auto cut = [&](size_t bytes, double at) {
      if (at == all) return bytes;
      return static_cast<size_t>(static_cast<double>(bytes) * (at / all)) / kAlign * kAlign;
    };
    size_t needed = 0;
    for (const WeightSpec& weight : spec.weights) {
      if (!weight.is_matrix()) continue;
      for_file_ranges(*weight.data, weight.first, weight.rows, [&](const FileRange& range) {
        const size_t first = cut(range.bytes, before), last = cut(range.bytes, until);
        if (first == last) return;
        pieces_[s].push_back(
            {weight.data, {range.part, range.offset + first, last - first}, nullptr});
        needed += round_up(last - first, kAlign);
      });
    }
    arenas_.emplace_back(machine, shards[s].node, needed, "a copy of the file", binding);
    for (Piece& piece : pieces_[s]) piece.to = arenas_[s].allocate(piece.from.bytes, kAlign);
    before = until;
  }
}

double FileCopy::run(Team& team, const std::vector<uint32_t>& member_shards, const Report& report) {
  struct Task {
    size_t piece;
    uint64_t offset, bytes;
  };
  double start = steady_seconds();
  std::vector<std::vector<Task>> tasks(pieces_.size());
  // The number of unfinished tasks of each piece, by shard and piece.
  std::vector<std::vector<std::atomic<uint32_t>>> left;
  std::vector<size_t> counts;
  for (size_t s = 0; s < pieces_.size(); ++s) {
    left.emplace_back(pieces_[s].size());
    for (size_t p = 0; p < pieces_[s].size(); ++p) {
      const uint64_t bytes = pieces_[s][p].from.bytes;
      for (uint64_t at = 0; at < bytes; at += kShardTaskBytes) {
        tasks[s].push_back({p, at, std::min<uint64_t>(kShardTaskBytes, bytes - at)});
        left[s][p].fetch_add(1, std::memory_order_relaxed);
      }
    }
    counts.push_back(tasks[s].size());
  }
  std::atomic<uint64_t> done{0};
  run_shard_tasks(team, member_shards, counts, [&](uint32_t member, size_t s, size_t t) noexcept {
    const Task& task = tasks[s][t];
    const Piece& piece = pieces_[s][task.piece];
    const MappedFile& file = source_.files()[piece.from.part];
    std::memcpy(piece.to + task.offset, file.bytes().data() + piece.from.offset + task.offset,
                task.bytes);
    done.fetch_add(task.bytes, std::memory_order_relaxed);
    if (left[s][task.piece].fetch_sub(1, std::memory_order_acq_rel) == 1) {
      file.release(piece.from.offset, piece.from.bytes);
    }
    if (member == 0) report(done.load(std::memory_order_relaxed));
  });
  return steady_seconds() - start;
}

uint64_t FileCopy::huge_bytes() const {
  uint64_t bytes = 0;
  for (const Arena& arena : arenas_) bytes += arena.huge_bytes();
  return bytes;
}

}  // namespace hearth
