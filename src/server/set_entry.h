// SetEntry: a model of a ModelSet with all that the set knows of it, under the set's mutex.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include "server/model_set.h"

namespace hearth {

struct SetEntry {
  struct Waiter {
    uint64_t ticket;
    double since;
    ModelSet::Got got;
  };
  // Whether it is to be loaded though nobody waits for it.
  enum class Asked : uint8_t { kNo, kWhereRoom, kYes };

  std::shared_ptr<const OfferedModel> model;
  ModelStatus status = ModelStatus::kSleeping;
  std::unique_ptr<HeldModel> opened;  // waits for room
  uint64_t least_bytes = 0;           // that it takes
  std::unique_ptr<HeldModel> held;
  std::shared_ptr<const std::string> plan;  // GET /v1/plan
  uint64_t bytes = 0;
  std::string stamp;  // of the files that were opened

  std::deque<Waiter> waiters;
  Asked asked = Asked::kNo;
  uint64_t asked_ticket = 0;
  double asked_seconds = 0;

  uint64_t leases = 0, loads = 0;
  double used_seconds = 0, loaded_seconds = 0;
  double load_took = 0;     // seconds
  double ttl_seconds = 0;   // as of the last request
  double made_room = -1e9;  // when it did
  std::string failure;
  double failed_seconds = -1e9;

  bool unload = false;   // as somebody asked
  bool changed = false;  // its file or its options did
  bool gone = false;     // it is offered no more
  bool leaving = false;  // others wait for its room

  bool loaded() const { return status == ModelStatus::kLoaded; }
  bool expires() const {
    return !model->pinned && ttl_seconds < std::numeric_limits<double>::infinity();
  }
  // How long it shall stay unused, as a request says, or does not.
  void note_time(const std::optional<double>& wished) {
    const double own = model->ttl_seconds;
    ttl_seconds = !wished || *wished < 0 ? own : std::min(*wished, own);
  }
  double stays_until() const { return loaded_seconds + ModelSet::kStayFactor * load_took; }
  bool failed_lately(double now) const {
    return status == ModelStatus::kFailed && now < failed_seconds + ModelSet::kFailedSeconds;
  }
  // Whether it is to be loaded, and since which ticket.
  bool wanted() const { return !waiters.empty() || asked != Asked::kNo; }
  uint64_t wanted_since() const {
    const uint64_t first = waiters.empty() ? UINT64_MAX : waiters.front().ticket;
    return asked == Asked::kNo ? first : std::min(first, asked_ticket);
  }
};

}  // namespace hearth
