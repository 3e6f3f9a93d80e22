// QueueManager: queries over several devices (WindVE, Huang et al. 2025, figure 3). Each device has
// one queue and one thread; embed/dispatcher.h decides which device takes a query. Every accepted
// query is answered once, whatever the devices do. A shortage of memory is a failure of its
// queries, not of the device: they go to another device or fail, and the device goes on with its
// next batch.
//
//   QueueManager manager(std::move(queues), options, clock);
//   manager.submit(query, [](EmbedOutcome outcome) { ... });
//
// Its destructor waits for batches under way, except those of endpoints, which it abandons, and
// answers waiting queries as BUSY.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "embed/device.h"
#include "embed/device_clock.h"
#include "embed/dispatcher.h"

namespace hearth {

// The outcome of one accepted query: a vector, or an error. kBusy means that it may be sent again
// after `retry_after` seconds. A query whose device failed goes to another device. If no other has
// room, the query is BUSY if the device was remote, and else gets the device's own error.
struct EmbedOutcome {
  EmbedVector vector = {};
  std::optional<Error> error = {};
  bool no_memory = false;  // the error is a shortage of memory
  double retry_after = 0;
  std::string device = {};  // device that answered; empty: none
};

// Called once, from a device's thread, without a lock held. It must not throw, and must be short,
// since the device waits for it.
using EmbedDone = std::function<void(EmbedOutcome)>;

struct SubmitResult {
  Admitted admitted = Admitted::kBusy;
  double retry_after = 0;  // if kBusy: seconds until a query may be accepted
  uint64_t ticket = 0;     // if kAccepted: for cancel(); of several queries the first one's
};

struct DeviceQueue {
  std::unique_ptr<EmbedDevice> device;
  LatencyLine line;    // seconds by the number of tokens
  uint64_t slots = 0;  // tokens; see Estimate (embed/estimator.h)
  uint64_t batch = std::numeric_limits<uint64_t>::max();  // most tokens of a batch
};

// How many seconds a caller waits for room while all devices are down.
inline constexpr double kPatience = 60;

class QueueManager {
 public:
  // Takes 1 to 64 queues of one width (else throws Error kUnsupported). `clock` must outlive it and
  // go as fast as this machine's. A device that failed is tried with `probe`, which has tokens if a
  // pool is among the devices.
  QueueManager(std::vector<DeviceQueue> queues, const DispatchOptions& options, DeviceClock& clock,
               EmbedQuery probe = {"hearth", {}});
  ~QueueManager();
  QueueManager(const QueueManager&) = delete;
  QueueManager& operator=(const QueueManager&) = delete;

  // Submits a query; `done` is called only if it was accepted. Any thread may submit.
  SubmitResult submit(EmbedQuery query, EmbedDone done);
  // Submits the texts of one request, all of them or none. Tickets count up from the first one's.
  // Gives kTooLong if even idle devices could not take them all.
  SubmitResult submit_all(std::vector<EmbedQuery> queries,
                          const std::function<void(size_t index, EmbedOutcome)>& done);
  // Waits until there is room, or until `stop` returns true; it is called some times a second with
  // a lock held. Returns whether the query was accepted. Throws the last failure (with its code) if
  // no device has been up for `patience` seconds, and kRequest if the query is too long for all.
  bool submit_waiting(
      EmbedQuery query, EmbedDone done, double patience = kPatience,
      const std::function<bool()>& stop = [] { return false; });
  // Takes back the queries of `count` tickets from `ticket` on, as far as they still wait, and
  // returns how many. `done` is not called for them. Queries that already run are still answered.
  uint64_t cancel(uint64_t ticket, uint64_t count = 1);

  // Returns the statistics in the order of the queues that were given.
  std::vector<DeviceStatistics> statistics() const;
  // Returns the number of queries refused as BUSY or too long.
  uint64_t refused() const;
  uint32_t width() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
