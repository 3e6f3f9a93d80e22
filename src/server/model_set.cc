#include "server/model_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/ascii.h"
#include "base/clock.h"
#include "server/exception_error.h"
#include "server/request_error.h"
#include "server/set_entry.h"

namespace hearth {
namespace {

bool same_name(std::string_view one, std::string_view other) {
  return ascii_lower(one) == ascii_lower(other);
}

// Returns the name of a kind, for sentences.
std::string_view kind_words(ModelKind kind) {
  switch (kind) {
    case ModelKind::kText:
      return "a model for text";
    case ModelKind::kEmbedder:
      return "a model for embeddings";
    case ModelKind::kReranker:
      return "a reranker";
  }
  return "";
}

ApiError failed_before(const SetEntry& entry, double now) {
  const double left = entry.failed_seconds + ModelSet::kFailedSeconds - now;
  const auto seconds = std::max(1, static_cast<int>(std::ceil(left)));
  return {503,
          "",
          "model_failed",
          fmt::format("'{}' could not be loaded: {}; it is tried again in {} s", entry.model->name,
                      entry.failure, seconds),
          {},
          {{"Retry-After", std::to_string(seconds)}}};
}

}  // namespace

std::string_view model_status_name(ModelStatus status) {
  constexpr std::string_view kNames[] = {"sleeping", "loading", "loaded", "failed"};
  return kNames[static_cast<size_t>(status)];
}

ModelLease::ModelLease(ModelSet& set, SetEntry& entry, bool uses)
    : set_(set), entry_(entry), uses_(uses), models_(entry.held->served()), plan_(entry.plan) {
  ++entry_.leases;
}

ModelLease::~ModelLease() { set_.give_back(entry_, uses_); }

ModelSet::ModelSet(ModelSetOptions options) : options_(std::move(options)) {}

ModelSet::~ModelSet() { end(); }

// Wakes the keeper. The caller holds the mutex.
void ModelSet::poke() noexcept {
  poked_ = true;
  changed_.notify_all();
}

void ModelSet::offer(std::vector<OfferedModel> models) {
  Lock lock(mutex_);
  for (const auto& entry : entries_) entry->gone = true;
  for (OfferedModel& model : models) {
    const auto same = [&](const auto& entry) { return entry->model->name == model.name; };
    auto found = std::ranges::find_if(entries_, same);
    if (found == entries_.end()) {
      entries_.push_back(std::make_unique<SetEntry>());
      found = std::prev(entries_.end());
    } else if ((*found)->model->made_of != model.made_of) {
      (*found)->changed = true;
      (*found)->failed_seconds = -kFailedSeconds;
    }
    (*found)->gone = false;
    (*found)->ttl_seconds = model.ttl_seconds;
    (*found)->model = std::make_shared<const OfferedModel>(std::move(model));
  }
  for (const auto& entry : entries_) {
    if (!entry->gone) continue;
    refuse(*entry,
           {404, "", "model_not_found",
            fmt::format("'{}' is no longer served: see /v1/models", entry->model->name), "model"});
  }
  flush(lock);
  poke();
}

void ModelSet::start() {
  Lock lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->model->named || entry->model->pinned) entry->asked = SetEntry::Asked::kWhereRoom;
    entry->asked_ticket = ++last_ticket_;
  }
  keeper_ = std::thread([this] { keep(); });
  settled_.wait(lock, [&] {
    return std::ranges::none_of(
        entries_, [](const auto& entry) { return entry->asked == SetEntry::Asked::kWhereRoom; });
  });
}

void ModelSet::end() noexcept {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    poke();
  }
  if (keeper_.joinable()) keeper_.join();
  for (const auto& entry : entries_) {
    entry->waiters.clear();
    entry->opened.reset();
    entry->held.reset();
    entry->status = ModelStatus::kSleeping;
  }
}

SetEntry* ModelSet::find_entry(std::string_view name) {
  using Matches = bool (*)(std::string_view asked, const std::string& own);
  const Matches exactly = [](std::string_view asked, const std::string& own) {
    return same_name(asked, own);
  };
  const Matches by_tag = [](std::string_view asked, const std::string& own) {
    return ollama_names(asked, own);
  };
  for (const Matches matches : {exactly, by_tag}) {
    for (const auto& entry : entries_) {
      if (!entry->gone && matches(name, entry->model->name)) return entry.get();
    }
    for (const auto& entry : entries_) {
      auto is_it = [&](const std::string& alias) { return matches(name, alias); };
      if (!entry->gone && std::ranges::any_of(entry->model->aliases, is_it)) return entry.get();
    }
  }
  return nullptr;
}

std::string ModelSet::known_names() const {
  std::string all;
  for (const auto& entry : entries_) {
    if (!entry->gone) all += (all.empty() ? "" : "' and '") + entry->model->name;
  }
  return all;
}

