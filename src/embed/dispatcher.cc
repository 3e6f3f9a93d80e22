#include "embed/dispatcher.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "base/check.h"

namespace hearth {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
// The tolerance in seconds of comparisons between moments, since sums of them are rounded.
constexpr double kRounding = 1e-9;
constexpr double kDeviations = 1.5;
// The mean of ratios (a batch's time divided by the line's time) gives a new batch at least this
// weight.
constexpr double kMinWeight = 1.0 / 32;
constexpr double kMaxRatio = 8;
constexpr double kRelaxSeconds = 1;
constexpr double kStallFactor = 4;
// A batch counts as stalled when it has taken kStallFactor times its predicted time, and is behind
// that prediction by the objective or, if this is less, by kStallSeconds.
constexpr double kStallSeconds = 10;
constexpr double kMinRetry = 1e-3;

}  // namespace

Dispatcher::Dispatcher(std::vector<QueueOptions> queues, const DispatchOptions& options)
    : options_(options) {
  HEARTH_CHECK(!queues.empty() && queues.size() <= 64, "1 to 64 queues");
  devices_.resize(queues.size());
  order_.resize(queues.size());
  std::iota(order_.begin(), order_.end(), size_t{0});
  for (size_t i = 0; i < queues.size(); ++i) devices_[i].options = std::move(queues[i]);
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    const QueueOptions &x = devices_[a].options, &y = devices_[b].options;
    return std::pair(x.kind, x.line.alpha) < std::pair(y.kind, y.line.alpha);
  });
}

double Dispatcher::Device::seconds(uint64_t tokens, uint64_t in_batches) const {
  double factor = std::clamp(mean + kDeviations * std::sqrt(variance), 1 / kMaxRatio, kMaxRatio);
  return (options.line.alpha * static_cast<double>(tokens) +
          options.line.beta * static_cast<double>(in_batches)) *
         factor;
}

void Dispatcher::Device::look_ahead(const Waiting& next) {
  bool joins = !next.alone && !outlook.alone && outlook.last + next.tokens <= options.batch;
  if (outlook.last > 0 && !joins) {
    outlook.tokens += outlook.last;
    ++outlook.batches;
    outlook.last = 0;
    outlook.earliest = kForever;
  }
  outlook.shortest = outlook.last == 0 ? next.tokens : std::min(outlook.shortest, next.tokens);
  outlook.last += next.tokens;
  outlook.earliest = std::min(outlook.earliest, next.deadline);
  outlook.alone = next.alone;
}

void Dispatcher::Device::look_again() {
  outlook = {};
  for (const Waiting& one : waiting) look_ahead(one);
}

void Dispatcher::Device::take_places(const std::vector<size_t>& places) {
  std::deque<Waiting> left;
  auto next = places.begin();
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (next != places.end() && *next == i) {
      ++next;
    } else {
      left.push_back(waiting[i]);
    }
  }
  waiting = std::move(left);
  look_again();
}

double Dispatcher::Device::rest(double now) const {
  return running.empty() ? 0 : std::abs(started + predicted - now);
}

double Dispatcher::Device::stall_at(double slo) const {
  if (running.empty() || predicted == 0) return kForever;
  return started + std::max(kStallFactor * predicted, predicted + std::min(slo, kStallSeconds));
}

void Dispatcher::Device::learn(double ratio) {
  ratio = std::min(ratio, kMaxRatio);
  ++seen;
  // The mean begins at 1, as if one batch had taken exactly the line's time.
  double weight = std::max(1.0 / static_cast<double>(seen + 1), kMinWeight);
  double difference = ratio - mean;
  mean += weight * difference;
  variance = (1 - weight) * (variance + weight * difference * difference);
}

void Dispatcher::Device::relax(double now) {
  if (now < relaxed_at + kRelaxSeconds) return;
  relaxed_at = now;
  mean += (1 - mean) / 8;
  variance *= 7.0 / 8;
}

bool Dispatcher::by_deadline(const Device& device) const {
  const LatencyLine& line = device.options.line;
  return options_.admission == Admission::kDeadline && options_.slo < kForever &&
         line.alpha + line.beta > 0;
}

