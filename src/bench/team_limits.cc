#include "bench/team_limits.h"

#include <algorithm>
#include <set>

#include "base/check.h"
#include "base/clock.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

// A part takes about 2.5 ms of a core. That is long against starting the team, and short against
// the time slices of a busy machine.
constexpr double kChunkSeconds = 0.25e-3;
constexpr uint32_t kChunksPerMember = 10;
constexpr uint32_t kOpsParts = 4;
// Returns how many rounds of the loop take about kChunkSeconds; 0 where the level lacks the unit.
size_t rounds_of_a_chunk(UnitFn loop) {
  if (loop(1) == 0) return 0;
  for (size_t rounds = 64;; rounds *= 2) {
    double start = steady_seconds();
    loop(rounds);
    double took = steady_seconds() - start;
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
  for (uint32_t cache : caches) bytes += cache_bytes(machine, cache);
  return bytes;
}

}  // namespace

std::vector<NodeBytes> plan_read_buffers(const Machine& machine, const Placement& placement) {
  std::vector<NodeBytes> plan;
  uint64_t wanted = 0;
  for (const Placement::NodeSeats& seats : placement.by_node()) {
    uint64_t bytes = rounded_up(kTimesCache * caches_under(machine, placement, seats.node));
    plan.push_back({seats.node, bytes, bytes});
    wanted += bytes;
  }
  for (NodeBytes& part : plan) {
    if (uint64_t most = machine.memory_available / 2; most > 0 && wanted > most) {
      part.bytes = static_cast<uint64_t>(static_cast<double>(part.wanted) /
                                         static_cast<double>(wanted) * static_cast<double>(most));
    }
    part.bytes = bytes_to_have(machine, part.node, part.bytes);
  }
  return plan;
}

TeamLimits::TeamLimits(Team& team, const Machine& machine, const Placement& placement,
                       const std::vector<Isa>& isas)
    : team_(team), member_buffers_(team.size()) {
  HEARTH_CHECK(placement.seats.size() == team.size(), "a seat for every member");
  for (const NodeBytes& part : plan_read_buffers(machine, placement)) {
    for (uint32_t m = 0; m < team.size(); ++m) {
      if (placement.seats[m].node == part.node) {
        member_buffers_[m] = static_cast<uint32_t>(buffers_.size());
      }
    }
    buffers_.push_back(std::make_unique<ReadBuffer>(machine, part.node, part.bytes));
    buffer_.bytes += part.bytes;
    buffer_.wanted += part.wanted;
  }
  touch();
  for (Isa isa : isas) {
    std::array<size_t, kArithmeticUnits>& rounds = rounds_.emplace_back();
    for (size_t i = 0; i < kArithmeticUnits; ++i) {
      rounds[i] = rounds_of_a_chunk(kernels_for(isa).limits.unit[i]);
    }
    levels_.push_back({isa, {}, {}});
  }
}

uint64_t TeamLimits::begin_part(uint32_t part) {
  uint64_t bytes = 0;
  for (const auto& buffer : buffers_) bytes += buffer->begin(part);
  return bytes;
}

void TeamLimits::touch() {
  for (uint32_t part = 0; part < kReadParts; ++part) {
    begin_part(part);
    team_.together(
        [&](uint32_t member, uint32_t) noexcept { buffers_[member_buffers_[member]]->write(); });
  }
  for (const auto& buffer : buffers_) buffer_.huge_bytes += buffer->huge_bytes();
}

double TeamLimits::read_rate(ReadFn read, double* best) {
  double seconds = 0;
  for (uint32_t part = 0; part < kReadParts; ++part) {
    auto bytes = static_cast<double>(begin_part(part));
    double took = team_.together([&](uint32_t member, uint32_t) noexcept {
      buffers_[member_buffers_[member]]->read(read, &team_.sink(member));
    });
    *best = std::max(*best, bytes / took);
    seconds += took;
  }
  return static_cast<double>(buffer_.bytes) / seconds;
}

double TeamLimits::ops_rate(UnitFn loop, size_t rounds, double* best) {
  uint32_t chunks = kChunksPerMember * team_.size();
  double ops = loop(1) * static_cast<double>(rounds) * chunks, seconds = 0;
  for (uint32_t part = 0; part < kOpsParts; ++part) {
    double took = team_.together([&](uint32_t, uint32_t round) noexcept {
      while (next_.next(round, chunks) < chunks) loop(rounds);
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
    for (size_t u = 0; u < kArithmeticUnits; ++u) {
      if (rounds_[i][u] > 0) {
        sample.ops[u] = ops_rate(loops.unit[u], rounds_[i][u], &best.ops[u]);
      }
    }
    levels_[i].samples.push_back(sample);
  }
}

}  // namespace hearth
