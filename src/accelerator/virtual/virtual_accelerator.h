// An accelerator made of the reference kernels, for tests of code that uses accelerators. It runs
// submitted commands one at a time, in a random order among those that the lists allow. Commands
// run as late as the host's waits allow, or earlier. Memory that was freed, or that nothing wrote
// yet, is full of NaN. It throws where a call uses something that does not exist, or where the host
// reads or writes bytes that an unfinished command works on.
//
// The same seed and the same calls give the same order.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

struct VirtualOptions {
  uint64_t seed = 0;
  uint32_t queues = 1;           // 1 or 2
  bool second_computes = false;  // whether the second queue runs kernels, too
  uint64_t memory_bytes = uint64_t{1} << 30;
  uint64_t allocation_bytes = UINT64_MAX;  // the longest buffer; memory_bytes may be less
  bool imports = true;                     // whether memory of the process can be imported
  // The facts to report. They take the place of all members above but the seed.
  std::optional<AcceleratorFacts> facts = {};
};

class VirtualAccelerator : public Accelerator {
 public:
  explicit VirtualAccelerator(const VirtualOptions& options);
  ~VirtualAccelerator() override;

  const AcceleratorFacts& facts() const override { return facts_; }
  Buffer allocate(uint64_t bytes) override;
  Buffer import(std::span<std::byte> memory) override;
  void write(Place to, std::span<const std::byte> bytes) override;
  void read(Place from, std::span<std::byte> bytes) override;
  TimelineId make_timeline() override;
  uint64_t reached(TimelineId timeline) override;
  void signal(Moment moment) override;
  // Throws at once where the moment has not come and no command can run any more.
  void wait(Moment moment, double seconds) override;
  std::string why_not(const KernelCall& call) override;
  void submit(const CommandList& list) override;

 protected:
  void free(BufferId id) noexcept override;

 private:
  struct Memory {
    std::byte* bytes = nullptr;
    uint64_t size = 0;
    bool imported = false;
  };
  struct Task {
    Command command;
    std::vector<Access> accesses;
    bool ended = false;
  };
  struct Ready {
    size_t queue, task;
  };

  void check_alive() const;
  void check_command_here(const Command& command) const;
  void check_access(const Access& access) const;
  void check_timeline(TimelineId timeline) const;
  // Throws where an unfinished command works on these bytes.
  void check_idle(const Access& host) const;
  std::byte* at(const Place& place) const;

  std::vector<Ready> ready() const;
  // Runs one of the commands that may come next; returns false where there is none.
  bool step();
  void steps_by_chance();
  void run(const Command& command);
  void end_front(std::deque<Task>& queue);
  void reach(const Moment& moment);

  AcceleratorFacts facts_;
  std::mt19937_64 random_;
  std::map<BufferId, Memory> memory_;
  BufferId next_buffer_ = 0;
  std::vector<uint64_t> timelines_;
  std::vector<std::deque<Task>> queues_;  // unfinished commands, and later ones
  bool lost_ = false;
};

}  // namespace hearth
