// How long passes over prompts take (prefill_pass.h): their own command lists, by the clock of an
// accelerator that is described or was measured (TimedAccelerator). Nothing is computed or held.
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
  double computing_seconds = 0, copying_seconds = 0;  // of these; they overlap
  uint64_t bytes_in = 0, bytes_out = 0;               // over the link
};

class PassClock {
 public:
  // The target outlives it; its keys and values have a page at least. Throws what PrefillPass
  // throws.
  PassClock(PassTarget target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
            const TimedOptions& options = {});

  // Returns the figures of a pass over tokens at positions first, first + 1, ... of one text: at
  // most as many as the plan has rows and pages. Throws Error (kResource) where a layer takes so
  // long that it would count as lost; then the clock tells nothing any more.
  PassFigures figures(uint32_t rows, uint32_t first = 0);
  double seconds(uint32_t rows, uint32_t first = 0) { return figures(rows, first).seconds; }

 private:
  const PassTarget target_;
  std::shared_ptr<TimedAccelerator> accelerator_;
  PrefillPass pass_;
};

// plan_stream()'s plan; of a model with experts, where nobody asks for a ring, with the shortest
// one whose passes take 1 % longer than that plan's at most, passes of 512 rows, of twice as many
// and so on, and of all.
StreamPlan plan_stream_by_time(const PassTarget& target, const MeasuredAccelerator& gpu,
                               const StreamPlanOptions& options, const TimedOptions& timed = {});

// A table of that, to be asked often: on the line between some numbers of rows, all of the plan at
// most.
class PassTime {
 public:
  // The target is not needed afterwards.
  PassTime(const PassTarget& target, const MeasuredAccelerator& gpu, const StreamPlan& plan,
           const TimedOptions& options = {});

  // Seconds of a pass over so many rows of a text that begins there; no number ends where such a
  // pass would count as lost. What passes really take corrects it (Streamer).
  double seconds(uint32_t rows) const;
  // Returns the seconds that `before` tokens of the text before these rows add: their pages come
  // in, and the rows see them. In proportion to them, by what some add; no number ends as above.
  double prefix_seconds(uint32_t rows, uint32_t before) const;

 private:
  uint32_t layers_;
  RateLine points_;    // rows, growing; seconds
  RateLine prefixes_;  // rows, growing; seconds of a token before; none where no text is as long
};

}  // namespace hearth