bool Dispatcher::could_ever(const Device& device, uint64_t tokens) const {
  if (tokens > device.options.slots) return false;
  return !by_deadline(device) || device.options.line.seconds(static_cast<double>(tokens)) <=
                                     options_.slo * (1 - options_.reserve) + kRounding;
}

bool Dispatcher::is_stalled(const Device& device, double now) const {
  return now >= device.stall_at(options_.slo);
}

bool Dispatcher::in_time(const Device& device, const DispatchQuery& query, double now) const {
  Outlook outlook = device.outlook;
  double earliest = query.deadline;
  bool joins = !outlook.alone && outlook.last + query.tokens <= device.options.batch;
  if (outlook.last > 0 && !joins) {
    outlook.tokens += outlook.last;
    ++outlook.batches;
    outlook.last = 0;
  } else {
    earliest = std::min(earliest, outlook.earliest);
  }
  double end = now + device.rest(now) +
               device.seconds(outlook.tokens + outlook.last + query.tokens, outlook.batches + 1);
  return end <= earliest - options_.slo * options_.reserve + kRounding;
}

bool Dispatcher::admits(const Device& device, const DispatchQuery& query, double now) const {
  if (!device.up || is_stalled(device, now) || !could_ever(device, query.tokens)) return false;
  const uint64_t slots = device.options.slots;
  if (!by_deadline(device)) return device.held + query.tokens <= slots;
  // A batch of `slots` tokens takes at most the objective. So one such batch may run while another
  // waits.
  return device.held + query.tokens <= 2 * slots && in_time(device, query, now);
}

DispatchResult Dispatcher::offer(const DispatchQuery& query, double now, uint64_t refused) {
  HEARTH_CHECK(query.tokens > 0, "a query holds a slot");
  bool possible = false;
  for (size_t i : order_) {
    Device& device = devices_[i];
    if ((refused >> i & 1) != 0) continue;
    possible = possible || could_ever(device, query.tokens);
    if (admits(device, query, now)) {
      const bool idle = device.waiting.empty() && device.running.empty();
      device.waiting.push_back({query});
      if (idle && options_.slo < kForever) {
        device.gather_until = now + std::min(options_.gather, kMaxGatherShare * options_.slo);
      }
      device.look_ahead(device.waiting.back());
      device.held += query.tokens;
      return {Admitted::kAccepted, i, 0};
    }
    if (device.up && device.held == 0) device.relax(now);
  }
  if (!possible && refused == 0) return {Admitted::kTooLong, 0, 0};
  return {Admitted::kBusy, 0, retry_after(now)};
}

bool Dispatcher::could_take(const std::vector<uint64_t>& tokens) const {
  std::vector<QueueOptions> queues;
  for (const Device& device : devices_) queues.push_back(device.options);
  Dispatcher idle(std::move(queues), options_);
  for (size_t i = 0; i < tokens.size(); ++i) {
    DispatchQuery query{i, tokens[i], options_.slo, 0};
    if (idle.offer(query, 0).admitted != Admitted::kAccepted) return false;
  }
  return true;
}

double Dispatcher::retry_after(double now) const {
  double soonest = kForever;
  for (const Device& device : devices_) {
    if (device.options.slots == 0) continue;
    double wait = device.up ? device.rest(now) : device.probe_at - now;
    if (device.up && device.running.empty() && !device.waiting.empty()) {
      wait = std::max(0.0, gathered_at(device) - now) + device.seconds(device.outlook.last);
    }
    soonest = std::min(soonest, wait);
  }
  return soonest == kForever ? options_.last_probe : std::max(soonest, kMinRetry);
}

uint64_t Dispatcher::withdraw(uint64_t first, uint64_t count,
                              const std::function<void(uint64_t id)>& taken) {
  uint64_t all = 0;
  for (Device& device : devices_) {
    all += std::erase_if(device.waiting, [&](const Waiting& one) {
      if (one.id < first || one.id - first >= count) return false;
      device.held -= one.tokens;
      taken(one.id);
      return true;
    });
    device.look_again();
  }
  return all;
}

