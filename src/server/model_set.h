// ModelSet: several models of one server, loaded when they are asked for, and unloaded where others
// need their memory. A thread of its own, the keeper, loads and unloads, one model at a time, while
// others are asked.
//
//   ModelSet set(options);
//   set.offer(models);
//   set.start();                        // loads those that are named, as far as there is room
//   set.want({.name = "a"}, got);       // calls got() with a lease, at once or once it is loaded
//   set.end();
//
// A model is loaded, loading, sleeping (asking for it loads it) or failed: for kFailedSeconds it is
// not tried again, unless its file has changed. It stays while a lease lives. Who wants one that is
// not loaded waits; the model asked for first is loaded first. Room is made by the idle model that
// was used longest ago, never by a pinned one. Where those that are used leave no room, those that
// have been loaded longest take no more requests until the waiting model is there, but not before
// they have stayed kStayFactor times as long as loading took; who has waited kMostRoomSeconds is
// told who holds the room (503 no_room), and where pinned models hold it at once.
//
// All may be called from any thread, also got(), which must not throw.
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

// A model on its way into memory, and there.
class HeldModel {
 public:
  virtual ~HeldModel() = default;

  // Returns the least bytes that the loaded model takes.
  virtual uint64_t least_bytes() const = 0;
  // Takes `room` bytes at most, where that is as many as least_bytes().
  virtual void load(uint64_t room) = 0;
  // The following may be called once the model is loaded.
  virtual uint64_t bytes() const = 0;
  virtual ServedModels served() const = 0;
};

// A model that can be asked for.
struct OfferedModel {
  std::string name;
  std::vector<std::string> aliases = {};
  ModelKind kind = ModelKind::kText;
  bool named = false;      // it was asked for by name: it is loaded at the start
  bool pinned = false;     // it stays
  bool removable = false;  // clients may have it removed from the disk, where they may any
  double ttl_seconds = std::numeric_limits<double>::infinity();  // that it stays unused
  int64_t created = 0;
  uint32_t context = 0;  // while it is not loaded: what the model was made for
  ModelFacts facts = {};
  std::string made_of = {};  // another text: other options, to be loaded anew
  std::function<std::string()> stamp =
      {};  // of its files: another text, another file; empty: no file
  // Reads what can be read at once. Throws what is wrong with it.
  std::function<std::unique_ptr<HeldModel>()> open = {};
};

struct ModelWish {
  std::string name = {};               // empty: whichever serves
  std::optional<ModelKind> kind = {};  // none: any
  // Seconds that the model shall stay loaded while unused, within the server's own time; below 0:
  // for good.
  std::optional<double> keep_seconds = {};
};

class ModelSet;
struct SetEntry;

// The model stays while this lives. It must not outlive the set.
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
  const bool uses_;  // by a request, and not to look at it
  ServedModels models_;
  std::shared_ptr<const std::string> plan_;
};

// A model as lists show it.
struct ModelRow {
  std::shared_ptr<const OfferedModel> model;
  ModelStatus status = ModelStatus::kSleeping;
  std::string failure = {};
  uint64_t loads = 0;                            // so far
  std::optional<double> expires_seconds = {};    // from now on
  std::shared_ptr<const ModelLease> lease = {};  // where it is loaded
};

struct ModelSetOptions {
  uint64_t memory_bytes = 0;  // of all models; 0: no limit
  uint32_t most_waiting = 128;
  std::function<void(const std::string&)> tell;  // a sentence for whoever runs the server
};

class ModelSet {
 public:
  static constexpr double kFailedSeconds = 30, kMostRoomSeconds = 60, kStayFactor = 2;

  explicit ModelSet(ModelSetOptions options);
  ~ModelSet();
  ModelSet(const ModelSet&) = delete;
  ModelSet& operator=(const ModelSet&) = delete;

  // Takes the place of what was offered before: what is gone from it, or made of something else, is
  // unloaded once it is idle.
  void offer(std::vector<OfferedModel> models);
  // Returns once the named models are loaded, or have failed, which is told.
  void start();
  // Unloads all, and forgets who waits. Nothing is loaded after.
  void end() noexcept;

  using Got = std::function<void(std::shared_ptr<const ModelLease>, std::optional<ApiError>)>;
  // The ticket of who waits, for drop(); 0: got() was called.
  uint64_t want(const ModelWish& wish, Got got);
  // Says that it waits no more; got() may be under way.
  void drop(uint64_t ticket) noexcept;

  // Says that one who asked needs the model no more: it is unloaded once it is idle, unless it is
  // pinned. Returns an error where there is no such model.
  std::optional<ApiError> let_go(const ModelWish& wish);

  // Asks to load or unload a model by its name. Both return at once, with an error where that is
  // refused; the work is done later. Loading and unloading come later.
  std::optional<ApiError> load(const std::string& name);
  // Those who wait for the model get an error; those who use it keep it until they end.
  std::optional<ApiError> unload(const std::string& name);

  std::vector<ModelRow> rows();
  // Null: it has no such model.
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
  // Returns the bytes of the loaded models, all or only the pinned ones.
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
  void tell(const std::string& sentence) const;

  const ModelSetOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_, settled_;
  std::list<std::unique_ptr<SetEntry>> entries_;
  std::vector<Call> calls_;
  uint64_t last_ticket_ = 0;
  uint32_t waiting_ = 0;
  double looked_seconds_ = 0;  // at files
  // Models that came back within kTurnSeconds of making room, since it was told.
  uint32_t turns_ = 0;
  double turns_since_ = 0, turns_told_ = -1e9;
  bool poked_ = false;  // there is something to do
  bool ending_ = false;
  std::thread keeper_;
};

}  // namespace hearth
