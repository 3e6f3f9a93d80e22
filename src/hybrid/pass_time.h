// Predicts how long passes over prompts take (prefill_pass.h). It makes the command lists of such
// passes, and a simulated accelerator tells their time (TimedAccelerator). That accelerator is
// described, or its rates were measured. Nothing is computed, and buffers take no memory.
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
  double computing_seconds = 0, copying_seconds = 0;  // parts of `seconds`, which may overlap
  uint64_t bytes_in = 0, bytes_out = 0;               // over the link
};

class PassClock {
 public:
  // The target must outlive this object, and its KV cache must have a page. Throws what PrefillPass
  // throws.
  PassClock(PassTarget target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
            const TimedOptions& options = {});

  // Returns the figures of a pass over `rows` tokens of one text, at positions first, first + 1,
  // ... The plan must have so many rows, and pages for all these positions. Throws Error
  // (kResource) where a layer takes so long that the accelerator would count as lost; the clock is
  // of no use afterwards.
  PassFigures figures(uint32_t rows, uint32_t first = 0);
  double seconds(uint32_t rows, uint32_t first = 0) { return figures(rows, first).seconds; }

 private:
  const PassTarget target_;
  std::shared_ptr<TimedAccelerator> accelerator_;
  PrefillPass pass_;
};

// Returns the plan of plan_stream(), changed in two ways.
// - A model with experts gets a shorter ring, unless the options give its length: the shortest one
//   with which passes take at most 1 % longer than with plan_stream()'s. It compares passes of 512,
//   1024, 2048, ... rows and of all rows.
// - From kUsualPassRows on, the number of rows is doubled, unless the options give it. It is
//   doubled as long as passes wait for copies, some prompt gains 3 %, none loses 1 %, and no layer
//   takes 5 s.
StreamPlan plan_stream_by_time(const PassTarget& target, const MeasuredAccelerator& gpu,
                               const StreamPlanOptions& options, const TimedOptions& timed = {});

// A table of predicted times of passes, fast to look up. It has the times for some numbers of rows,
// up to those of the plan, and interpolates between them.
class PassTime {
 public:
  // Uses the target only during construction.
  PassTime(const PassTarget& target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
           const TimedOptions& options = {});

  // Returns the seconds of a pass over the first `rows` rows of a text; infinity where such a pass
  // would count as lost. Streamer corrects these predictions by the times that passes really take.
  double seconds(uint32_t rows) const;
  // Returns by how many seconds `before` earlier tokens of the text make a pass over `rows` rows
  // longer, since their pages are copied in and the rows see them. The seconds are taken as
  // proportional to `before`, by one number of tokens that was timed. Returns infinity where the
  // pass would count as lost.
  double prefix_seconds(uint32_t rows, uint32_t before) const;

 private:
  uint32_t layers_;
  RateLine points_;    // rows, ascending; seconds
  RateLine prefixes_;  // rows, ascending; seconds for each token before
};

}  // namespace hearth
