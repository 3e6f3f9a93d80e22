// ClientTurns counts the running sequences of each client; the scheduler gives out places by these
// numbers. A place goes to the client with the fewest sequences. If a place must be given up, the
// client with the most sequences gives up one of its own. So a client has its place however many
// others ask for one (max-min fairness).
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace hearth {

class ClientTurns {
 public:
  // Counts one more running sequence of the client. The name outlives this object.
  void add(std::string_view client) { ++running_[client]; }

  uint32_t running(std::string_view client) const {
    auto found = running_.find(client);
    return found == running_.end() ? 0 : found->second;
  }
  // Returns whether client `from` should give a place up for `to`, so that their numbers of running
  // sequences come closer to each other.
  bool makes_way(std::string_view from, std::string_view to) const {
    return running(from) >= running(to) + 2;
  }

 private:
  std::unordered_map<std::string_view, uint32_t> running_;
};

}  // namespace hearth
