// Dispatcher: the decisions of the queue manager, without threads and without a clock: callers pass
// the time (WindVE, Huang et al. 2025, Algorithm 1 and section IV).
//
// A query goes to the first device in the list that admits it. The list has accelerators first and
// then CPU pools, and devices of a kind in the order of their alpha. A device works on one batch at
// a time: all queries that wait when it begins, up to the most tokens of a batch.
//
// Admission by depth, as in the paper: the tokens that wait and run stay within the device's slots.
// Admission by deadline: with the query, the waiting batch is predicted to end before the deadlines
// of all of its queries:
//   end = now + rest of the running batch + f (alpha waiting tokens + beta waiting batches)
// f is the recent ratio of batches' times to the line (the mean and 1.5 standard deviations). A
// query that would make the waiting batch late never begins a batch of its own after it: many small
// batches do less than few large ones. Without an objective, or with a line of zero, admission is
// by depth.
//
// With an objective an idle device gathers: the first query that it is offered waits a few
// milliseconds for more. So a burst becomes one batch, and not one batch of its first query and one
// of the rest. The batch begins sooner if one more query, as short as the shortest waiting one,
// would be late or have no room. So gathering makes no query late and turns none away.
//
// If admission is by depth, groups of queries take turns in batches, so that a few texts that come
// after thousands of texts of one request wait for one batch only. If admission is by deadline,
// queries run in the order of their offers, as predictions assume; this is also the order of their
// deadlines.
//
// A device that fails leaves the list until a probe succeeds; the caller may offer its queries
// again. A device that runs far longer than predicted is stalled: it admits nothing until it
// answers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "embed/device.h"
#include "embed/latency_line.h"

namespace hearth {

enum class Admission : uint8_t { kDepth, kDeadline };

struct QueueOptions {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  LatencyLine line;                                       // seconds by the number of tokens
  uint64_t slots = 0;                                     // tokens; 0: no queue
  uint64_t batch = std::numeric_limits<uint64_t>::max();  // most tokens of a batch
};

struct DispatchOptions {
  Admission admission = Admission::kDeadline;
  double slo = std::numeric_limits<double>::infinity();  // seconds from offer to reply
  // Predictions end this share of the objective before a deadline, since threads wake up late.
  double reserve = 0.01;
  // Seconds that an idle device gathers: at most kMaxGatherShare of the objective, and none without
  // an objective.
  double gather = 0.02;
  double first_probe = 5;  // seconds from a failure to the first probe; then twice as long each
  double last_probe = 60;
};

inline constexpr double kMaxGatherShare = 0.02;

enum class Admitted : uint8_t {
  kAccepted,
  kBusy,     // no room now; it may be offered again later
  kTooLong,  // no device that is up could take it, even if idle
};

struct DispatchQuery {
  uint64_t id = 0;
  uint64_t tokens = 1;
  double deadline = std::numeric_limits<double>::infinity();
  uint64_t group = 0;  // the same for all queries of one request, and for no others
};

struct DispatchResult {
  Admitted admitted = Admitted::kBusy;
  size_t device = 0;       // the device that accepted the query, if one did
  double retry_after = 0;  // if kBusy: seconds until an offer may succeed
};

// The state of one device; counters are of queries.
struct DeviceStatistics {
  std::string name;
  DeviceKind kind = DeviceKind::kCpu;
  bool up = true;
  LatencyLine line;
  uint64_t slots = 0, held = 0;        // tokens
  uint64_t waiting = 0, running = 0;   // now
  uint64_t done = 0, late = 0;         // late ones are also counted in `done`
  uint64_t batches = 0, failures = 0;  // failures of the device
  double busy_seconds = 0;             // seconds in which batches ran
};

// Throws std::bad_alloc if memory is short; a device's batches and waiting queries are then
// unchanged.
class Dispatcher {
 public:
  // A device's number is its index in `queues`, whatever its place in the list.
  Dispatcher(std::vector<QueueOptions> queues, const DispatchOptions& options);

  // Offers a query to the devices. `query.id` must be new. `refused`: a bit for each device that
  // must not take the query.
  DispatchResult offer(const DispatchQuery& query, double now, uint64_t refused = 0);
  // Returns whether queries of all these sizes, offered at one moment, would be admitted if every
  // device were up and idle.
  bool could_take(const std::vector<uint64_t>& tokens) const;
  // Takes back the waiting queries among `count` ids from `first` on, calls `taken` for each, and
  // returns how many there were. Needs no memory.
  uint64_t withdraw(
      uint64_t first, uint64_t count,
      const std::function<void(uint64_t id)>& taken = [](uint64_t) {});

