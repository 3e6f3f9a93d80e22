// A Profile tells where the time of a graph's runs goes. An executor that is given one
// (Executor::set_profile) notes three times for every member of the team and every node. They are
// how long the member waited to meet other groups (before the op, and after one with meets_after),
// how long it worked in the op, and how long it waited in its group's barrier after it. The profile
// also notes how much work the op had in all groups (graph/op_work.h). All of it is summed over
// runs.
//
// A member's laps follow each other without gaps: each begins where the last one ended. So a
// member's times add up to its time in the run; the rest of the wall time is the start and the end
// of the team's job. A lap costs a look at the clock (80 ns on a virtual machine of two cores; at
// most four a node). Without a profile it costs a branch. Each member writes cache lines of its
// own, nothing is allocated while a graph runs, and nothing throws. All functions but laps() are
// for the thread that calls the executor, between runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/context.h"
#include "threads/flag.h"

namespace hearth {

// Three times: of one thread, or their means over threads, or the largest of each.
struct ProfileTimes {
  double meet = 0, work = 0, barrier = 0;  // seconds
  double total() const { return meet + work + barrier; }
};

// The sums over all nodes of one name.
struct ProfileRow {
  std::string name;
  uint64_t calls = 0;  // a node that all groups run counts once
  ProfileTimes mean;   // over all threads of all groups
  ProfileTimes most;   // the largest of any thread, for each of the three
  OpWork work;         // of all groups
};

struct ProfileSummary {
  uint64_t runs = 0;
  uint64_t tokens = 0;                   // in those runs
  uint32_t threads = 0;                  // of all groups
  double seconds = 0;                    // wall time of the runs
  std::vector<ProfileRow> rows;          // in the order in which the graph first names them
  std::vector<ProfileTimes> by_threads;  // of each member, over all nodes; 0 if it rests
};

// The times of a member at a node, in nanoseconds, and how often it worked there.
struct ProfileRecord {
  int64_t meet = 0, work = 0, barrier = 0;
  uint64_t calls = 0;
};

// Takes the times of one member's walk through the nodes. Without records it does nothing.
class ProfileLaps {
 public:
  using Clock = std::chrono::steady_clock;

  ProfileLaps() = default;
  // `records[n]` takes the times of node n.
  explicit ProfileLaps(ProfileRecord* records) noexcept : records_(records), last_(Clock::now()) {}

  void met(uint32_t node) noexcept {
    if (records_) records_[node].meet += lap();
  }
  void worked(uint32_t node) noexcept {
    if (!records_) return;
    records_[node].work += lap();
    ++records_[node].calls;
  }
  void waited(uint32_t node) noexcept {
    if (records_) records_[node].barrier += lap();
  }

 private:
  // Returns the nanoseconds since the last lap, or since the beginning.
  int64_t lap() noexcept {
    Clock::time_point now = Clock::now();
    Clock::duration passed = now - last_;
    last_ = now;
    return std::chrono::nanoseconds(passed).count();
  }

  ProfileRecord* records_ = nullptr;
  Clock::time_point last_;
};

class Profile {
 public:
  // The graph must outlive the profile.
  explicit Profile(const Graph& graph);
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // The executor calls begin_run() before the team's job, laps() in it, and end_run() after it. The
  // job runs nodes from `begin` on.
  void begin_run(const ExecutionContext& context, uint32_t begin);
  ProfileLaps laps(uint32_t member) noexcept {
    return ProfileLaps(records_.data() + first_record(member));
  }
  void end_run(const ExecutionContext& context);

  // Returns the times of one member at one node so far.
  const ProfileRecord& record(uint32_t member, uint32_t node) const {
    return records_[first_record(member) + node];
  }

  ProfileSummary summary() const;

 private:
  // The number of unused records before, between and after the members' records, so that no line
  // holds records of two members.
  static constexpr uint32_t kGap = kLineSpacing / sizeof(ProfileRecord);
  struct NodeWork {
    uint64_t calls = 0;  // runs that `work` sums up
    OpWork work;
  };

  size_t first_record(uint32_t member) const {
    return kGap + member * (graph_.nodes.size() + kGap);
  }

  const Graph& graph_;
  std::vector<ProfileRecord> records_;
  std::vector<NodeWork> work_;  // of each node
  uint64_t runs_ = 0, tokens_ = 0;
  ProfileLaps::Clock::time_point start_;
  ProfileLaps::Clock::duration wall_{};
};

}  // namespace hearth
