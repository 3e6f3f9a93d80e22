#include "bench/embed_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/error.h"
#include "bench/embed_queues.h"
#include "bench/serve_load.h"
#include "embed/queue_manager.h"
#include "embed/sim_device.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxDepth = 4096;

}  // namespace

uint64_t EmbedCase::alone() const {
  uint64_t sum = 0;
  for (const EmbedConcurrency& one : devices) sum += one.alone;
  return sum;
}

uint64_t EmbedCase::together() const {
  uint64_t sum = 0;
  for (const EmbedConcurrency& one : devices) sum += one.together;
  return sum;
}

uint64_t EmbedCase::accelerators() const {
  uint64_t sum = 0;
  for (const EmbedConcurrency& one : devices) {
    if (one.kind == DeviceKind::kAccelerator) sum += one.alone;
  }
  return sum;
}

double EmbedCase::capacity() const {
  double sum = 0;
  for (const EmbedConcurrency& one : devices) {
    if (one.together == 0) continue;
    double half = (slo / 2 - one.line.beta) / std::max(one.line.alpha, 1e-12) / (slo / 2);
    // If a batch takes more than half the objective, the device runs one text after another.
    double single = 1 / std::max(one.line.seconds(1), 1e-12);
    sum += std::max(half, single);
  }
  return sum;
}

EmbedBench::EmbedBench(std::vector<EmbedDevice*> devices, DeviceClock& clock, EmbedBenchHooks hooks)
    : devices_(std::move(devices)), clock_(clock), hooks_(std::move(hooks)) {}

Estimate EmbedBench::estimate(size_t device, uint32_t length, double slo) {
  EstimateOptions options;
  options.slo = slo;
  options.most = kMaxDepth;
  auto measure = [&](uint32_t count) {
    hooks_.progress(fmt::format("{}: {} texts of {}", devices_[device]->name(), count, length));
    std::vector<EmbedQuery> queries;
    std::vector<const EmbedQuery*> batch;
    for (uint32_t i = 0; i < count; ++i) queries.push_back(hooks_.query(length, made_++));
    for (const EmbedQuery& query : queries) batch.push_back(&query);
    double began = clock_.now();
    devices_[device]->run(batch);
    return clock_.now() - began;
  };
  // The first batch of a length is slower, since caches and connections are cold. It is not
  // counted.
  measure(1);
  return estimate_depth(measure, options);
}

// Returns the longest time of each device over `repetitions` rounds of batches of these depths.
std::vector<double> EmbedBench::round(const EmbedCase& one, const std::vector<uint64_t>& depths,
                                      uint32_t repetitions) {
  hooks_.progress(fmt::format("{} texts of {} at once", fmt::join(depths, " + "), one.length));
  std::vector<double> longest(devices_.size(), 0);
  uint64_t all = 0;
  for (uint64_t depth : depths) all += depth;
  BenchQueues queues(devices_, one, depths, Admission::kDepth, clock_);
  for (uint32_t i = 0; i < repetitions && !hooks_.interrupted(); ++i) {
    std::vector<EmbedQuery> texts;
    for (uint64_t n = 0; n < all; ++n) texts.push_back(hooks_.query(one.length, made_++));
    queues.run_together(std::move(texts), &longest);
  }
  return longest;
}

EmbedCase EmbedBench::measure(uint32_t length, double slo, uint32_t repetitions) {
  EmbedCase out;
  out.length = length;
  out.slo = slo;
  std::vector<DepthTuner::Device> alone;
  for (size_t i = 0; i < devices_.size(); ++i) {
    Estimate estimated = estimate(i, length, slo);
    out.devices.push_back(
        {devices_[i]->name(), devices_[i]->kind(), estimated.line, estimated.depth, 0, 0});
    alone.push_back({estimated.line, estimated.depth});
  }
  auto run = [&](const std::vector<uint64_t>& depths) { return round(out, depths, repetitions); };
  for (size_t i = 0; i < devices_.size() && !hooks_.interrupted(); ++i) {
    std::vector<DepthTuner::Device> start(devices_.size());
    start[i] = alone[i];
    out.devices[i].alone = tune_depths(start, slo, kMaxDepth, run)[i];
    alone[i].depth = out.devices[i].alone;
  }
  if (hooks_.interrupted()) return out;
  std::vector<uint64_t> together = tune_depths(alone, slo, kMaxDepth, run);
  for (size_t i = 0; i < devices_.size(); ++i) out.devices[i].together = together[i];
  return out;
}

EmbedArrivals EmbedBench::arrivals(const EmbedCase& one, Admission admission, double rate,
                                   double seconds, uint64_t seed) {
  hooks_.progress(fmt::format("{:.4g} texts/s, {}", rate,
                              admission == Admission::kDepth ? "depths" : "deadlines"));
  EmbedArrivals out;
  out.length = one.length;
  out.slo = one.slo;
  out.rate = rate;
  out.admission = admission;
  std::vector<uint64_t> depths;
  for (const EmbedConcurrency& device : one.devices) depths.push_back(device.together);
  BenchQueues queues(devices_, one, depths, admission, clock_);
  PoissonArrivals moments(rate, seed);
  double start = clock_.now();
  for (double due = moments.next(); due < seconds && !hooks_.interrupted(); due = moments.next()) {
    EmbedQuery query = hooks_.query(one.length, made_++);
    clock_.sleep_until(start + due);
    ++out.offered;
    if (queues.submit(std::move(query), start + due)) ++out.accepted;
  }
  std::vector<double> latencies = queues.wait();
  out.seconds = clock_.now() - start;
  out.answered = latencies.size();
  for (double latency : latencies) out.in_time += latency <= one.slo ? 1 : 0;
  out.latency = percentiles_of(std::move(latencies));
  out.devices = queues.statistics();
  return out;
}

EmbedDispatch measure_dispatch(DeviceClock& clock, uint64_t texts) {
  SimOptions idle;
  idle.alpha = idle.beta = 0;
  std::vector<DeviceQueue> queues;
  for (DeviceKind kind : {DeviceKind::kAccelerator, DeviceKind::kCpu}) {
    queues.push_back(
        {std::make_unique<SimDevice>(std::string(device_kind_name(kind)), kind, idle, clock),
         {1e-6, 1e-6},
         1'000'000});
  }
  DispatchOptions options;
  options.slo = 1;
  options.gather = 0;  // texts are sent one after another, so there is nothing to gather
  std::mutex mutex;
  std::condition_variable came;
  QueueManager manager(std::move(queues), options, clock);
  std::vector<double> submits, trips;
  for (uint64_t i = 0; i < texts; ++i) {
    std::optional<double> answered;
    double began = clock.now();
    manager.submit({"", std::vector<int32_t>(kProbeTokens, static_cast<int32_t>(i))},
                   [&](EmbedOutcome) {
                     std::lock_guard lock(mutex);
                     answered = clock.now();
                     came.notify_one();
                   });
    submits.push_back(clock.now() - began);
    std::unique_lock lock(mutex);
    came.wait(lock, [&] { return answered.has_value(); });
    trips.push_back(*answered - began);
  }
  return {texts, percentiles_of(std::move(submits)), percentiles_of(std::move(trips))};
}

}  // namespace hearth
