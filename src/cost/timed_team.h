// TimedTeam: runs work on all or some members of a team at once, and measures the time. It serves
// to find what a machine can do. The thread that is member 0 of the team uses it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "plan/plan.h"
#include "threads/barrier.h"
#include "threads/team.h"

namespace hearth {

class TimedTeam {
 public:
  explicit TimedTeam(Team& team) : TimedTeam(team, member_range(0, team.size())) {}
  // Uses only these members of the team, in ascending order, numbered from 0 on here. The other
  // members rest.
  TimedTeam(Team& team, const std::vector<uint32_t>& members)
      : team_(team),
        members_(members),
        numbers_(team.size()),
        start_(static_cast<uint32_t>(members.size())),
        turns_(std::make_unique<Turn[]>(members.size())) {
    for (uint32_t i = 0; i < size(); ++i) numbers_[members[i]] = i;
  }

  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }

  // Calls work(member, round) on every member at once. `round` rises from call to call, as counters
  // of chunks need. Returns the seconds from the first member's start to the last one's end. No
  // single member's time would do: a member that lost its core for a time may start when the others
  // have ended.
  template <typename Work>
  double together(const Work& work) {
    uint32_t round = ++round_;
    team_.run_on(members_, [&](uint32_t of_team) noexcept {
      const uint32_t member = numbers_[of_team];
      Turn& turn = turns_[member];
      // All members wait here, so that waking up is not timed.
      start_.arrive_and_wait(member);
      turn.begin = Clock::now();
      work(member, round);
      turn.end = Clock::now();
    });
    Clock::time_point begin = turns_[0].begin, end = turns_[0].end;
    for (uint32_t m = 1; m < size(); ++m) {
      begin = std::min(begin, turns_[m].begin);
      end = std::max(end, turns_[m].end);
    }
    return std::chrono::duration<double>(end - begin).count();
  }

  // Returns a number of this member. The member adds the values that it reads to it, so that
  // compilers do not remove the reads.
  uint64_t& sink(uint32_t member) { return turns_[member].sink; }

 private:
  using Clock = std::chrono::steady_clock;

  // The times of different members lie in different cache lines.
  struct alignas(kLineSpacing) Turn {
    Clock::time_point begin, end;
    uint64_t sink = 0;
  };

  Team& team_;
  std::vector<uint32_t> members_, numbers_;
  Barrier start_;
  uint32_t round_ = 0;
  std::unique_ptr<Turn[]> turns_;
};

}  // namespace hearth
