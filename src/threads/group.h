// Group: neighbouring members of a team that work together on what lies on their home node, with a
// barrier of their own, so that groups go on without each other.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "threads/barrier.h"
#include "topology/placement.h"

namespace hearth {

class Group {
 public:
  // Members [member_begin, member_end) of the team; not empty.
  Group(uint32_t member_begin, uint32_t member_end, uint32_t node)
      : member_begin_(member_begin),
        node_(node),
        barrier_(std::make_unique<Barrier>(member_end - member_begin)) {}

  uint32_t member_begin() const { return member_begin_; }
  uint32_t member_end() const { return member_begin_ + size(); }
  uint32_t size() const { return barrier_->size(); }
  uint32_t node() const { return node_; }  // index into Machine::nodes
  bool has(uint32_t member) const { return member >= member_begin_ && member < member_end(); }

  // Called by every member of the group, by its number in the team.
  void sync(uint32_t member) noexcept { barrier_->arrive_and_wait(member - member_begin_); }

 private:
  uint32_t member_begin_;
  uint32_t node_;
  std::unique_ptr<Barrier> barrier_;
};

// One group per node that has seats, in the order of members.
std::vector<Group> groups_by_node(const Placement& placement);

}  // namespace hearth