  // Begins the next batch of an idle device and returns its queries in the order of offers; empty
  // if nothing waits, or the device still gathers or is down.
  std::vector<uint64_t> begin(size_t device, double now);
  // Ends the running batch, which was answered. Returns how many of its queries were late.
  uint64_t finish(size_t device, double now);
  // Ends the running batch because one of its queries is at fault: each is run again by itself,
  // before all waiting ones.
  void part(size_t device, double now);
  // Takes the running batch away from its device, which could not compute it and is idle again.
  // Returns the ids of the batch's queries.
  std::vector<uint64_t> give_up(size_t device, double now);
  // Takes one query away from the running batch or, if none runs, the first waiting one, and
  // returns it. Returns none if there is no query, or its id is not below `end`. Needs no memory.
  std::optional<uint64_t> drop(size_t device, uint64_t end, double now);
  // Marks the device as down. Returns its queries: those that ran, then those that waited.
  std::vector<uint64_t> fail(size_t device, double now);
  // Takes away the queries that wait behind stalled devices, and returns them.
  std::vector<uint64_t> stalled(double now);
  // Returns how many queries stalled() would return.
  size_t count_stalled(double now) const;

  // Returns whether a device that is down should be probed now.
  bool probe_due(size_t device, double now) const;
  // Takes the outcome of a probe of `tokens` tokens: the seconds it took, or none if it failed
  // again.
  void probed(size_t device, double now, std::optional<double> seconds, uint64_t tokens);

  // Returns the moment when an idle device has work without a new offer: to begin its gathered
  // batch, to be probed, or to look for stalled devices. Infinity: never.
  double wake_at(size_t device) const;

  size_t size() const { return devices_.size(); }
  // Returns how many queries the running batch has.
  size_t running(size_t device) const { return devices_[device].running.size(); }
  bool up(size_t device) const { return devices_[device].up; }
  // Returns whether the device could take `tokens` tokens if it were idle and up.
  bool could_take(size_t device, uint64_t tokens) const {
    return could_ever(devices_[device], tokens);
  }
  DeviceStatistics statistics(size_t device) const;
  // Returns the seconds that the device's next batch is predicted to take with `tokens` tokens.
  double predict(size_t device, uint64_t tokens) const;

 private:
  struct Waiting : DispatchQuery {
    bool alone = false;  // runs as a batch without other queries
  };
  // The batches that begin() would make of the waiting queries in the order of their offers.
  struct Outlook {
    uint64_t batches = 0, tokens = 0;                           // in the batches before the last
    uint64_t last = 0;                                          // tokens of the last batch
    double earliest = std::numeric_limits<double>::infinity();  // first deadline in the last batch
    uint64_t shortest = 0;  // tokens of the shortest query in the last batch
    bool alone = false;
  };
  struct Device {
    QueueOptions options;
    bool up = true;
    std::deque<Waiting> waiting;
    std::vector<Waiting> running;
    Outlook outlook;
    double gather_until = 0;            // last moment to begin the gathered batch
    uint64_t held = 0;                  // tokens of `waiting` and `running`
    double started = 0, predicted = 0;  // when the running batch began; its predicted seconds
    double mean = 1, variance = 0;      // of batches' times as multiples of the line's
    uint64_t seen = 0;                  // batches that mean and variance count
    double relaxed_at = 0;              // when relax() last changed mean and variance
    // If down: when it is probed, and how long that is after the last failure.
    double probe_at = 0, probe_gap = 0;
    uint64_t done = 0, late = 0, batches = 0, failures = 0;
    double busy_seconds = 0;

    // Returns the predicted seconds of batches: the line's seconds times the learnt ratio.
    double seconds(uint64_t tokens, uint64_t in_batches = 1) const;
    void look_ahead(const Waiting& next);
    void look_again();
    // Removes the queries at these indices of `waiting`.
    void take_places(const std::vector<size_t>& places);
    // Returns the seconds until the running batch is predicted to end; if it is overdue, the
    // seconds that it is late.
    double rest(double now) const;
    // Returns the moment from which on the running batch counts as stalled.
    double stall_at(double slo) const;
    void learn(double ratio);
    // Moves the learnt ratio (real times divided by the line's) an eighth of the way back to 1, at
    // most once in kRelaxSeconds. Called while the device is idle, when its speed may have changed.
    void relax(double now);
  };

  bool by_deadline(const Device& device) const;
  bool admits(const Device& device, const DispatchQuery& query, double now) const;
  bool in_time(const Device& device, const DispatchQuery& query, double now) const;
  // Returns when an idle device begins the waiting batch; this may be in the past.
  double gathered_at(const Device& device) const;
  std::vector<size_t> next_batch(const Device& device) const;
  bool could_ever(const Device& device, uint64_t tokens) const;
  bool is_stalled(const Device& device, double now) const;
  double retry_after(double now) const;
  static std::vector<uint64_t> ids_of(const std::vector<Waiting>& batch);
  void take_down(Device& device, double now);
  double account(Device& device, double now);

  DispatchOptions options_;
  std::vector<Device> devices_;
  std::vector<size_t> order_;
};

}  // namespace hearth
