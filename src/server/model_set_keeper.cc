// The part of ModelSet that the keeper's thread runs: when models are loaded and unloaded.
#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <system_error>
#include <utility>

#include "base/bytes_text.h"
#include "base/clock.h"
#include "server/model_set.h"
#include "server/set_entry.h"

namespace hearth {
namespace {

// Seconds between checks of files and of waiting times, for which no event wakes the keeper.
constexpr double kLookSeconds = 1;
// A model loaded again within kTurnSeconds of being unloaded for others takes turns with them.
// After kManyTurns such loads a warning is logged.
constexpr double kTurnSeconds = 60;
constexpr uint32_t kManyTurns = 4;

// Runs a call on a thread of its own, as a load may bind its thread to some cores.
template <typename Call>
auto apart(const Call& call) {
  return std::async(std::launch::async, call).get();
}

// Returns the reason of a failed load as text.
std::string problem_of(const std::exception& error) {
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system == nullptr || system->code() != std::errc::resource_unavailable_try_again) {
    return error.what();
  }
  return "the system starts no more threads: end other programs, or raise its limit (ulimit -u, "
         "pids.max of a control group)";
}

}  // namespace

void ModelSet::log(const std::string& sentence) const {
  if (options_.log) options_.log(sentence);
}

void ModelSet::keep() {
  Lock lock(mutex_);
  while (!ending_) {
    poked_ = false;
    look_at_files(lock);
    erase_gone();
    refuse_late();
    flush(lock);
    if (ending_ || unload_one(lock) || load_one(lock)) continue;
    flush(lock);
    settled_.notify_all();
    if (ending_) break;
    changed_.wait_for(lock, std::chrono::duration<double>(next_look()),
                      [this] { return poked_ || ending_; });
  }
  flush(lock);
  settled_.notify_all();
}

// Returns the seconds that the keeper may sleep, unless it is poked.
double ModelSet::next_look() const {
  constexpr double kLongSeconds = 3600;
  double wait = kLongSeconds;
  const double now = steady_seconds();
  const bool room_wanted =
      std::ranges::any_of(entries_, [](const auto& entry) { return entry->opened != nullptr; });
  for (const auto& entry : entries_) {
    if (room_wanted && entry->loaded() && entry->stays_until() > now) {
      wait = std::min(wait, entry->stays_until() - now);
    }
    if (entry->status != ModelStatus::kSleeping || entry->wanted()) {
      wait = std::min(wait, kLookSeconds);
    }
    if (entry->loaded() && entry->leases == 0 && entry->expires()) {
      wait = std::min(wait, entry->used_seconds + entry->ttl_seconds - now);
    }
  }
  return std::max(wait, 0.0);
}

void ModelSet::look_at_files(Lock& lock) {
  if (steady_seconds() < looked_seconds_ + kLookSeconds) return;
  // Pointers to entries stay valid without the lock: only the keeper erases them.
  std::vector<std::pair<SetEntry*, std::shared_ptr<const OfferedModel>>> all;
  for (const auto& entry : entries_) {
    if (entry->loaded() || entry->status == ModelStatus::kFailed) {
      all.emplace_back(entry.get(), entry->model);
    }
  }
  lock.unlock();
  std::vector<std::string> stamps;
  for (const auto& [entry, model] : all) stamps.push_back(model->stamp());
  lock.lock();
  for (size_t i = 0; i < all.size(); ++i) {
    SetEntry& entry = *all[i].first;
    // An empty stamp is a deleted file. It is still mapped, so its loaded model stays.
    if (stamps[i] == entry.stamp || stamps[i].empty()) continue;
    if (entry.loaded()) entry.changed = true;
    if (entry.status == ModelStatus::kFailed) entry.failed_seconds = -kFailedSeconds;
  }
  looked_seconds_ = steady_seconds();
}

void ModelSet::erase_gone() {
  std::erase_if(entries_, [](const auto& entry) {
    return entry->gone && !entry->loaded() && entry->leases == 0;
  });
}

bool ModelSet::unload_one(Lock& lock) {
  const double now = steady_seconds();
  for (const auto& each : entries_) {
    SetEntry& entry = *each;
    if (!entry.loaded() || entry.leases > 0) continue;
    const bool over = entry.expires() && now >= entry.used_seconds + entry.ttl_seconds;
    const char* why = entry.unload    ? "it was asked for"
                      : entry.gone    ? "it is served no more"
                      : entry.changed ? "its file or its options have changed"
                      : over          ? "nobody used it"
                                      : nullptr;
    if (why == nullptr) continue;
    put_away(entry, why, lock);
    return true;
  }
  return false;
}

void ModelSet::put_away(SetEntry& entry, const char* why, Lock& lock) {
  std::unique_ptr<HeldModel> held = std::move(entry.held);
  entry.status = ModelStatus::kSleeping;
  entry.unload = entry.changed = entry.leaving = false;
  const std::string name = entry.model->name;
  lock.unlock();
  held.reset();
  log(fmt::format("{} was unloaded: {}", name, why));
  lock.lock();
}

