#include "server/embedding_metrics.h"

#include "server/metrics_text.h"

namespace hearth {
namespace {

void add_devices(std::span<const DeviceStatistics> devices, MetricsText* text) {
  struct Family {
    const char *name, *type, *help;
    double (*value)(const DeviceStatistics&);
  };
  using Device = const DeviceStatistics&;
  for (const Family& family : std::initializer_list<Family>{
           {"hearth_embed_device_up", "gauge", "1 while the device takes texts.",
            [](Device d) { return d.up ? 1.0 : 0.0; }},
           {"hearth_embed_slot_tokens", "gauge", "Tokens that may wait and run.",
            [](Device d) { return static_cast<double>(d.slots); }},
           {"hearth_embed_held_tokens", "gauge", "Tokens that wait and run.",
            [](Device d) { return static_cast<double>(d.held); }},
           {"hearth_embed_texts_waiting", "gauge", "Texts that wait.",
            [](Device d) { return static_cast<double>(d.waiting); }},
           {"hearth_embed_texts_running", "gauge", "Texts of the batch that runs.",
            [](Device d) { return static_cast<double>(d.running); }},
           {"hearth_embed_texts_done_total", "counter", "Texts that were answered.",
            [](Device d) { return static_cast<double>(d.done); }},
           {"hearth_embed_texts_late_total", "counter", "Those of them that came too late.",
            [](Device d) { return static_cast<double>(d.late); }},
           {"hearth_embed_batches_total", "counter", "Batches.",
            [](Device d) { return static_cast<double>(d.batches); }},
           {"hearth_embed_device_failures_total", "counter", "Failures of the device.",
            [](Device d) { return static_cast<double>(d.failures); }},
           {"hearth_embed_busy_seconds_total", "counter", "Seconds in which the device ran.",
            [](Device d) { return d.busy_seconds; }}}) {
    text->family(family.name, family.type, family.help);
    for (const DeviceStatistics& device : devices) {
      text->sample({{"device", device.name}, {"kind", device_kind_name(device.kind)}},
                   family.value(device));
    }
  }
}

}  // namespace

EmbeddingMetrics::EmbeddingMetrics()
    : requests({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 60}) {}

std::string embedding_metrics_text(const EmbeddingMetrics& metrics,
                                   std::span<const DeviceStatistics> devices) {
  MetricsText text;
  text.family("hearth_embedding_requests_total", "counter",
              "Requests for embeddings, by how they ended.");
  constexpr Outcome kEnds[] = {Outcome::kOk, Outcome::kCancelled, Outcome::kRefused, Outcome::kBusy,
                               Outcome::kFailed};
  add_outcomes(metrics.requests, kEnds, &text);
  text.counter("hearth_embedding_texts_total", "Texts of accepted requests.",
               static_cast<double>(uint64_t{metrics.texts}));
  text.counter("hearth_embedding_tokens_total", "Tokens of these.",
               static_cast<double>(uint64_t{metrics.tokens}));
  text.histogram("hearth_embedding_request_seconds",
                 "From a request's head to the end of its answer.", metrics.requests.seconds);
  add_devices(devices, &text);
  return text.take();
}

}  // namespace hearth
