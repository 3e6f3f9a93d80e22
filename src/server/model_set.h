// ModelSet: several models of one server, loaded when requests ask for them and unloaded where
// others need their memory. A thread of the set, the keeper, loads and unloads one model at a time,
// while others answer.
//
//   ModelSet set(options);
//   set.offer(models);
//   set.start();                        // loads those that are named, as far as there is room
//   set.want({.name = "a"}, got);       // calls got() with a lease, at once or once it is loaded
//   set.end();
//
// A model is loaded, loading, sleeping (a request for it loads it) or failed. A failed one is not
// tried again for kFailedSeconds, unless its file has changed. A loaded one stays while a lease on
// it lives. Requests for a model that is not loaded wait; the model asked for first is loaded
// first.
//
// Room is made by unloading the idle model that was used longest ago, never a pinned one. If models
// in use leave no room, those loaded longest take no more requests until the waiting model is
// loaded, but not before they have stayed kStayFactor times as long as their loading took. A
// request that has waited kMaxRoomSeconds gets the error 503 (no_room), which names the models that
// hold the room. If pinned models hold the room, the error comes at once.
//
// Any thread may call any function. got() may be called by any thread, too, and must not throw.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "http/api_error.h"
#include "server/model_facts.h"
#include "server/served_models.h"

namespace hearth {

enum class ModelStatus : uint8_t { kSleeping, kLoading, kLoaded, kFailed };
std::string_view model_status_name(ModelStatus status);

// HeldModel: a model that was opened, then loaded into memory; its destructor unloads it.
class HeldModel {
 public:
  virtual ~HeldModel() = default;

  // Returns the least bytes of memory that the model takes once loaded.
  virtual uint64_t min_bytes() const = 0;
  // Loads the model into `room` bytes of memory at most; `room` is at least min_bytes().
  virtual void load(uint64_t room) = 0;
  // These may be called once the model is loaded.
  virtual uint64_t bytes() const = 0;
  virtual ServedModels served() const = 0;
};

// OfferedModel: a model that requests may ask for.
struct OfferedModel {
  std::string name;
  std::vector<std::string> aliases = {};
  ModelKind kind = ModelKind::kText;
  bool named = false;      // the user named it: load it at the start
  bool pinned = false;     // never unloaded for others
  bool removable = false;  // clients may delete its files, if they may delete any
  double ttl_seconds = std::numeric_limits<double>::infinity();  // idle time until unload
  int64_t created = 0;
  uint32_t context = 0;  // the context that it will have, for lists while it is not loaded
  ModelFacts facts = {};
  std::string made_of = {};  // all options; a different text means to load the model anew
  std::function<std::string()> stamp =
      {};  // returns a text that changes with the model's files; empty: no file
  // Opens the model: reads its header and metadata. Throws Error where it cannot be loaded.
  std::function<std::unique_ptr<HeldModel>()> open = {};
};

struct ModelWish {
  std::string name = {};               // empty: any model
  std::optional<ModelKind> kind = {};  // nothing: any kind
  // Seconds that the model shall stay loaded while unused, at most the server's own time; below 0:
  // that time.
  std::optional<double> keep_seconds = {};
};

class ModelSet;
struct SetEntry;

// ModelLease: keeps a model loaded while it lives. It must not outlive the set.
class ModelLease {
 public:
  ModelLease(ModelSet& set, SetEntry& entry, bool uses);
  ~ModelLease();
  ModelLease(const ModelLease&) = delete;
  ModelLease& operator=(const ModelLease&) = delete;

  const ServedModels& models() const { return models_; }
  const std::string& plan() const { return *plan_; }

 private:
  ModelSet& set_;
  SetEntry& entry_;
  const bool uses_;  // true: a request computes with it; false: it is only looked at
  ServedModels models_;
  std::shared_ptr<const std::string> plan_;
};

// ModelRow: a model as lists show it.
struct ModelRow {
  std::shared_ptr<const OfferedModel> model;
  ModelStatus status = ModelStatus::kSleeping;
  std::string failure = {};
  uint64_t loads = 0;                            // how often it was loaded
  std::optional<double> expires_seconds = {};    // seconds until it is unloaded as unused
  std::shared_ptr<const ModelLease> lease = {};  // if it is loaded
};

struct ModelSetOptions {
  uint64_t memory_bytes = 0;  // limit for all models; 0: none
  uint32_t max_waiting = 128;
  std::function<void(const std::string&)> log;  // prints to the server's log
};

class ModelSet {
 public:
  static constexpr double kFailedSeconds = 30, kMaxRoomSeconds = 60, kStayFactor = 2;

