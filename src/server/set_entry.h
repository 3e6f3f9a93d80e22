// SetEntry: the state of one model of a ModelSet, guarded by the set's mutex.
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
  // Whether to load the model although no request waits for it.
  enum class Asked : uint8_t { kNo, kWhereRoom, kYes };

  std::shared_ptr<const OfferedModel> model;
  ModelStatus status = ModelStatus::kSleeping;
  std::unique_ptr<HeldModel> opened;  // opened, and waits for room
  uint64_t min_bytes = 0;             // HeldModel::min_bytes()
  std::unique_ptr<HeldModel> held;
  std::shared_ptr<const std::string> plan;  // the model's part of GET /v1/plan
  uint64_t bytes = 0;
  std::string stamp;  // OfferedModel::stamp() when the files were opened

  std::deque<Waiter> waiters;
  Asked asked = Asked::kNo;
  uint64_t asked_ticket = 0;
  double asked_seconds = 0;

  uint64_t leases = 0, loads = 0;
  double used_seconds = 0, loaded_seconds = 0;
  double load_took = 0;     // seconds
  double ttl_seconds = 0;   // idle time until unload, by the last request
  double made_room = -1e9;  // when it was unloaded for another model
  std::string failure;
  double failed_seconds = -1e9;

  bool unload = false;   // a client asked to unload it
  bool changed = false;  // its file or its options changed
  bool gone = false;     // no longer on offer
  bool leaving = false;  // takes no new requests: others need its room

  bool loaded() const { return status == ModelStatus::kLoaded; }
  bool expires() const {
    return !model->pinned && ttl_seconds < std::numeric_limits<double>::infinity();
  }
  // Sets the idle time until unload to the one that a request asks for, but at most the model's
  // own. If that is below 0 or nothing, sets the model's own.
  void note_time(const std::optional<double>& wished) {
    const double own = model->ttl_seconds;
    ttl_seconds = !wished || *wished < 0 ? own : std::min(*wished, own);
  }
  double stays_until() const { return loaded_seconds + ModelSet::kStayFactor * load_took; }
  bool failed_lately(double now) const {
    return status == ModelStatus::kFailed && now < failed_seconds + ModelSet::kFailedSeconds;
  }
  // Whether the model is to be loaded; wanted_since() is the ticket of the first request or order
  // for it.
  bool wanted() const { return !waiters.empty() || asked != Asked::kNo; }
  uint64_t wanted_since() const {
    const uint64_t first = waiters.empty() ? UINT64_MAX : waiters.front().ticket;
    return asked == Asked::kNo ? first : std::min(first, asked_ticket);
  }
};

}  // namespace hearth
