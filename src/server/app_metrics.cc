#include "server/app_metrics.h"

#include <functional>
#include <initializer_list>

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
  text->histogram("hearth_time_to_first_token_seconds",
                  "Seconds from the end of a request's header to its first token.",
                  metrics.first_token_seconds);
  text->histogram("hearth_time_per_output_token_seconds",
                  "Mean seconds between two tokens of a text.", metrics.token_seconds);
  text->histogram(
      "hearth_e2e_request_latency_seconds",
      "Seconds from the end of a header to the end of the answer, where no error occurred.",
      metrics.requests.seconds);
  text->histogram("hearth_request_queue_time_seconds",
                  "Seconds from a request's submission to its first step.", metrics.queue_seconds);
  text->histogram("hearth_request_prefill_time_seconds",
                  "Seconds from a request's first step to its first token.",
                  metrics.prefill_seconds);
}

using Engines = std::span<const EngineFigures>;

// Writes one metric family with a sample for each engine: `add` turns an engine's figures and
// labels into the sample's lines.
void add_family(const char* name, const char* type, const char* help, Engines engines,
                const std::function<void(const Statistics&, MetricsText::Labels)>& add,
                MetricsText* text) {
  text->family(name, type, help);
  for (const EngineFigures& engine : engines) {
    if (engine.model.empty()) {
      add(engine.statistics, {});
    } else {
      add(engine.statistics, {{"model_name", engine.model}});
    }
  }
}

struct Figure {
  const char *name, *help;
  Counter Statistics::*value;
};
constexpr Figure kCounters[] = {
    {"hearth_generation_tokens_total", "Tokens generated.", &Statistics::generated_tokens},
    {"hearth_forced_tokens_total", "Generated tokens that were the only ones allowed.",
     &Statistics::forced_tokens},
    {"hearth_scored_tokens_total", "Tokens of prompts whose log-probabilities were computed.",
     &Statistics::scored_tokens},
    {"hearth_computed_tokens_total", "Tokens computed, of prompts and generated ones.",
     &Statistics::computed_tokens},
    {"hearth_recomputed_tokens_total",
     "Tokens computed again, since their pages or states were not kept.",
     &Statistics::recomputed_tokens},
    {"hearth_prefix_cache_hit_tokens_total",
     "Tokens of prompts that were found in the prefix cache.", &Statistics::cached_tokens},
    {"hearth_prefix_cache_hit_prompts_total",
     "Prompts of which some tokens were found in the prefix cache.", &Statistics::cache_hits},
    {"hearth_streamed_prompts_total", "Prompts that a GPU computed.",
     &Statistics::streamed_prompts},
    {"hearth_streamed_tokens_total", "Tokens of prompts that a GPU computed.",
     &Statistics::streamed_tokens},
    {"hearth_unstreamed_prompts_total", "Prompts that the cores computed after a GPU had failed.",
     &Statistics::unstreamed_prompts},
    {"hearth_changed_prompts_total",
     "Prompts that the cores computed, though a GPU whose results differ should have.",
     &Statistics::changed_prompts},
    {"hearth_stream_passes_total", "Passes of prompts through a GPU that have ended.",
     &Statistics::stream_passes},
    {"hearth_failed_stream_passes_total", "Passes of prompts through a GPU that failed.",
     &Statistics::failed_stream_passes},
    {"hearth_streamed_bytes_total", "Bytes copied to the GPU and from it for prompts.",
     &Statistics::streamed_bytes},
    {"hearth_preemptions_total",
     "Texts that gave up their KV pages for a while and were computed again.",
     &Statistics::preemptions},
    {"hearth_evicted_kv_pages_total", "Pages of the prefix cache that were given to another text.",
     &Statistics::evicted_pages},
    {"hearth_evicted_kv_window_pages_total",
     "Window pages of the prefix cache that were given to another text.",
     &Statistics::evicted_window_pages},
    {"hearth_evicted_states_total",
     "Saved states that made room for others, or were dropped with their pages.",
     &Statistics::evicted_states},
    {"hearth_cancelled_choices_total", "Texts that were cancelled.",
     &Statistics::cancelled_choices},
    {"hearth_failed_choices_total", "Texts that failed.", &Statistics::failed_choices},
    {"hearth_steps_total", "Steps of the engine.", &Statistics::steps},
    {"hearth_abandoned_steps_total", "Steps whose requests had all been cancelled.",
     &Statistics::abandoned_steps}};
