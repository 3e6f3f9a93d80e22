// A Team is a fixed set of threads that run one job together. The thread that calls run() is member
// 0, the others are workers that the team started, so a team of two on two CPUs has no third thread
// in its way. Between jobs workers spin for about kSpinTime and then sleep: an idle team uses no
// CPU.
//
// run_on() lets some members work while the others rest. A resting member sleeps until a job
// includes it again, whatever jobs the others run, and costs these nothing. A change of members
// costs the first job after it some wake-ups: one for each member that comes back, and one for each
// member that goes to rest and had fallen asleep. If member 0 rests, its thread waits for the
// others.
//
// run() neither allocates nor throws, and the job must not throw either. Only one run at a time is
// allowed: run() from within a job, or from two threads at once, is a bug and checked.
//
// Members are pinned to the PUs of a Placement. A member that cannot be pinned (to a PU that this
// process may not use) runs unpinned, and warnings() says so. Workers are named "hearth-N". The
// constructors throw kResource if a thread cannot be started.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "threads/flag.h"
#include "topology/placement.h"

namespace hearth {

struct TeamOptions {
  // Pins the constructing thread to member 0's PU until the team is destroyed; it must then be the
  // thread that calls run().
  bool pin_caller = false;
};

class Team {
 public:
  // Makes one member per seat, pinned there.
  explicit Team(const Placement& placement, const TeamOptions& options = {});
  // Makes `size` members, unpinned.
  explicit Team(uint32_t size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  uint32_t size() const { return size_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // Calls job(member) for every member in [0, size), each on its own thread; returns when all are
  // done.
  template <typename Job>
  void run(Job&& job) noexcept {
    run_on(all_, job);
  }

  // Runs the job on only these members (ascending, at least one); the others rest.
  template <typename Job>
  void run_on(std::span<const uint32_t> members, Job&& job) noexcept {
    using Plain = std::remove_reference_t<Job>;
    static_assert(std::is_nothrow_invocable_v<Plain&, uint32_t>, "jobs are noexcept");
    run_erased(
        members,
        [](void* context, uint32_t member) noexcept { (*static_cast<Plain*>(context))(member); },
        const_cast<void*>(static_cast<const void*>(&job)));
  }

  // Returns how many workers sleep now because there is no job.
  uint32_t sleepers() const;

 private:
  using JobFn = void (*)(void* context, uint32_t member) noexcept;

  void start(const std::vector<Seat>* seats);
  void stop() noexcept;
  void work(uint32_t member, const Seat* seat) noexcept;
  void run_erased(std::span<const uint32_t> members, JobFn job, void* context) noexcept;
  void change(std::span<const uint32_t> members) noexcept;

  uint32_t size_;
  std::vector<uint32_t> all_;  // all members of the team
  std::vector<std::string> warnings_;
  std::vector<std::thread> workers_;  // [i] is member i + 1
  std::unique_ptr<Flag[]> done_;      // by member: the run it finished last
  std::vector<int> pin_errors_;       // by member: errno, 0 if it is pinned or need not be
  Flag start_;                        // the run to work on; only members that work read it
  std::unique_ptr<Flag[]> recalls_;   // by member: counts how often it was called back from rest
  uint32_t run_ = 1;                  // the run under way, or the last one
  JobFn job_ = nullptr;               // null: stop
  void* context_ = nullptr;
  std::vector<uint32_t> working_;             // the members that worked last
  std::vector<uint8_t> works_;                // by member: whether it worked last
  std::vector<uint32_t> leaving_, recalled_;  // members that go to rest, and come back, in this run
  std::atomic<bool> running_{false};
  std::vector<uint32_t> caller_affinity_;  // restored at the end; empty: not changed
  int caller_tid_ = 0;
};

}  // namespace hearth
