#include "bench/team_limits.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "base/check.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kUnknownCache = 32 * kMiB;
constexpr uint64_t kTimesCache = 4;
// A part takes about 2.5 ms of a core: long against starting the team, short against the time
// slices of a busy machine.
constexpr double kChunkSeconds = 0.25e-3;
constexpr uint32_t kChunksPerMember = 10;
constexpr uint32_t kOpsParts = 4;
// A part is half the caches' size: by the time it is read again, three and a half times that much
// has passed through them.
constexpr uint32_t kReadParts = 8;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Rounds of the loop that take about kChunkSeconds; 0 where the level lacks the unit.
size_t rounds_of_a_chunk(UnitFn loop) {
  if (loop(1) == 0) return 0;
  for (size_t rounds = 64;; rounds *= 2) {
    Clock::time_point start = Clock::now();
    loop(rounds);
    double took = seconds_since(start);
    if (took < 2 * kChunkSeconds) continue;
    double wanted = static_cast<double>(rounds) * kChunkSeconds / took;
    return std::max<size_t>(1, static_cast<size_t>(wanted));
  }
}

uint64_t caches_under(const Machine& machine, const Placement& placement, uint32_t node) {
  std::set<uint32_t> caches;
  for (const Seat& seat : placement.seats) {
    if (seat.node == node) caches.insert(machine.cores[seat.core].llc);
  }
  uint64_t bytes = 0;
  for (uint32_t cache : caches) {
    uint64_t known = machine.llcs[cache].bytes;
    bytes += known > 0 ? known : kUnknownCache;
  }
  return bytes;
}

}  // namespace

std::vector<NodeBytes> plan_read_buffers(const Machine& machine, const Placement& placement) {
  std::vector<NodeBytes> plan;
  uint64_t wanted = 0;
  for (const Placement::NodeSeats& seats : placement.by_node()) {
    uint64_t bytes = kTimesCache * caches_under(machine, placement, seats.node);
    bytes = (bytes + kMiB - 1) / kMiB * kMiB;
    plan.push_back({seats.node, bytes, bytes});
    wanted += bytes;
  }
  for (NodeBytes& part : plan) {
    if (uint64_t most = machine.memory_available / 2; most > 0 && wanted > most) {
      part.bytes = static_cast<uint64_t>(static_cast<double>(part.wanted) /
                                         static_cast<double>(wanted) * static_cast<double>(most));
    }
    uint64_t on_node = machine.nodes[part.node].available_bytes / 2;
    if (on_node > 0) part.bytes = std::min(part.bytes, on_node);
    part.bytes = std::max(part.bytes / kMiB, uint64_t{1}) * kMiB;
  }
  return plan;
}

TeamLimits::TeamLimits(Team& team, const Machine& machine, const Placement& placement,
                       const std::vector<Isa>& isas)
    : team_(team),
      member_buffers_(team.size()),
      start_(team.size()),
      turns_(std::make_unique<Turn[]>(team.size())) {
  HEARTH_CHECK(placement.seats.size() == team.size(), "a seat for every member");
  for (const NodeBytes& part : plan_read_buffers(machine, placement)) {
    for (uint32_t m = 0; m < team.size(); ++m) {
      if (placement.seats[m].node == part.node) {
        member_buffers_[m] = static_cast<uint32_t>(buffers_.size());
      }
    }
    Arena arena(machine, part.node, part.bytes, "read buffer");
    std::byte* data = arena.allocate(part.bytes);
    buffers_.push_back(
        {std::move(arena), data, part.bytes / kMiB, std::make_unique<ChunkCounter>()});
    buffer_.bytes += part.bytes;
    buffer_.wanted += part.wanted;
  }
  touch();
  for (Isa isa : isas) {
    std::array<size_t, kUnits>& rounds = rounds_.emplace_back();
    for (size_t i = 0; i < kUnits; ++i) {
      rounds[i] = rounds_of_a_chunk(kernels_for(isa).limits.unit[i]);
    }
    levels_.push_back({isa, {}, {}});
  }
}

template <typename Work>
double TeamLimits::together(Work&& work) {
  ++epoch_;
  team_.run([&](uint32_t member) noexcept {
    Turn& turn = turns_[member];
    // Waking up is not part of the work.
    start_.arrive_and_wait(member);
    turn.begin = Clock::now();
    work(member, turn);
    turn.end = Clock::now();
  });
  // A member that lost its core may begin when the others are done.
  Clock::time_point begin = turns_[0].begin, end = turns_[0].end;
  for (uint32_t m = 1; m < team_.size(); ++m) {
    begin = std::min(begin, turns_[m].begin);
    end = std::max(end, turns_[m].end);
  }
  return std::chrono::duration<double>(end - begin).count();
}

template <typename Work>
double TeamLimits::over_buffers(uint32_t part, Work&& work) {
  return together([&](uint32_t member, Turn& turn) noexcept {
    NodeBuffer& buffer = buffers_[member_buffers_[member]];
    auto begin = static_cast<uint32_t>(buffer.chunks * part / kReadParts);
    auto count = static_cast<uint32_t>(buffer.chunks * (part + 1) / kReadParts) - begin;
    for (uint32_t c; (c = buffer.next->next(epoch_, count)) < count;) {
      work(turn, buffer.data + (begin + c) * kMiB);
    }
  });
}

// Memory that was never written is one page of zeros, in the cache.
void TeamLimits::touch() {
  for (uint32_t part = 0; part < kReadParts; ++part) {
    over_buffers(part, [](Turn&, std::byte* chunk) noexcept { std::memset(chunk, 0x5a, kMiB); });
  }
  for (const NodeBuffer& buffer : buffers_) buffer_.huge_bytes += buffer.arena.huge_bytes();
}

double TeamLimits::read_rate(ReadFn read, double* best) {
  double seconds = 0;
  for (uint32_t part = 0; part < kReadParts; ++part) {
    for (uint32_t m = 0; m < team_.size(); ++m) turns_[m].bytes = 0;
    double took = over_buffers(part, [&](Turn& turn, std::byte* chunk) noexcept {
      turn.sink ^= read(chunk, kMiB);
      turn.bytes += kMiB;
    });
    uint64_t bytes = 0;
    for (uint32_t m = 0; m < team_.size(); ++m) bytes += turns_[m].bytes;
    *best = std::max(*best, static_cast<double>(bytes) / took);
    seconds += took;
  }
  return static_cast<double>(buffer_.bytes) / seconds;
}

double TeamLimits::ops_rate(UnitFn loop, size_t rounds, double* best) {
  uint32_t chunks = kChunksPerMember * team_.size();
  double ops = loop(1) * static_cast<double>(rounds) * chunks, seconds = 0;
  for (uint32_t part = 0; part < kOpsParts; ++part) {
    double took = together([&](uint32_t, Turn&) noexcept {
      while (next_.next(epoch_, chunks) < chunks) loop(rounds);
    });
    *best = std::max(*best, ops / took);
    seconds += took;
  }
  return kOpsParts * ops / seconds;
}

void TeamLimits::sample() {
  for (size_t i = 0; i < levels_.size(); ++i) {
    const LimitLoops& loops = kernels_for(levels_[i].isa).limits;
    LimitSample& best = levels_[i].best;
    LimitSample sample;
    sample.read = read_rate(loops.read, &best.read);
    for (size_t u = 0; u < kUnits; ++u) {
      if (rounds_[i][u] > 0) {
        sample.ops[u] = ops_rate(loops.unit[u], rounds_[i][u], &best.ops[u]);
      }
    }
    levels_[i].samples.push_back(sample);
  }
}

}  // namespace hearth