constexpr Figure kGauges[] = {
    {"hearth_requests_running", "Texts that hold KV pages.", &Statistics::running},
    {"hearth_requests_waiting", "Texts that wait for KV pages.", &Statistics::waiting},
    {"hearth_kv_pages", "All KV pages.", &Statistics::pages},
    {"hearth_kv_pages_available", "KV pages that may be taken, including those that keep a prefix.",
     &Statistics::available_pages},
    {"hearth_kv_pages_kept", "KV pages that no text holds and that keep a prefix.",
     &Statistics::kept_pages},
    {"hearth_kv_window_pages", "All window pages, which layers with a sliding window use.",
     &Statistics::window_pages},
    {"hearth_kv_window_pages_available",
     "Window pages that may be taken, including those that keep a prefix.",
     &Statistics::available_window_pages},
    {"hearth_kv_window_pages_kept", "Window pages that no text holds and that keep a prefix.",
     &Statistics::kept_window_pages},
    {"hearth_stream_rows", "Largest number of tokens per pass through the GPU.",
     &Statistics::stream_rows},
    {"hearth_stream_layers_kept", "Layers whose weights stay in the GPU's memory.",
     &Statistics::stream_kept_layers},
    {"hearth_stream_bytes_in_flight", "Bytes of GPU memory that streamed weights pass through.",
     &Statistics::stream_bytes_in_flight},
    {"hearth_stream_threshold",
     "Fewest tokens of a prompt for the GPU; 0: each goes where it is predicted to end sooner.",
     &Statistics::stream_threshold},
    {"hearth_state_cache_states", "Number of recurrent states that may be saved.",
     &Statistics::max_kept_states},
    {"hearth_state_cache_states_kept", "Number of recurrent states that are saved.",
     &Statistics::kept_states},
    {"hearth_state_cache_bytes_kept", "Bytes of the recurrent states that are saved.",
     &Statistics::kept_state_bytes}};

void add_figures(const char* type, std::span<const Figure> figures, Engines engines,
                 MetricsText* text) {
  for (const Figure& figure : figures) {
    auto sample = [&](const Statistics& statistics, MetricsText::Labels labels) {
      text->sample(labels, static_cast<double>(uint64_t{statistics.*figure.value}));
    };
    add_family(figure.name, type, figure.help, engines, sample, text);
  }
}

void add_engines(Engines engines, MetricsText* text) {
  add_figures("counter", kCounters, engines, text);
  add_figures("gauge", kGauges, engines, text);
  add_family(
      "hearth_kv_cache_usage_ratio", "gauge", "Share of the KV pages that texts hold.", engines,
      [&](const Statistics& figures, MetricsText::Labels labels) {
        const auto pages = static_cast<double>(uint64_t{figures.pages});
        const auto available = static_cast<double>(uint64_t{figures.available_pages});
        text->sample(labels, pages > 0 ? 1 - available / pages : 0);
      },
      text);
  add_family(
      "hearth_stream_seconds_total", "counter",
      "Seconds that passes of prompts through a GPU took.", engines,
      [&](const Statistics& figures, MetricsText::Labels labels) {
        text->sample(labels, static_cast<double>(figures.stream_nanoseconds) * 1e-9);
      },
      text);
  add_family(
      "hearth_step_seconds", "histogram", "Seconds that a step takes.", engines,
      [&](const Statistics& figures, MetricsText::Labels labels) {
        text->samples(figures.step_seconds, labels);
      },
      text);
  add_family(
      "hearth_step_tokens", "histogram", "Tokens that a step computes.", engines,
      [&](const Statistics& figures, MetricsText::Labels labels) {
        text->samples(figures.step_tokens, labels);
      },
      text);
}

}  // namespace

AppMetrics::AppMetrics()
    : requests(second_bounds()),
      first_token_seconds(second_bounds()),
      token_seconds({0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1}),
      queue_seconds(second_bounds()),
      prefill_seconds(second_bounds()) {}

std::string metrics_text(const AppMetrics& metrics, const AppGauges& gauges, Engines engines) {
  MetricsText text;
  add_requests(metrics, &text);
  text.counter("hearth_prompt_tokens_total", "Tokens of the prompts of admitted requests.",
               static_cast<double>(uint64_t{metrics.prompt_tokens}));
  text.gauge("hearth_connections", "Open connections.", static_cast<double>(gauges.connections));
  text.counter("hearth_displaced_connections_total",
               "Idle connections that were closed to make room for new ones.",
               static_cast<double>(gauges.displaced_connections));
  text.counter("hearth_refused_connections_total",
               "New connections refused because their address had too many.",
               static_cast<double>(gauges.refused_connections));
  text.gauge("hearth_exchanges", "Requests of any kind that are being answered.",
             static_cast<double>(gauges.exchanges));
  text.gauge("hearth_reply_bytes",
             "Bytes of the replies being sent: their sources, and bytes that wait for clients.",
             static_cast<double>(gauges.reply_bytes));
  if (!engines.empty()) add_engines(engines, &text);
  return text.take();
}

std::string model_metrics_text(std::span<const ModelRow> models) {
  MetricsText text;
  text.family("hearth_model_loaded", "gauge", "1 while the model is loaded.");
  for (const ModelRow& row : models) {
    text.sample({{"model_name", row.model->name}}, row.status == ModelStatus::kLoaded ? 1 : 0);
  }
  text.family("hearth_model_loads_total", "counter", "How often the model was loaded.");
  for (const ModelRow& row : models) {
    text.sample({{"model_name", row.model->name}}, static_cast<double>(row.loads));
  }
  return text.take();
}

}  // namespace hearth
