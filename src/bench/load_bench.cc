#include "bench/load_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes_text.h"
#include "base/clock.h"
#include "bench/file_copy.h"
#include "bench/peak_memory.h"
#include "memory/arena.h"

namespace hearth {
namespace {

// The seats and shards of an engine, copied because the engine is destroyed before the file copy
// runs.
struct Seating {
  explicit Seating(const Engine& engine)
      : placement(engine.placement()),
        member_shards(engine.graph(Phase::kDecode).plan.member_shards),
        binding(engine.options().binding()) {
    for (const MemoryRegion& region : engine.regions()) {
      if (region.kind == MemoryKind::kWeights) shards.push_back({region.node, region.bytes});
    }
  }

  Placement placement;
  std::vector<uint32_t> member_shards;
  std::vector<CopyShard> shards;
  Binding binding;
};

}  // namespace

LoadBench::LoadBench(const OpenedModel& model, Isa isa, LoadHooks hooks)
    : model_(model), isa_(isa), hooks_(std::move(hooks)) {}

uint64_t LoadBench::cached_bytes() const {
  uint64_t bytes = 0;
  for (const MappedFile& file : model_.source.files()) bytes += file.cached_bytes();
  return bytes;
}

void LoadBench::read_through(const Machine& machine) {
  // Packed weights take about as much memory as the file.
  uint64_t needed = 2 * model_.source.file_bytes();
  if (machine.memory_available != 0 && machine.memory_available < needed) {
    hooks_.note(
        fmt::format("the file and its packed copy take about {}, and {} are available: the file "
                    "may drop out of the page cache, so the times may include the disk",
                    bytes_text(needed), bytes_text(machine.memory_available)));
    return;
  }
  // kPage is the smallest page size of any supported system.
  constexpr size_t kPage = 4096, kStep = size_t{4} << 20;
  uint64_t sum = 0;
  for (const MappedFile& file : model_.source.files()) {
    for (size_t at = 0; at < file.bytes().size(); at += kStep) {
      if (hooks_.interrupted()) return;
      size_t end = std::min(at + kStep, file.bytes().size());
      for (size_t i = at; i < end; i += kPage) sum += static_cast<uint64_t>(file.bytes()[i]);
      file.release(at, end - at);
      progress_ += end - at;
      hooks_.progress(progress_, "reading the file");
    }
  }
  // Uses the sum, so that the compiler keeps the reads.
  volatile uint64_t sink = sum;
  static_cast<void>(sink);
  was_cached_ = true;
}

LoadResult LoadBench::run(const Machine& machine, const EngineOptions& options,
                          uint32_t repetitions) {
  LoadResult result;
  result.file_bytes = model_.spec.matrix_bytes();
  uint64_t cached = model_.source.file_bytes();
  for (uint32_t r = 0; r < repetitions && !hooks_.interrupted(); ++r) {
    doing_ = fmt::format("{} of {}", r + 1, repetitions);
    if (!repeat(machine, options, &result)) break;
    cached = std::min(cached, cached_bytes());
  }
  if (was_cached_ && cached < model_.source.file_bytes()) {
    hooks_.note(
        fmt::format("{} of the file dropped out of the page cache, so the times include the disk",
                    bytes_text(model_.source.file_bytes() - cached)));
  }
  return result;
}

void LoadBench::end_turn() {
  progress_ += model_.spec.matrix_bytes();
  hooks_.progress(progress_, doing_);
}

bool LoadBench::repeat(const Machine& machine, const EngineOptions& options, LoadResult* result) {
  LoadRepetition repetition;
  std::optional<Seating> seating;
  auto report = [&](uint64_t bytes) { hooks_.progress(progress_ + bytes, doing_); };
  {
    PeakMemory peak;
    double start = steady_seconds();
    Engine engine(model_.source, model_.spec, machine, isa_, options,
                  [&](size_t done, size_t) { report(done); });
    repetition.seconds = steady_seconds() - start;
    repetition.peak_bytes = peak.bytes();
    repetition.packing_seconds = engine.model()->packing_seconds();
    for (const NodeMemory& node : engine.node_memory()) repetition.huge_bytes += node.huge;
    result->packed_bytes = engine.memory().weights;
    result->planned_bytes = engine.memory().total();
    seating.emplace(engine);
    hooks_.loaded(engine);
  }
  end_turn();
  if (hooks_.interrupted()) return false;
  Team team(seating->placement, TeamOptions{.pin_caller = true});
  FileCopy copy(model_.source, model_.spec, machine, seating->shards, seating->binding);
  repetition.copying_seconds = copy.run(team, seating->member_shards, report);
  repetition.copy_huge_bytes = copy.huge_bytes();
  end_turn();
  result->repetitions.push_back(repetition);
  return true;
}

}  // namespace hearth