SetEntry* ModelSet::choose(const ModelWish& wish, std::optional<ApiError>* error) {
  if (!wish.name.empty()) {
    SetEntry* entry = find_entry(wish.name);
    if (entry == nullptr) {
      *error = no_such_model(wish.name, known_names());
    } else if (wish.kind && entry->model->kind != *wish.kind) {
      *error = ApiError{400, "", "wrong_model",
                        fmt::format("'{}' is {}, and this request needs {}", entry->model->name,
                                    kind_words(entry->model->kind), kind_words(*wish.kind)),
                        "model"};
      return nullptr;
    }
    return entry;
  }
  std::vector<SetEntry*> all;
  for (const auto& entry : entries_) {
    if (!entry->gone && (!wish.kind || entry->model->kind == *wish.kind)) {
      if (entry->model->named) return entry.get();
      all.push_back(entry.get());
    }
  }
  if (all.size() == 1) return all.front();
  if (all.empty()) {
    *error = ApiError{404, "", "model_not_found",
                      fmt::format("this server has no model for that; it has '{}'", known_names())};
  } else {
    *error = ApiError{400, "", std::string(kMissingField),
                      fmt::format("model is missing: name one of '{}'", known_names()), "model"};
  }
  return nullptr;
}

bool ModelSet::open_to_all(const SetEntry& entry) const {
  return entry.status == ModelStatus::kLoaded && !entry.changed && !entry.unload &&
         !entry.leaving && !ending_;
}

std::optional<ApiError> ModelSet::why_not_wait(const SetEntry& entry, double now) const {
  if (entry.failed_lately(now)) return failed_before(entry, now);
  if (waiting_ < options_.max_waiting) return {};
  return ApiError{
      429,          "",
      "queue_full", fmt::format("{} requests wait for models already: try again in 5 s", waiting_),
      {},           {{"Retry-After", "5"}}};
}

uint64_t ModelSet::want(const ModelWish& wish, Got got) {
  std::shared_ptr<const ModelLease> lease;
  std::optional<ApiError> error;
  {
    Lock lock(mutex_);
    if (SetEntry* entry = choose(wish, &error); entry != nullptr) {
      const double now = steady_seconds();
      entry->note_time(wish.keep_seconds);
      if (open_to_all(*entry)) {
        lease = std::make_shared<const ModelLease>(*this, *entry, true);
      } else {
        error = why_not_wait(*entry, now);
      }
      if (lease == nullptr && !error) {
        entry->waiters.push_back({++last_ticket_, now, std::move(got)});
        ++waiting_;
        poke();
        return last_ticket_;
      }
    }
  }
  got(std::move(lease), std::move(error));
  return 0;
}

void ModelSet::drop(uint64_t ticket) noexcept {
  Got forgotten;  // destroyed after the lock is released
  {
    std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      auto found = std::ranges::find(entry->waiters, ticket, &SetEntry::Waiter::ticket);
      if (found == entry->waiters.end()) continue;
      forgotten = std::move(found->got);
      entry->waiters.erase(found);
      --waiting_;
      poke();
      break;
    }
  }
}

void ModelSet::give_back(SetEntry& entry, bool uses) noexcept {
  {
    std::lock_guard lock(mutex_);
    --entry.leases;
    if (uses) entry.used_seconds = steady_seconds();
    if (entry.leases > 0) return;
    // This comes before the lock is released: without leases another thread may then destroy the
    // set.
    poke();
  }
}

std::optional<ApiError> ModelSet::let_go(const ModelWish& wish) {
  std::optional<ApiError> error;
  std::lock_guard lock(mutex_);
  SetEntry* entry = choose(wish, &error);
  if (entry == nullptr) return error;
  if (entry->loaded()) {
    entry->note_time(0);
    poke();
  }
  return {};
}

std::optional<ApiError> ModelSet::load(const std::string& name) {
  std::optional<ApiError> error;
  std::lock_guard lock(mutex_);
  SetEntry* entry = choose({.name = name}, &error);
  if (entry == nullptr) return error;
  const double now = steady_seconds();
  if (entry->failed_lately(now)) return failed_before(*entry, now);
  entry->unload = false;
  if (entry->status == ModelStatus::kLoaded) return {};
  entry->asked = SetEntry::Asked::kYes;
  entry->asked_ticket = ++last_ticket_;
  entry->asked_seconds = now;
  poke();
  return {};
}

std::optional<ApiError> ModelSet::unload(const std::string& name) {
  std::optional<ApiError> error;
  Lock lock(mutex_);
  SetEntry* entry = choose({.name = name}, &error);
  if (entry == nullptr) return error;
  if (entry->status == ModelStatus::kSleeping || entry->status == ModelStatus::kFailed) return {};
  entry->asked = SetEntry::Asked::kNo;
  refuse(*entry, {503, "", "model_unloaded",
                  fmt::format("'{}' was unloaded before this request could run: try again",
                              entry->model->name)});
  entry->unload = true;
  flush(lock);
  poke();
  return {};
}

std::vector<ModelRow> ModelSet::rows() {
  std::vector<ModelRow> rows;
  std::lock_guard lock(mutex_);
  const double now = steady_seconds();
  rows.reserve(entries_.size());
  for (const auto& entry : entries_) {
    if (entry->gone) continue;
    ModelRow row{entry->model, entry->status, entry->failure, entry->loads};
    if (entry->status == ModelStatus::kLoaded) {
      row.lease = std::make_shared<const ModelLease>(*this, *entry, false);
      if (entry->expires()) {
        row.expires_seconds = std::max(0.0, entry->used_seconds + entry->ttl_seconds - now);
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::shared_ptr<const OfferedModel> ModelSet::find(const std::string& name) {
  std::lock_guard lock(mutex_);
  const SetEntry* entry = find_entry(name);
  return entry == nullptr ? nullptr : entry->model;
}

std::vector<std::string> ModelSet::names() {
  std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& entry : entries_) {
    if (!entry->gone) names.push_back(entry->model->name);
  }
  return names;
}

}  // namespace hearth