  explicit ModelSet(ModelSetOptions options);
  ~ModelSet();
  ModelSet(const ModelSet&) = delete;
  ModelSet& operator=(const ModelSet&) = delete;

  // Replaces the models on offer. Models that are no longer offered, or have other options, are
  // unloaded once they are idle.
  void offer(std::vector<OfferedModel> models);
  // Starts the keeper, and returns once each named model is loaded or has failed. A failure is
  // logged.
  void start();
  // Unloads all models and drops all waiting requests. Nothing is loaded afterwards.
  void end() noexcept;

  using Got = std::function<void(std::shared_ptr<const ModelLease>, std::optional<ApiError>)>;
  // Asks for a model and returns a ticket for drop(), or 0 where got() was called already.
  uint64_t want(const ModelWish& wish, Got got);
  // Drops a waiting request; its got() may be running.
  void drop(uint64_t ticket) noexcept;

  // Lets the model be unloaded once it is idle, unless it is pinned. Returns an error where there
  // is no such model.
  std::optional<ApiError> let_go(const ModelWish& wish);

  // Order a model to be loaded or unloaded. Both return at once, with an error where that is
  // refused; the keeper does the work later.
  std::optional<ApiError> load(const std::string& name);
  // Requests that wait for the model get an error; those that use it keep it until they end.
  std::optional<ApiError> unload(const std::string& name);

  std::vector<ModelRow> rows();
  // Returns the model of this name; null where there is none.
  std::shared_ptr<const OfferedModel> find(const std::string& name);
  std::vector<std::string> names();

 private:
  friend class ModelLease;
  using Lock = std::unique_lock<std::mutex>;
  struct Call {
    Got got;
    std::shared_ptr<const ModelLease> lease;
    std::optional<ApiError> error;
  };
  enum class Room : uint8_t { kThere, kMade, kLater };

  SetEntry* find_entry(std::string_view name);
  SetEntry* choose(const ModelWish& wish, std::optional<ApiError>* error);
  std::string known_names() const;
  std::string holders() const;
  // Returns the bytes of all loaded models, or of the pinned ones alone.
  uint64_t used_bytes(bool pinned) const;
  bool open_to_all(const SetEntry& entry) const;
  std::optional<ApiError> why_not_wait(const SetEntry& entry, double now) const;
  void give_back(SetEntry& entry, bool uses) noexcept;
  void poke() noexcept;
  void keep();
  void look_at_files(Lock& lock);
  void erase_gone();
  bool unload_one(Lock& lock);
  bool load_one(Lock& lock);
  SetEntry* next_to_load();
  bool open(SetEntry& entry, Lock& lock);
  Room make_room(SetEntry& entry, Lock& lock);
  void ask_to_leave(uint64_t missing);
  void fill(SetEntry& entry, uint64_t room, Lock& lock);
  void note_turns(SetEntry& entry);
  void put_away(SetEntry& entry, const char* why, Lock& lock);
  void grant(SetEntry& entry);
  void refuse(SetEntry& entry, const ApiError& error);
  void refuse_late();
  void fail_load(SetEntry& entry, const std::string& sentence);
  void flush(Lock& lock);
  double next_look() const;
  void log(const std::string& sentence) const;

  const ModelSetOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_, settled_;
  std::list<std::unique_ptr<SetEntry>> entries_;
  std::vector<Call> calls_;
  uint64_t last_ticket_ = 0;
  uint32_t waiting_ = 0;
  double looked_seconds_ = 0;  // when files were last looked at
  // turns_ counts models loaded again within kTurnSeconds of being unloaded for others. The count
  // begins at turns_since_ and lasts kTurnSeconds. turns_logged_ is when a warning was last given.
  uint32_t turns_ = 0;
  double turns_since_ = 0, turns_logged_ = -1e9;
  bool poked_ = false;  // the keeper has something to do
  bool ending_ = false;
  std::thread keeper_;
};

}  // namespace hearth