double Dispatcher::gathered_at(const Device& device) const {
  const Outlook& outlook = device.outlook;
  // The waiting batch begins at once if the device does not gather, or if more than one batch
  // waits.
  if (device.gather_until == 0 || outlook.batches > 0 || outlook.alone) return 0;
  const uint64_t more = outlook.last + outlook.shortest;
  const uint64_t slots = (by_deadline(device) ? 2 : 1) * device.options.slots;
  if (more > device.options.batch || more > slots) return 0;
  const double in_time =
      outlook.earliest - options_.slo * options_.reserve - device.seconds(more) + kRounding;
  return std::min(device.gather_until, in_time);
}

// Returns the indices, among the waiting queries, of the next batch's queries, ascending.
std::vector<size_t> Dispatcher::next_batch(const Device& device) const {
  const auto& waiting = device.waiting;
  if (waiting.front().alone) return {0};
  std::vector<size_t> order(waiting.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!by_deadline(device)) {
    // The batch has the first query of every group, then the second of every group, and so on.
    std::unordered_map<uint64_t, size_t> taken;
    std::vector<size_t> turn(waiting.size());
    for (size_t i = 0; i < waiting.size(); ++i) turn[i] = taken[waiting[i].group]++;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return std::pair(turn[a], a) < std::pair(turn[b], b);
    });
  }
  uint64_t tokens = 0;
  std::vector<size_t> places;
  for (size_t place : order) {
    const Waiting& next = waiting[place];
    bool joins = !next.alone && tokens + next.tokens <= device.options.batch;
    if (!places.empty() && !joins) break;
    tokens += next.tokens;
    places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  return places;
}

std::vector<uint64_t> Dispatcher::begin(size_t index, double now) {
  Device& device = devices_[index];
  std::vector<uint64_t> ids;
  if (!device.up || !device.running.empty() || device.waiting.empty()) return ids;
  if (now < gathered_at(device)) return ids;
  std::vector<size_t> places = next_batch(device);
  std::vector<Waiting> batch;
  uint64_t tokens = 0;
  for (size_t place : places) {
    const Waiting& next = device.waiting[place];
    tokens += next.tokens;
    ids.push_back(next.id);
    batch.push_back(next);
  }
  device.take_places(places);
  device.running = std::move(batch);
  device.gather_until = 0;
  device.started = now;
  device.predicted = device.seconds(tokens);
  return ids;
}

// Adds the running batch and its time to the counters. Returns its time divided by the line's; 0 if
// the line's is 0.
double Dispatcher::account(Device& device, double now) {
  HEARTH_CHECK(!device.running.empty(), "a batch runs");
  uint64_t tokens = 0;
  for (const Waiting& one : device.running) tokens += one.tokens;
  double took = now - device.started;
  device.busy_seconds += took;
  ++device.batches;
  double line = device.options.line.seconds(static_cast<double>(tokens));
  return line > 0 ? took / line : 0;
}

uint64_t Dispatcher::finish(size_t index, double now) {
  Device& device = devices_[index];
  double ratio = account(device, now);
  uint64_t late = 0;
  for (const Waiting& one : device.running) {
    device.held -= one.tokens;
    if (now > one.deadline + kRounding) ++late;
  }
  device.done += device.running.size();
  device.late += late;
  device.running.clear();
  if (ratio > 0) device.learn(ratio);
  return late;
}

void Dispatcher::part(size_t index, double now) {
  Device& device = devices_[index];
  device.waiting.insert(device.waiting.begin(), device.running.begin(), device.running.end());
  for (size_t i = 0; i < device.running.size(); ++i) device.waiting[i].alone = true;
  account(device, now);
  device.running.clear();
  device.look_again();
}

std::vector<uint64_t> Dispatcher::ids_of(const std::vector<Waiting>& batch) {
  std::vector<uint64_t> ids;
  for (const Waiting& one : batch) ids.push_back(one.id);
  return ids;
}

