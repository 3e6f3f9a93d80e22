#include "server/app_metrics.h"

#include "server/metrics_text.h"

namespace hearth {
namespace {

std::vector<double> second_bounds() {
  return {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};
}

void add_requests(const AppMetrics& metrics, MetricsText* text) {
  text->family("hearth_requests_total", "counter", "Requests for text, by how they ended.");
  constexpr Outcome kEnds[] = {Outcome::kStop,    Outcome::kLength, Outcome::kCancelled,
                               Outcome::kRefused, Outcome::kBusy,   Outcome::kFailed};
  add_outcomes(metrics.requests, kEnds, text);
  text->histogram("hearth_time_to_first_token_seconds", "From a request's head to its first token.",
                  metrics.first_token_seconds);
  text->histogram("hearth_time_per_output_token_seconds", "Between tokens of a choice, its mean.",
                  metrics.token_seconds);
  text->histogram("hearth_e2e_request_latency_seconds",
                  "From a request's head to the end of its answer.", metrics.requests.seconds);
  text->histogram("hearth_request_queue_time_seconds",
                  "From submission to the step that a request first took part in.",
                  metrics.queue_seconds);
  text->histogram("hearth_request_prefill_time_seconds", "From then to its first token.",
                  metrics.prefill_seconds);
}

struct EngineFigure {
  const char *name, *help;
  const Counter& value;
};

// Of prompts on a GPU.
void add_streams(const Statistics& figures, MetricsText* text) {
  for (const auto& [name, help, value] : std::initializer_list<EngineFigure>{
           {"hearth_streamed_prompts_total", "Prompts whose pages a GPU filled.",
            figures.streamed_prompts},
           {"hearth_streamed_tokens_total", "Tokens of these that it computed.",
            figures.streamed_tokens},
           {"hearth_unstreamed_prompts_total",
            "Prompts that a GPU failed at, which the cores computed.", figures.unstreamed_prompts},
           {"hearth_changed_prompts_total",
            "Prompts that the cores gave other last bits than the GPU would have.",
            figures.changed_prompts},
           {"hearth_stream_passes_total", "Passes over prompts that a GPU was asked for.",
            figures.stream_passes},
           {"hearth_failed_stream_passes_total", "Those that it failed at.",
            figures.failed_stream_passes},
           {"hearth_streamed_bytes_total",
            "Bytes that passes copied to the GPU and from it, of weights and of pages.",
            figures.streamed_bytes}}) {
    text->counter(name, help, static_cast<double>(uint64_t{value}));
  }
  for (const auto& [name, help, value] : std::initializer_list<EngineFigure>{
           {"hearth_stream_rows", "Tokens of a pass over prompts on a GPU, at most.",
            figures.stream_rows},
           {"hearth_stream_layers_kept", "Layers that stay on the GPU.",
            figures.stream_kept_layers},
           {"hearth_stream_bytes_in_flight", "Bytes of the berths that other layers pass through.",
            figures.stream_bytes_in_flight},
           {"hearth_stream_threshold",
            "Tokens from which on a prompt is streamed; 0: where it is predicted to end sooner.",
            figures.stream_threshold}}) {
    text->gauge(name, help, static_cast<double>(uint64_t{value}));
  }
  text->counter("hearth_stream_seconds_total", "How long passes over prompts took.",
                static_cast<double>(figures.stream_nanoseconds) * 1e-9);
}

void add_engine_counters(const Statistics& figures, MetricsText* text) {
  for (const auto& [name, help, value] : std::initializer_list<EngineFigure>{
           {"hearth_generation_tokens_total", "Tokens generated.", figures.generated_tokens},
           {"hearth_forced_tokens_total", "Those that had to come.", figures.forced_tokens},
           {"hearth_scored_tokens_total",
            "Tokens of prompts whose log-probabilities were computed.", figures.scored_tokens},
           {"hearth_computed_tokens_total", "Rows computed, of prompts and of generated tokens.",
            figures.computed_tokens},
           {"hearth_recomputed_tokens_total",
            "Of these, those that had been computed before, and were gone or had no state.",
            figures.recomputed_tokens},
           {"hearth_prefix_cache_hit_tokens_total", "Tokens of prompts that the prefix cache had.",
            figures.cached_tokens},
           {"hearth_prefix_cache_hit_prompts_total",
            "Prompts of which the prefix cache had something.", figures.cache_hits},
           {"hearth_preemptions_total", "Sequences that gave up their KV pages for a while.",
            figures.preemptions},
           {"hearth_evicted_kv_pages_total", "Kept pages that were given to somebody else.",
            figures.evicted_pages},
           {"hearth_evicted_kv_window_pages_total",
            "Kept window pages that were given to somebody else.", figures.evicted_window_pages},
           {"hearth_evicted_states_total",
            "Kept states that made room for others, or went with their pages.",
            figures.evicted_states},
           {"hearth_cancelled_choices_total", "Choices that were cancelled.",
            figures.cancelled_choices},
           {"hearth_failed_choices_total", "Choices that failed.", figures.failed_choices},
           {"hearth_steps_total", "Steps of the engine.", figures.steps},
           {"hearth_abandoned_steps_total", "Steps that nobody waited for any more.",
            figures.abandoned_steps}}) {
    text->counter(name, help, static_cast<double>(uint64_t{value}));
  }
}

void add_engine(const Statistics& figures, MetricsText* text) {
  add_engine_counters(figures, text);
  for (const auto& [name, help, value] : std::initializer_list<EngineFigure>{
           {"hearth_requests_running", "Sequences that hold KV pages.", figures.running},
           {"hearth_requests_waiting", "Sequences that wait for them.", figures.waiting},
           {"hearth_kv_pages", "KV pages in all.", figures.pages},
           {"hearth_kv_pages_available", "Those that may be taken, kept ones among them.",
            figures.available_pages},
           {"hearth_kv_pages_kept", "Unused pages that keep a prefix someone may want.",
            figures.kept_pages},
           {"hearth_kv_window_pages", "Pages of layers that see a window.", figures.window_pages},
           {"hearth_kv_window_pages_available", "Those that may be taken, kept ones among them.",
            figures.available_window_pages},
           {"hearth_kv_window_pages_kept", "Unused ones that someone may want.",
            figures.kept_window_pages},
           {"hearth_state_cache_states", "States that may be kept.", figures.most_kept_states},
           {"hearth_state_cache_states_kept", "Those that are.", figures.kept_states},
           {"hearth_state_cache_bytes_kept", "Their bytes.", figures.kept_state_bytes}}) {
    text->gauge(name, help, static_cast<double>(uint64_t{value}));
  }
  auto pages = static_cast<double>(uint64_t{figures.pages});
  auto available = static_cast<double>(uint64_t{figures.available_pages});
  text->gauge("hearth_kv_cache_usage_ratio", "Share of the KV pages that sequences hold.",
              pages > 0 ? 1 - available / pages : 0);
  text->histogram("hearth_step_seconds", "How long steps take.", figures.step_seconds);
  text->histogram("hearth_step_tokens", "How many tokens they compute.", figures.step_tokens);
}

}  // namespace

AppMetrics::AppMetrics()
    : requests(second_bounds()),
      first_token_seconds(second_bounds()),
      token_seconds({0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1}),
      queue_seconds(second_bounds()),
      prefill_seconds(second_bounds()) {}

std::string metrics_text(const AppMetrics& metrics, const AppGauges& gauges,
                         const Statistics* statistics) {
  MetricsText text;
  add_requests(metrics, &text);
  text.counter("hearth_prompt_tokens_total", "Tokens of the prompts of admitted requests.",
               static_cast<double>(uint64_t{metrics.prompt_tokens}));
  text.gauge("hearth_connections", "Open connections.", static_cast<double>(gauges.connections));
  text.counter("hearth_displaced_connections_total",
               "Idle connections that were closed to make room for new ones.",
               static_cast<double>(gauges.displaced_connections));
  text.counter("hearth_refused_connections_total",
               "Connections of addresses that had as many as one may have.",
               static_cast<double>(gauges.refused_connections));
  text.gauge("hearth_exchanges",
             "Requests of any kind, from their header to the end of their answer.",
             static_cast<double>(gauges.exchanges));
  text.gauge("hearth_reply_bytes",
             "Bytes that replies take: what they are made of and what waits for clients.",
             static_cast<double>(gauges.reply_bytes));
  if (statistics != nullptr) {
    add_engine(*statistics, &text);
    add_streams(*statistics, &text);
  }
  return text.take();
}

}  // namespace hearth
