#include "threads/group.h"

namespace hearth {

std::vector<Group> groups_by_node(const Placement& placement) {
  std::vector<Group> groups;
  for (const Placement::NodeSeats& part : placement.by_node()) {
    groups.emplace_back(part.first, part.first + part.count, part.node);
  }
  return groups;
}

}  // namespace hearth
