#include "server/queue_metrics.h"

#include "server/metrics_text.h"

namespace hearth {
namespace {

void add_devices(const QueueMetricNames& names, std::span<const DeviceStatistics> devices,
                 std::span<const std::string> models, MetricsText* text) {
  struct Family {
    const char *name, *type, *help;
    double (*value)(const DeviceStatistics&);
  };
  using Device = const DeviceStatistics&;
  for (const Family& family : std::initializer_list<Family>{
           {"_device_up", "gauge", "1 while the device takes texts.",
            [](Device d) { return d.up ? 1.0 : 0.0; }},
           {"_slot_tokens", "gauge", "Depth of the device's queue in tokens.",
            [](Device d) { return static_cast<double>(d.slots); }},
           {"_held_tokens", "gauge", "Tokens of texts that wait or run.",
            [](Device d) { return static_cast<double>(d.held); }},
           {"_texts_waiting", "gauge", "Texts that wait.",
            [](Device d) { return static_cast<double>(d.waiting); }},
           {"_texts_running", "gauge", "Texts of the batch that runs.",
            [](Device d) { return static_cast<double>(d.running); }},
           {"_texts_done_total", "counter", "Texts that were answered.",
            [](Device d) { return static_cast<double>(d.done); }},
           {"_texts_late_total", "counter", "Texts that were answered later than the objective.",
            [](Device d) { return static_cast<double>(d.late); }},
           {"_batches_total", "counter", "Batches that the device computed.",
            [](Device d) { return static_cast<double>(d.batches); }},
           {"_device_failures_total", "counter", "Failures of the device.",
            [](Device d) { return static_cast<double>(d.failures); }},
           {"_busy_seconds_total", "counter", "Seconds in which the device computed.",
            [](Device d) { return d.busy_seconds; }}}) {
    text->family(std::string(names.devices) + family.name, family.type, family.help);
    for (size_t i = 0; i < devices.size(); ++i) {
      const std::string_view name = devices[i].name, kind = device_kind_name(devices[i].kind);
      const double value = family.value(devices[i]);
      if (models.empty()) {
        text->sample({{"device", name}, {"kind", kind}}, value);
      } else {
        text->sample({{"device", name}, {"kind", kind}, {"model_name", models[i]}}, value);
      }
    }
  }
}

}  // namespace

QueueMetrics::QueueMetrics()
    : requests({0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 60}) {}

std::string queue_metrics_text(const QueueMetricNames& names, const QueueMetrics& metrics,
                               std::span<const DeviceStatistics> devices,
                               std::span<const std::string> models) {
  MetricsText text;
  const std::string begin = names.requests, requests = names.of_requests;
  text.family(begin + "_requests_total", "counter", requests + ", by how they ended.");
  constexpr Outcome kEnds[] = {Outcome::kOk, Outcome::kCancelled, Outcome::kRefused, Outcome::kBusy,
                               Outcome::kFailed};
  add_outcomes(metrics.requests, kEnds, &text);
  text.counter(begin + "_texts_total", std::string(names.texts) + " of accepted requests.",
               static_cast<double>(uint64_t{metrics.texts}));
  text.counter(begin + "_tokens_total", "Tokens of the texts of accepted requests.",
               static_cast<double>(uint64_t{metrics.tokens}));
  text.histogram(
      begin + "_request_seconds",
      "Seconds from the end of a header to the end of the answer, where no error occurred.",
      metrics.requests.seconds);
  add_devices(names, devices, models, &text);
  return text.take();
}

}  // namespace hearth
