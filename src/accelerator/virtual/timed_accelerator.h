// An accelerator that computes nothing and tells what time it would take: one that is described
// (accelerator_file.h), its facts and its rates. The lists that are submitted go by an event
// simulation: queues, timelines and orders as command_list.h says, kernels by call_time.h, copies
// by the link's rates. Memory is counted and not held, and what the host writes is not looked at,
// so that a pass over a model of 700 GB takes a few MB.
//
// Who shares what: kernels that run side by side share the accelerator, copies of one direction the
// link, copies within its memory count as kernels. All copies over the link share the host's memory
// with what others take of it. Where there is one queue, copies and kernels share the accelerator
// all the same: they take turns there, and a driver that is software is the host's cores.
//
// The host has a clock of its own: it goes on while the host writes, reads and waits, and commands
// begin no sooner than they were submitted. The same calls take the same time, whatever the
// machine.
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
  double host_bytes_per_second = 0;  // of the host's memory; 0: never short
  double host_taken = 0;             // of these, by others
};

class TimedAccelerator : public Accelerator {
 public:
  explicit TimedAccelerator(MeasuredAccelerator described, const TimedOptions& options = {});

  // Seconds since it was made, by the host's clock.
  double now() const { return now_; }
  // Seconds of these with a kernel under way, and with a copy over the link.
  double computing_seconds() const { return computing_seconds_; }
  double copying_seconds() const { return copying_seconds_; }
  uint64_t bytes_in() const { return bytes_in_; }
  uint64_t bytes_out() const { return bytes_out_; }

  const AcceleratorFacts& facts() const override { return facts_; }
  Buffer allocate(uint64_t bytes) override;
  Buffer import(std::span<std::byte> memory) override;
  void write(Place to, std::span<const std::byte> bytes) override;
  // Leaves them as they are.
  void read(Place from, std::span<std::byte> bytes) override;
  TimelineId make_timeline() override;
  // A microsecond passes, so that who asks again and again comes to an end.
  uint64_t reached(TimelineId timeline) override;
  void signal(Moment moment) override;
  // `seconds` are by its clock.
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
    double left = 0;        // seconds that it takes alone
    double host_bytes = 0;  // a second, of the host's memory, that it takes alone
    double speed = 0;       // of what it has alone
  };

  void check_alive() const;
  uint64_t& timeline(TimelineId id);
  void check_place(const Place& place) const;
  bool is_imported(const Place& place) const;
  Task task_of(const Command& command) const;

  // Ends at `until`, or sooner where nothing is left to do or `moment` has come, if there is one;
  // returns whether that has.
  bool run(double until, const Moment* moment);
  void begin_ready();
  bool may_begin(const Task& task) const;
  void set_speeds();
  // Lets so many seconds pass.
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
  std::vector<Task*> active_;  // under way
  double now_ = 0;             // of the host
  double clock_ = 0;           // of the queues; behind the host's where nobody asked yet
  double computing_seconds_ = 0, copying_seconds_ = 0;
  uint64_t bytes_in_ = 0, bytes_out_ = 0;
  bool lost_ = false;
};

}  // namespace hearth
