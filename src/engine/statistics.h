// Counters and histograms of an engine's work so far, and gauges of how full it is. Its service
// writes them, and any thread may read them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/histogram.h"

namespace hearth {

// One number that several threads may write and read. Each counter is exact; several read together
// may be of slightly different moments.
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
  Counter finished_choices;  // choices that ended, for whatever reason
  Counter cancelled_choices, failed_choices;
  Counter computed_tokens;  // rows computed, including those computed again
  // Computed tokens that had been computed before: for the same text before it gave up its pages,
  // or for other texts, which left keys and values at these positions but no state.
  Counter recomputed_tokens;
  Counter cached_tokens;  // prompt tokens taken from the prefix cache
  Counter cache_hits;     // prompts that found some of their tokens in the prefix cache
  Counter generated_tokens;
  Counter forced_tokens;  // generated tokens that had to come and were not sampled
  Counter scored_tokens;  // prompt tokens whose log-probabilities were given
  // Streamed prompts, their tokens, and prompts that were to be streamed and failed.
  Counter streamed_prompts, streamed_tokens, unstreamed_prompts;
  // Prompts that got bits of the cores where the rule asks for an accelerator's (StreamRule).
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
  Counter pages, available_pages, kept_pages;  // kept: unused, for later prompts
  // Figures of passes beside the steps (StreamerFigures); 0 while there are none.
  Counter stream_rows, stream_kept_layers, stream_bytes_in_flight, stream_threshold;
  // Pages of layers with a window, in models whose other layers see all positions.
  Counter window_pages, available_window_pages, kept_window_pages;
  // Kept states (StatePool), their bytes, and the most that may be kept.
  Counter kept_states, kept_state_bytes, max_kept_states;
};

}  // namespace hearth
