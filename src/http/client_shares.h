// ClientShares counts how many units of a shared resource (bytes of bodies, places for texts,
// memory) each client holds, and says who may take more. It knows neither threads nor time.
//
// Of all units, `at_once` are in use at the same time, and the others are room to wait in; with
// at_once 0 all units are such room. A client may hold as many units of this room as are then still
// free, and one more: half of the room where no other client asks, a third beside one other client
// that takes all it may, 1 / (k + 1) as one of k clients. So a part of the room is always free for
// the next client, and none has to be told to give units back. (This is the dynamic threshold of
// switches, Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998, with a factor of 1.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace hearth {

class ClientShares {
 public:
  explicit ClientShares(uint64_t all, uint64_t at_once = 0) : all_(all), at_once_(at_once) {}

  // Changes the number of units; those that are held stay held, even if they are more.
  void set_all(uint64_t all) { all_ = all; }
  uint64_t held() const { return held_; }
  uint64_t held_by(const std::string& client) const {
    auto found = clients_.find(client);
    return found == clients_.end() ? 0 : found->second;
  }
  // Returns the most units that one client may ever hold.
  uint64_t most() const { return at_once_ + (all_ - at_once_ + 1) / 2; }

  // Whether so many units are free, for any client.
  bool has_room(uint64_t units) const { return held_ <= all_ && units <= all_ - held_; }
  // Whether the client may take so many more units.
  bool may_take(const std::string& client, uint64_t units) const {
    if (units == 0) return true;
    if (!has_room(units)) return false;
    uint64_t own = held_by(client);
    uint64_t others = held_ - own;
    // The other clients' units count first as those in use at the same time.
    uint64_t in_use = at_once_ - std::min(others, at_once_);
    uint64_t waits = own + units - std::min(own + units, in_use);
    return waits <= all_ - held_ - units + 1;
  }

  // take() does not check may_take(): any client may take units that are free. If it throws
  // std::bad_alloc, nothing was taken.
  void take(const std::string& client, uint64_t units) {
    if (units == 0) return;
    clients_[client] += units;
    held_ += units;
  }
  void give_back(const std::string& client, uint64_t units) {
    if (units == 0) return;
    auto found = clients_.find(client);
    found->second -= units;
    held_ -= units;
    if (found->second == 0) clients_.erase(found);
  }

 private:
  uint64_t all_, at_once_;
  uint64_t held_ = 0;
  std::unordered_map<std::string, uint64_t> clients_;  // units of each client that holds any
};

}  // namespace hearth
