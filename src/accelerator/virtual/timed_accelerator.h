// An accelerator that computes nothing, and tells the time that a described one would take
// (accelerator_file.h: facts and rates). It simulates the submitted lists event by event. Queues,
// timelines and orders follow command_list.h; kernels take the time of call_time.h, and copies take
// that of the link's rates. Buffers have sizes but no bytes, and what the host writes is ignored.
// So a pass over a model of 700 GB takes a few MB.
//
// Kernels that run side by side share the accelerator. Copies of one direction share the link, and
// copies within the accelerator's memory count as kernels. All copies over the link share the
// host's memory with its other users. On an accelerator with one queue, copies also share the
// accelerator with kernels: on such a card they take turns, and a software driver runs both on the
// host's cores.
//
// The host has a clock of its own, which advances while the host writes, reads and waits. Commands
// begin no sooner than they were submitted. The same calls take the same time on any machine.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "accelerator/accelerator.h"
#include "accelerator/accelerator_file.h"
#include "accelerator/call_time.h"

namespace hearth {

struct TimedOptions {
  double host_bytes_per_second = 0;  // of the host's memory; 0: it limits nothing
  double host_taken = 0;             // the part of these bytes that others take
};

class TimedAccelerator : public Accelerator {
 public:
  explicit TimedAccelerator(MeasuredAccelerator described, const TimedOptions& options = {});

  // The seconds since the accelerator was made, by the host's clock.
  double now() const { return now_; }
  // The seconds so far in which some kernel ran, and those in which some copy used the link.
  double computing_seconds() const { return computing_seconds_; }
  double copying_seconds() const { return copying_seconds_; }
  uint64_t bytes_in() const { return bytes_in_; }
  uint64_t bytes_out() const { return bytes_out_; }

  const AcceleratorFacts& facts() const override { return facts_; }
  Buffer allocate(uint64_t bytes) override;
  Buffer import(std::span<std::byte> memory) override;
  void write(Place to, std::span<const std::byte> bytes) override;
  // Leaves `bytes` as they are.
  void read(Place from, std::span<std::byte> bytes) override;
  TimelineId make_timeline() override;
  // Advances the host's clock by a microsecond, so that a loop that waits by asking comes to an
  // end.
  uint64_t reached(TimelineId timeline) override;
  void signal(Moment moment) override;
  // `seconds` counts by the host's clock.
  void wait(Moment moment, double seconds) override;
  std::string why_not(const KernelCall& call) override;
  void submit(const CommandList& list) override;

 protected:
  void free(BufferId id) noexcept override;

 private:
  struct Memory {
    uint64_t size = 0;
    bool imported = false;
  };
  // The resource whose time a task takes.
  enum class Share { kCompute, kLinkIn, kLinkOut };
  struct Task {
    double submitted = 0;
    bool ordered = true, begun = false, ended = false;
    std::vector<Moment> waits = {}, signals = {};
    Share share = Share::kCompute;
    double left = 0;        // seconds that the rest takes if it runs alone
    double host_bytes = 0;  // bytes of the host's memory a second if it runs alone
    double speed = 0;       // a part of the speed that it has alone
  };

  void check_alive() const;
  uint64_t& timeline(TimelineId id);
  void check_place(const Place& place) const;
  bool is_imported(const Place& place) const;
  Task task_of(const Command& command) const;

  // Runs the simulation up to the time `until`. Ends sooner where nothing is left to do, or when
  // `moment`, if any, has come. Returns whether `moment` has come.
  bool run(double until, const Moment* moment);
  void begin_ready();
  bool may_begin(const Task& task) const;
  void set_speeds();
  // Lets the running tasks work for `seconds`.
  void pass(double seconds);
  void end_front(std::deque<Task>& queue);

  AcceleratorFacts facts_;
  AcceleratorRates rates_;
  CallTime times_;
  const TimedOptions options_;
  std::map<BufferId, Memory> memory_;
  BufferId next_buffer_ = 0;
  std::vector<uint64_t> timelines_;
  std::vector<std::deque<Task>> queues_;
  std::vector<Task*> active_;  // that have begun and not ended
  double now_ = 0;             // the host's clock
  double clock_ = 0;           // the queues' clock; at most now_, until a call advances it
  double computing_seconds_ = 0, copying_seconds_ = 0;
  uint64_t bytes_in_ = 0, bytes_out_ = 0;
  bool lost_ = false;
};

}  // namespace hearth