void Dispatcher::take_down(Device& device, double now) {
  device.up = false;
  device.probe_gap = options_.first_probe;
  device.probe_at = now + device.probe_gap;
}

std::vector<uint64_t> Dispatcher::give_up(size_t index, double now) {
  Device& device = devices_[index];
  std::vector<uint64_t> ids = ids_of(device.running);
  account(device, now);
  ++device.failures;
  for (const Waiting& one : device.running) device.held -= one.tokens;
  device.running.clear();
  return ids;
}

std::optional<uint64_t> Dispatcher::drop(size_t index, uint64_t end, double now) {
  Device& device = devices_[index];
  const bool runs = !device.running.empty();
  if (!runs && device.waiting.empty()) return {};
  const Waiting one = runs ? device.running.back() : device.waiting.front();
  if (one.id >= end) return {};
  if (device.running.size() == 1) {
    account(device, now);
    ++device.failures;
  }
  runs ? device.running.pop_back() : device.waiting.pop_front();
  if (!runs) device.look_again();
  device.held -= one.tokens;
  return one.id;
}

std::vector<uint64_t> Dispatcher::fail(size_t index, double now) {
  Device& device = devices_[index];
  std::vector<uint64_t> ids = ids_of(device.running);
  for (const Waiting& one : device.waiting) ids.push_back(one.id);
  if (!device.running.empty()) account(device, now);
  ++device.failures;
  device.running.clear();
  device.waiting.clear();
  device.outlook = {};
  device.held = 0;
  take_down(device, now);
  return ids;
}

size_t Dispatcher::count_stalled(double now) const {
  size_t count = 0;
  for (const Device& device : devices_) {
    if (is_stalled(device, now)) count += device.waiting.size();
  }
  return count;
}

std::vector<uint64_t> Dispatcher::stalled(double now) {
  std::vector<uint64_t> ids;
  for (const Device& device : devices_) {
    if (!is_stalled(device, now)) continue;
    for (const Waiting& one : device.waiting) ids.push_back(one.id);
  }
  for (Device& device : devices_) {
    if (!is_stalled(device, now)) continue;
    for (const Waiting& one : device.waiting) device.held -= one.tokens;
    device.waiting.clear();
    device.outlook = {};
  }
  return ids;
}

bool Dispatcher::probe_due(size_t index, double now) const {
  const Device& device = devices_[index];
  return !device.up && now >= device.probe_at;
}

void Dispatcher::probed(size_t index, double now, std::optional<double> seconds, uint64_t tokens) {
  Device& device = devices_[index];
  if (!seconds) {
    device.probe_gap = std::min(2 * device.probe_gap, options_.last_probe);
    device.probe_at = now + device.probe_gap;
    return;
  }
  device.up = true;
  device.mean = 1;
  device.variance = 0;
  device.seen = 0;
  double line = device.options.line.seconds(static_cast<double>(tokens));
  if (line > 0) device.learn(*seconds / line);
}

double Dispatcher::wake_at(size_t index) const {
  const Device& device = devices_[index];
  if (!device.up) return device.probe_at;
  double soonest = kForever;
  if (device.running.empty() && !device.waiting.empty()) soonest = gathered_at(device);
  for (const Device& other : devices_) {
    if (!other.waiting.empty()) soonest = std::min(soonest, other.stall_at(options_.slo));
  }
  return soonest;
}

DeviceStatistics Dispatcher::statistics(size_t index) const {
  const Device& device = devices_[index];
  DeviceStatistics out;
  out.name = device.options.name;
  out.kind = device.options.kind;
  out.up = device.up;
  out.line = device.options.line;
  out.slots = device.options.slots;
  out.held = device.held;
  out.waiting = device.waiting.size();
  out.running = device.running.size();
  out.done = device.done;
  out.late = device.late;
  out.batches = device.batches;
  out.failures = device.failures;
  out.busy_seconds = device.busy_seconds;
  return out;
}

double Dispatcher::predict(size_t index, uint64_t tokens) const {
  return devices_[index].seconds(tokens);
}

}  // namespace hearth
