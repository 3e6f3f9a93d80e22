// Queues for one measurement over devices that the caller owns, and the measured times.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bench/embed_bench.h"
#include "embed/queue_manager.h"

namespace hearth {

class BenchQueues {
 public:
  // `depths` count texts of the case's length. An admission by depth has no deadline.
  BenchQueues(const std::vector<EmbedDevice*>& devices, const EmbedCase& one,
              const std::vector<uint64_t>& depths, Admission admission, DeviceClock& clock);

  // Offers all texts at one moment and waits for all answers. Every text must be accepted. Raises
  // `longest` to the seconds that the last text of each device took. Throws where a device failed.
  void run_together(std::vector<EmbedQuery> texts, std::vector<double>* longest);

  // Submits a text that was due at `due`; returns whether it was accepted.
  bool submit(EmbedQuery query, double due);
  // Waits for all answers and returns the seconds of each, counted from when it was due. A text
  // that was refused after a device failed has no entry.
  std::vector<double> wait();

  std::vector<DeviceStatistics> statistics() const { return manager_->statistics(); }

 private:
  std::vector<EmbedDevice*> devices_;
  DeviceClock& clock_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t under_way_ = 0;
  std::vector<double> latencies_;
  std::optional<Error> failure_;
  // Declared last, so destroyed first: its destructor still answers waiting queries.
  std::unique_ptr<QueueManager> manager_;
};

}  // namespace hearth