SetEntry* ModelSet::next_to_load() {
  SetEntry* next = nullptr;
  for (const auto& entry : entries_) {
    if (entry->gone || entry->loaded() || !entry->wanted()) continue;
    if (next == nullptr || entry->wanted_since() < next->wanted_since()) next = entry.get();
  }
  return next;
}

// Loads a model, or takes a step towards loading it; returns whether anything was done.
bool ModelSet::load_one(Lock& lock) {
  SetEntry* next = next_to_load();
  for (const auto& entry : entries_) {
    // Nothing waits to be loaded: models that were asked to leave may stay.
    if (next == nullptr) entry->leaving = false;
    if (open_to_all(*entry)) grant(*entry);
    if (!entry->wanted() && entry->opened != nullptr) {
      entry->opened.reset();
      entry->status = ModelStatus::kSleeping;
    }
  }
  if (next == nullptr) return false;
  if (next->opened == nullptr) return open(*next, lock);
  const Room room = make_room(*next, lock);
  if (room != Room::kThere) return room == Room::kMade;
  const uint64_t limit = options_.memory_bytes;
  fill(*next, limit == 0 ? 0 : limit - used_bytes(false), lock);
  return true;
}

bool ModelSet::open(SetEntry& entry, Lock& lock) {
  entry.status = ModelStatus::kLoading;
  entry.changed = entry.unload = false;
  const std::shared_ptr<const OfferedModel> model = entry.model;
  std::unique_ptr<HeldModel> opened;
  std::string stamp, problem;
  uint64_t min_bytes = 0;
  lock.unlock();
  try {
    stamp = model->stamp();
    opened = apart(model->open);
    min_bytes = opened->min_bytes();
  } catch (const std::exception& error) {
    problem = problem_of(error);
    opened.reset();
  }
  lock.lock();
  entry.stamp = std::move(stamp);
  if (opened == nullptr) {
    fail_load(entry, problem);
  } else {
    entry.opened = std::move(opened);
    entry.min_bytes = min_bytes;
  }
  return true;
}

uint64_t ModelSet::used_bytes(bool pinned) const {
  uint64_t used = 0;
  for (const auto& entry : entries_) {
    if (entry->loaded() && (!pinned || entry->model->pinned)) used += entry->bytes;
  }
  return used;
}

// Returns the names of the models that hold memory, joined for a sentence.
std::string ModelSet::holders() const {
  std::string all;
  for (const auto& entry : entries_) {
    if (!entry->loaded()) continue;
    all += fmt::format("{}'{}' ({}{})", all.empty() ? "" : ", ", entry->model->name,
                       bytes_text(entry->bytes), entry->model->pinned ? ", pinned" : "");
  }
  return all;
}

ModelSet::Room ModelSet::make_room(SetEntry& entry, Lock& lock) {
  const uint64_t limit = options_.memory_bytes, need = entry.min_bytes;
  const uint64_t used = used_bytes(false);
  if (limit == 0 || used + need <= limit) return Room::kThere;
  const bool never = used_bytes(true) + need > limit;
  if (never || (entry.waiters.empty() && entry.asked == SetEntry::Asked::kWhereRoom)) {
    std::string sentence =
        fmt::format("'{}' needs at least {}", entry.model->name, bytes_text(need));
    std::string remedy = "start the server with more --memory";
    if (need > limit) {
      sentence += fmt::format(", but all models together may have only {}", bytes_text(limit));
    } else {
      sentence +=
          fmt::format(", and the {} for models are used by {}", bytes_text(limit), holders());
      remedy = "unload a model, or " + remedy;
    }
    refuse(entry, {503, "", "no_room", sentence + ": " + remedy});
    if (entry.asked != SetEntry::Asked::kNo) log(sentence);
    entry.asked = SetEntry::Asked::kNo;
    return Room::kMade;  // refused, so no longer wanted
  }
  SetEntry* idle = nullptr;
  for (const auto& other : entries_) {
    if (!other->loaded() || other->model->pinned || other->leases > 0) continue;
    if (!other->waiters.empty() && !other->leaving) continue;
    if (idle == nullptr || other->used_seconds < idle->used_seconds) idle = other.get();
  }
  if (idle == nullptr) {
    ask_to_leave(used + need - limit);
    return Room::kLater;
  }
  idle->made_room = steady_seconds();
  put_away(*idle, "others need its memory", lock);
  return Room::kMade;
}

// Closes models to new requests, the one loaded longest first, until those closed hold `missing`
// bytes together. Pinned ones stay open, and so do those that have not yet stayed their time.
void ModelSet::ask_to_leave(uint64_t missing) {
  std::vector<SetEntry*> all;
  for (const auto& entry : entries_) {
    if (entry->loaded() && !entry->model->pinned) all.push_back(entry.get());
  }
  std::ranges::sort(all, {}, &SetEntry::loaded_seconds);
  const double now = steady_seconds();
  for (SetEntry* entry : all) {
    if (missing == 0) return;
    if (now < entry->stays_until()) continue;
    entry->leaving = true;
    missing -= std::min(missing, entry->bytes);
  }
}

