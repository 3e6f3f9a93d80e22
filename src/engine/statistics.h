// Counters and histograms of what an engine has done so far and of how full it is: its service
// writes them, and any thread may read them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/histogram.h"

namespace hearth {

// A figure is one number that several threads may write and read. Each is exact; read together,
// they may be of slightly different moments.
class Counter {
 public:
  void add(uint64_t n) { value_.fetch_add(n, std::memory_order_relaxed); }
  void set(uint64_t n) { value_.store(n, std::memory_order_relaxed); }
  // NOLINTNEXTLINE(google-explicit-constructor): a figure reads as its number
  operator uint64_t() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct Statistics {
  // Counts since the start.
  Counter requests;          // submitted
  Counter finished_choices;  // for whatever reason
  Counter cancelled_choices, failed_choices;
  Counter computed_tokens;  // rows computed: prompts, and what was recomputed after preemption
  // Computed tokens that had been computed before: by the text itself before it gave up its pages,
  // or by others who left keys and values there but no state.
  Counter recomputed_tokens;
  Counter cached_tokens;  // not computed, since the prefix cache had them
  Counter cache_hits;     // prompts of which the cache had something
  Counter generated_tokens;
  Counter forced_tokens;  // of these, those that had to come, and were not sampled
  Counter scored_tokens;  // of prompts, whose log-probabilities were given
  // Streamed prompts, their tokens, and prompts that were to be streamed and failed.
  Counter streamed_prompts, streamed_tokens, unstreamed_prompts;
  // Prompts that have bits of the cores where an accelerator's were due (StreamRule).
  Counter changed_prompts;
  // Prefill passes, failed ones, bytes copied both ways, and the passes' time.
  Counter stream_passes, failed_stream_passes, streamed_bytes, stream_nanoseconds;
  Counter steps, abandoned_steps, preemptions;
  Counter evicted_pages, evicted_window_pages, evicted_states;
  Counter step_nanoseconds;  // spent in steps
  // Seconds and tokens of each step that was not abandoned.
  Histogram step_seconds{{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}};
  Histogram step_tokens{{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096}};
  // Current values.
  Counter running, waiting;                    // sequences
  Counter pages, available_pages, kept_pages;  // kept: unused, with a prefix someone may want
  // Figures of passes beside the steps (StreamerFigures); 0 while there are none.
  Counter stream_rows, stream_kept_layers, stream_bytes_in_flight, stream_threshold;
  // Pages of layers that see a window, where others see all positions.
  Counter window_pages, available_window_pages, kept_window_pages;
  // Kept states (StatePool), their bytes, and the most there may be.
  Counter kept_states, kept_state_bytes, most_kept_states;
};

}  // namespace hearth
