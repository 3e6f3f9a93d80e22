// ClientShares: who holds how much of something that all clients share, be it bytes of bodies,
// places for texts, or memory, and who may have more. It knows neither threads nor time.
//
// Of the units, `at_once` are in use at the same time, and the others are room to wait in; 0: all
// are room. A client may have as much of this room as it leaves free, and one unit more: half of it
// where nobody else asks, a third beside another one that asks for all it can have, and 1 / (k + 1)
// of it as one of k. So a part of it is always free for who comes next, and no client needs to be
// told to make room. (It is the dynamic threshold of switches, Choudhury and Hahne, IEEE/ACM ToN
// 6(2), 1998, with a factor of 1.)
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace hearth {

class ClientShares {
 public:
  explicit ClientShares(uint64_t all, uint64_t at_once = 0) : all_(all), at_once_(at_once) {}

  // Changes how many there are; those that are held stay so.
  void set_all(uint64_t all) { all_ = all; }
  uint64_t held() const { return held_; }
  uint64_t held_by(const std::string& client) const {
    auto found = clients_.find(client);
    return found == clients_.end() ? 0 : found->second;
  }
  // The most that one client may ever have.
  uint64_t most() const { return at_once_ + (all_ - at_once_ + 1) / 2; }

  // Whether there are so many, whoever asks.
  bool has_room(uint64_t units) const { return held_ <= all_ && units <= all_ - held_; }
  // Whether the client may have so many more.
  bool may_take(const std::string& client, uint64_t units) const {
    if (units == 0) return true;
    if (!has_room(units)) return false;
    uint64_t own = held_by(client);
    uint64_t others = held_ - own;
    // The units in use at the same time go first to the other clients.
    uint64_t in_use = at_once_ - std::min(others, at_once_);
    uint64_t waits = own + units - std::min(own + units, in_use);
    return waits <= all_ - held_ - units + 1;
  }

  // The following may be called whatever may_take() says, as long as there is room. A take that
  // throws std::bad_alloc has taken nothing.
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
  std::unordered_map<std::string, uint64_t> clients_;  // who hold any
};

}  // namespace hearth
