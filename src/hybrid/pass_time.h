// Predicts how long passes over prompts take (prefill_pass.h). The passes' own command lists run on
// the clock of an accelerator that is described or was measured (TimedAccelerator). Nothing is
// computed and no memory is taken.
#pragma once

#include <cstdint>
#include <memory>

#include "accelerator/accelerator_file.h"
#include "accelerator/call_time.h"
#include "accelerator/virtual/timed_accelerator.h"
#include "hybrid/prefill_pass.h"
#include "hybrid/stream_plan.h"

namespace hearth {

struct PassFigures {
  double seconds = 0;
  double computing_seconds = 0, copying_seconds = 0;  // parts of `seconds`; they overlap
  uint64_t bytes_in = 0, bytes_out = 0;               // over the link
};

class PassClock {
 public:
  // The target outlives this; its KV cache has at least one page. Throws what PrefillPass throws.
  PassClock(PassTarget target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
            const TimedOptions& options = {});

  // Returns the figures of a pass over `rows` tokens of one text, at positions first, first + 1,
  // ... They must be at most as many as the plan has rows and pages for. Throws Error (kResource)
  // where a layer takes so long that the accelerator would count as lost; the clock is of no use
  // afterwards.
  PassFigures figures(uint32_t rows, uint32_t first = 0);
  double seconds(uint32_t rows, uint32_t first = 0) { return figures(rows, first).seconds; }

 private:
  const PassTarget target_;
  std::shared_ptr<TimedAccelerator> accelerator_;
  PrefillPass pass_;
};

// Returns the plan of plan_stream(), changed in two ways.
// - The ring of a model with experts, where it is left open, is the shortest whose passes take at
//   most 1 % longer than those of that plan: passes of 512, 1024, 2048, ... rows and of all rows.
// - The number of rows, where it is left open, is doubled from kUsualPassRows on. It is doubled as
//   long as copies bound the passes, some prompt gains 3 %, none loses 1 %, and no layer takes 5 s.
StreamPlan plan_stream_by_time(const PassTarget& target, const MeasuredAccelerator& gpu,
                               const StreamPlanOptions& options, const TimedOptions& timed = {});

// A table of predicted times, fast to look up. It interpolates between some numbers of rows, up to
// the rows of the plan.
class PassTime {
 public:
  // The target is needed during construction alone.
  PassTime(const PassTarget& target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
           const TimedOptions& options = {});

  // Returns the seconds of a pass over the first `rows` rows of a text; infinity where such a pass
  // would count as lost. The times that passes really take correct it (Streamer).
  double seconds(uint32_t rows) const;
  // Returns the seconds that `before` tokens of the text before these rows add, since their pages
  // are copied in and the rows see them. They are taken as proportional to `before`, by one number
  // of tokens that was timed. Infinity where the pass would count as lost.
  double prefix_seconds(uint32_t rows, uint32_t before) const;

 private:
  uint32_t layers_;
  RateLine points_;    // rows, growing; seconds
  RateLine prefixes_;  // rows, growing; seconds for each token before; may be empty
};

}  // namespace hearth