void ModelSet::fill(SetEntry& entry, uint64_t room, Lock& lock) {
  std::unique_ptr<HeldModel> model = std::move(entry.opened);
  const double start = steady_seconds();
  std::shared_ptr<const std::string> plan;
  std::string problem;
  const std::string name = entry.model->name;
  lock.unlock();
  try {
    apart([&] { model->load(room); });
    plan = std::make_shared<const std::string>(plan_body(model->served()));
  } catch (const std::exception& error) {
    problem = problem_of(error);
    model.reset();
  }
  lock.lock();
  if (model == nullptr) return fail_load(entry, problem);
  entry.bytes = model->bytes();
  entry.held = std::move(model);
  entry.plan = std::move(plan);
  entry.status = ModelStatus::kLoaded;
  entry.failure.clear();
  entry.asked = SetEntry::Asked::kNo;
  entry.leaving = false;
  entry.loaded_seconds = entry.used_seconds = steady_seconds();
  entry.load_took = entry.loaded_seconds - start;
  ++entry.loads;
  for (const auto& other : entries_) other->leaving = false;
  note_turns(entry);
  log(fmt::format("{} is loaded: {}, in {:.1f} s", name, bytes_text(entry.bytes), entry.load_took));
  // Grants the model to all requests that waited for it, even if other models were asked for during
  // the load.
  grant(entry);
}

void ModelSet::note_turns(SetEntry& entry) {
  const double now = steady_seconds();
  if (now > entry.made_room + kTurnSeconds) return;
  if (now > turns_since_ + kTurnSeconds) {
    turns_since_ = now;
    turns_ = 0;
  }
  ++turns_;
  if (turns_ < kManyTurns || now < turns_logged_ + kTurnSeconds) return;
  turns_logged_ = now;
  log(
      fmt::format("too little memory for the models in use: {} had to be loaded again within a "
                  "minute; use fewer at a time, or give more --memory",
                  turns_));
}

// Queues a lease on the model for all requests that wait for it.
void ModelSet::grant(SetEntry& entry) {
  for (SetEntry::Waiter& waiter : entry.waiters) {
    calls_.push_back({std::move(waiter.got), std::make_shared<const ModelLease>(*this, entry, true),
                      std::nullopt});
  }
  waiting_ -= static_cast<uint32_t>(entry.waiters.size());
  entry.waiters.clear();
}

void ModelSet::refuse(SetEntry& entry, const ApiError& error) {
  for (SetEntry::Waiter& waiter : entry.waiters) {
    calls_.push_back({std::move(waiter.got), nullptr, error});
  }
  waiting_ -= static_cast<uint32_t>(entry.waiters.size());
  entry.waiters.clear();
}

// Refuses requests that have waited too long for room.
void ModelSet::refuse_late() {
  const double late = steady_seconds() - kMaxRoomSeconds;
  for (const auto& entry : entries_) {
    const bool late_waiter = !entry->waiters.empty() && entry->waiters.front().since < late;
    const bool late_order = entry->asked == SetEntry::Asked::kYes && entry->asked_seconds < late;
    if (entry->opened == nullptr || !(late_waiter || late_order)) continue;
    const ApiError error{503,
                         "",
                         "no_room",
                         fmt::format("there was no room for '{}' in {} s; it is held by {}",
                                     entry->model->name, kMaxRoomSeconds, holders()),
                         {},
                         {{"Retry-After", "30"}}};
    while (!entry->waiters.empty() && entry->waiters.front().since < late) {
      calls_.push_back({std::move(entry->waiters.front().got), nullptr, error});
      entry->waiters.pop_front();
      --waiting_;
    }
    if (!late_order) continue;
    entry->asked = SetEntry::Asked::kNo;
    log(error.message);
  }
}

void ModelSet::fail_load(SetEntry& entry, const std::string& sentence) {
  entry.status = ModelStatus::kFailed;
  entry.asked = SetEntry::Asked::kNo;
  entry.failure = sentence;
  entry.failed_seconds = steady_seconds();
  log(fmt::format("{} could not be loaded: {}", entry.model->name, sentence));
  refuse(entry, {503,
                 "",
                 "model_failed",
                 fmt::format("'{}' could not be loaded: {}", entry.model->name, sentence),
                 {},
                 {{"Retry-After", fmt::format("{}", kFailedSeconds)}}});
}

// Calls got() for all queued results, without the lock: got() may ask for more.
void ModelSet::flush(Lock& lock) {
  std::vector<Call> calls;
  calls.swap(calls_);
  if (calls.empty()) return;
  lock.unlock();
  for (Call& call : calls) call.got(std::move(call.lease), std::move(call.error));
  calls.clear();
  lock.lock();
}

}  // namespace hearth
