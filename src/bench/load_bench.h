// Measures loading a model beside its limit. In every repetition the engine is made as `hearth run`
// makes it, which packs the weights into fresh memory. Then the same threads, on the same seats,
// copy the matrices of the file into fresh memory (file_copy.h). Each turn's memory is freed before
// the next turn, so the machine's free memory is determined once for all.
//
// Both read the file from the page cache, by mapping it in page by page. The file is read through
// once before anything is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/open_model.h"
#include "topology/machine.h"

namespace hearth {

struct LoadRepetition {
  double seconds = 0;          // of making the engine
  double packing_seconds = 0;  // the part of `seconds` that reads and packs the weights
  double copying_seconds = 0;
  std::optional<uint64_t> peak_bytes;  // highest memory of the process above the start's, if known
  uint64_t huge_bytes = 0;             // of the engine's memory, in huge pages
  uint64_t copy_huge_bytes = 0;
};

struct LoadResult {
  uint64_t file_bytes = 0;                  // bytes of the matrices, which are packed and copied
  uint64_t packed_bytes = 0;                // of the weights
  uint64_t planned_bytes = 0;               // Engine::memory(): keys and values included
  std::vector<LoadRepetition> repetitions;  // fewer than asked for where somebody interrupted
};

struct LoadHooks {
  // Asked between turns; true ends the run.
  std::function<bool()> interrupted = [] { return false; };
  // Called now and then with the bytes of the file read so far, by read_through() and all turns.
  std::function<void(uint64_t bytes, std::string_view doing)> progress = [](uint64_t,
                                                                            std::string_view) {};
  // Gets a sentence for each reason to doubt the figures. The same sentence may come again.
  std::function<void(const std::string& text)> note = [](const std::string&) {};
  // Called after every load, before the engine is destroyed.
  std::function<void(const Engine& engine)> loaded = [](const Engine&) {};
};

class LoadBench {
 public:
  // `model` must outlive this object.
  LoadBench(const OpenedModel& model, Isa isa, LoadHooks hooks);

  // Reads the file once, so that it is in the page cache. If the machine has too little memory for
  // that, says so in a note and reads nothing.
  void read_through(const Machine& machine);

  // Interrupted repetitions do not count. Notes where the file has not stayed in the page cache
  // since read_through().
  LoadResult run(const Machine& machine, const EngineOptions& options, uint32_t repetitions);

  // The bytes that one repetition adds to the progress, and those that read_through() adds.
  uint64_t repetition_bytes() const { return 2 * model_.spec.matrix_bytes(); }
  uint64_t whole_bytes() const { return model_.source.file_bytes(); }

 private:
  // Runs one repetition. Returns false where the user interrupted between its turns.
  bool repeat(const Machine& machine, const EngineOptions& options, LoadResult* result);
  void end_turn();
  uint64_t cached_bytes() const;

  const OpenedModel& model_;
  Isa isa_;
  LoadHooks hooks_;
  uint64_t progress_ = 0;  // bytes of finished turns
  std::string doing_;
  bool was_cached_ = false;  // all of the file was in the page cache
};

}  // namespace hearth
