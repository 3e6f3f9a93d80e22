// A Group is neighbouring members of a team that work together. It has a barrier of its own, so
// groups go on without each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "threads/barrier.h"

namespace hearth {

class Group {
 public:
  // The group is members [member_begin, member_begin + seats.size()) of the team; seats are as for
  // Barrier.
  Group(uint32_t member_begin, const std::vector<std::byte*>& seats)
      : member_begin_(member_begin), barrier_(std::make_unique<Barrier>(seats)) {}

  uint32_t member_begin() const { return member_begin_; }
  uint32_t member_end() const { return member_begin_ + size(); }
  uint32_t size() const { return barrier_->size(); }
  bool has(uint32_t member) const { return member >= member_begin_ && member < member_end(); }

  // Called by every member of the group, by its number in the team.
  void sync(uint32_t member) noexcept { barrier_->arrive_and_wait(member - member_begin_); }

 private:
  uint32_t member_begin_;
  std::unique_ptr<Barrier> barrier_;
};

}  // namespace hearth
