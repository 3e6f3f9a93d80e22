#include "server/model_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <thread>

#include "base/error.h"

namespace hearth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// The state that the test's models share: which are loaded, and which fail.
struct World {
  std::mutex mutex;
  std::map<std::string, std::string> broken, stamps;
  std::vector<std::string> loaded;  // all loads so far, in order
  std::atomic<int> here = 0, most = 0, looks_at_nothing = 0;
  std::shared_future<void> gate;  // if valid, loads wait for it
};

class FakeModel final : public HeldModel {
 public:
  FakeModel(World& world, std::string name) : world_(world), name_(std::move(name)) {}
  ~FakeModel() override {
    if (loaded_) --world_.here;
  }
  uint64_t min_bytes() const override { return 10; }
  void load(uint64_t) override {
    if (world_.gate.valid()) world_.gate.wait();
    const std::lock_guard lock(world_.mutex);
    if (world_.broken.contains(name_)) fail(ErrorCode::kFile, "{}", world_.broken[name_]);
    loaded_ = true;
    world_.most = std::max<int>(world_.most, ++world_.here);
    world_.loaded.push_back(name_);
  }
  uint64_t bytes() const override { return 10; }
  ServedModels served() const override { return {}; }

 private:
  World& world_;
  const std::string name_;
  bool loaded_ = false;
};

struct Answered {
  std::shared_ptr<const ModelLease> lease;
  std::optional<ApiError> error;
};

class ModelSetTest : public testing::Test {
 protected:
  OfferedModel offer(const std::string& name) {
    OfferedModel model{.name = name};
    model.stamp = [this, name] {
      const std::lock_guard lock(world_.mutex);
      if (world_.stamps[name].empty()) ++world_.looks_at_nothing;
      return world_.stamps[name];
    };
    model.open = [this, name] { return std::make_unique<FakeModel>(world_, name); };
    return model;
  }
  // Starts a set with room for so many models of 10 bytes each.
  ModelSet& start(int room, std::vector<OfferedModel> models) {
    set_ = std::make_unique<ModelSet>(ModelSetOptions{static_cast<uint64_t>(room) * 10, 1000,
                                                      [this](const std::string& sentence) {
                                                        const std::lock_guard lock(world_.mutex);
                                                        said_.push_back(sentence);
                                                      }});
    set_->offer(std::move(models));
    set_->start();
    return *set_;
  }
  ModelSet& start(int room, std::initializer_list<const char*> names) {
    std::vector<OfferedModel> models;
    for (const char* name : names) models.push_back(offer(name));
    return start(room, std::move(models));
  }
  std::future<Answered> ask(const ModelWish& wish) {
    auto answered = std::make_shared<std::promise<Answered>>();
    std::future<Answered> future = answered->get_future();
    set_->want(wish, [answered](auto lease, auto error) {
      answered->set_value({std::move(lease), std::move(error)});
    });
    return future;
  }
  std::future<Answered> ask(const char* name) { return ask(ModelWish{.name = name}); }
  std::shared_ptr<const ModelLease> lease(const char* name) {
    Answered answered = ask(name).get();
    EXPECT_FALSE(answered.error) << answered.error->message;
    return answered.lease;
  }
  std::string error(const char* name) {
    const Answered answered = ask(name).get();
    return answered.error ? answered.error->code + ": " + answered.error->message : "none";
  }
  ModelStatus status(const std::string& name) {
    for (const ModelRow& row : set_->rows()) {
      if (row.model->name == name) return row.status;
    }
    return ModelStatus::kFailed;
  }
  void wait_for(const std::string& name, ModelStatus wanted) {
    while (status(name) != wanted) std::this_thread::yield();
  }

  World world_;
  std::vector<std::string> said_;
  std::unique_ptr<ModelSet> set_;
};

using enum ModelStatus;

TEST_F(ModelSetTest, LoadsWhatIsAskedForOnce) {
  start(2, {"a", "b"});
  EXPECT_EQ(status("a"), kSleeping);
  EXPECT_NE(lease("a"), nullptr);
  EXPECT_NE(lease("A"), nullptr);
  EXPECT_NE(lease("a:latest"), nullptr);
  EXPECT_EQ(status("a"), kLoaded);
  EXPECT_EQ(status("b"), kSleeping);
  EXPECT_THAT(world_.loaded, ElementsAre("a"));
}

TEST_F(ModelSetTest, RefusesByName) {
  std::vector<OfferedModel> models = {offer("a"), offer("b")};
  models[1].kind = ModelKind::kEmbedder;
  models[1].aliases = {"other"};
  start(2, std::move(models));
  EXPECT_THAT(error("c"), HasSubstr("'a' and 'b'"));
  auto answered = ask({.name = "other", .kind = ModelKind::kText}).get();
  EXPECT_EQ(answered.error->code, "wrong_model");
  EXPECT_NE(ask({.kind = ModelKind::kEmbedder}).get().lease, nullptr);
  EXPECT_EQ(ask(ModelWish{}).get().error->code, "missing_required_parameter");
  EXPECT_EQ(ask({.kind = ModelKind::kReranker}).get().error->code, "model_not_found");
}

TEST_F(ModelSetTest, NamedModelsAreLoadedAtTheStartAsFarAsThereIsRoom) {
  std::vector<OfferedModel> models = {offer("a"), offer("b"), offer("c")};
  for (OfferedModel& model : models) model.named = true;
  start(2, std::move(models));
  EXPECT_THAT(world_.loaded, ElementsAre("a", "b"));
  EXPECT_EQ(status("c"), kSleeping);
  EXPECT_EQ(ask(ModelWish{}).get().error, std::nullopt);  // the first model
}

TEST_F(ModelSetTest, TheOneUsedLongestAgoMakesRoom) {
  start(2, {"a", "b", "c"});
  for (const char* name : {"a", "b", "a", "c"}) lease(name);
  EXPECT_EQ(status("b"), kSleeping);
  EXPECT_EQ(status("a"), kLoaded);
  EXPECT_EQ(world_.most, 2);
}

TEST_F(ModelSetTest, PinnedModelsStay) {
  std::vector<OfferedModel> models = {offer("a"), offer("b")};
  models[0].pinned = true;
  start(1, std::move(models));
  EXPECT_EQ(status("a"), kLoaded);
  EXPECT_THAT(error("b"), HasSubstr("no_room: 'b' needs at least"));
  EXPECT_THAT(error("b"), HasSubstr("are used by 'a' (10 B, pinned)"));
  EXPECT_EQ(status("a"), kLoaded);
}

TEST_F(ModelSetTest, AWaitingModelComesBeforeNewRequestsOfTheLoadedOne) {
  start(1, {"a", "b"});
  auto first = lease("a");
  std::future<Answered> other = ask("b");
  wait_for("b", kLoading);
  // Model b, in use, is closed to requests once it has stayed long enough.
  std::future<Answered> next;
  do {
    next = ask("a");
  } while (next.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready);
  first.reset();
  Answered got = other.get();
  ASSERT_NE(got.lease, nullptr);
  EXPECT_NE(next.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  got.lease.reset();
  EXPECT_NE(next.get().lease, nullptr);
  EXPECT_THAT(world_.loaded, ElementsAre("a", "b", "a"));
}

TEST_F(ModelSetTest, AFailedLoadIsReportedUntilTheFileChanges) {
  world_.broken["a"] = "it is broken";
  start(1, {"a", "b"});
  EXPECT_THAT(error("a"), HasSubstr("model_failed: 'a' could not be loaded: it is broken"));
  EXPECT_EQ(status("a"), kFailed);
  EXPECT_THAT(error("a"), HasSubstr("it is tried again in"));
  EXPECT_NE(lease("b"), nullptr);
  {
    const std::lock_guard lock(world_.mutex);
    world_.broken.clear();
    world_.stamps["a"] = "another file";
  }
  while (error("a") != "none") std::this_thread::yield();
  EXPECT_EQ(status("a"), kLoaded);
}

TEST_F(ModelSetTest, AChangedFileIsLoadedAnewOnceIdle) {
  start(1, {"a"});
  auto held = lease("a");
  {
    const std::lock_guard lock(world_.mutex);
    world_.stamps["a"] = "another file";
  }
  // A model whose options changed goes on until a request waits for the new one.
  std::future<Answered> next;
  do {
    next = ask("a");
  } while (next.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready);
  held.reset();
  EXPECT_NE(next.get().lease, nullptr);
  EXPECT_THAT(world_.loaded, ElementsAre("a", "a"));
}

TEST_F(ModelSetTest, ADeletedFileIsServedAsLongAsItIsLoaded) {
  world_.stamps["a"] = "a file";
  start(1, {"a"});
  EXPECT_EQ(error("a"), "none");
  {
    const std::lock_guard lock(world_.mutex);
    world_.stamps["a"] = "";
  }
  // A second look begins after the first one's findings were dealt with.
  while (world_.looks_at_nothing < 2) std::this_thread::yield();
  EXPECT_EQ(error("a"), "none");
  EXPECT_THAT(world_.loaded, ElementsAre("a"));
}

TEST_F(ModelSetTest, UnloadsModelsIdleForTheirTime) {
  std::vector<OfferedModel> models = {offer("a"), offer("b")};
  models[0].ttl_seconds = 0;
  start(2, std::move(models));
  lease("a");
  wait_for("a", kSleeping);
  // A request's time is used where it is shorter than the server's, not where it is longer.
  ask({.name = "b", .keep_seconds = 0}).get();
  wait_for("b", kSleeping);
  // The shorter time holds for one request.
  lease("b");
  lease("a");
  wait_for("a", kSleeping);
  wait_for("b", kLoaded);
  EXPECT_EQ(world_.here, 1);
  ask({.name = "b", .keep_seconds = 0}).get();
  wait_for("b", kSleeping);
  ask({.name = "a", .keep_seconds = -1}).get();
  wait_for("a", kSleeping);
  EXPECT_EQ(world_.here, 0);
}

TEST_F(ModelSetTest, LoadsAndUnloadsAsAsked) {
  start(1, {"a"});
  EXPECT_FALSE(set_->unload("a"));
  EXPECT_FALSE(set_->load("a"));
  wait_for("a", kLoaded);
  EXPECT_FALSE(set_->unload("a"));
  wait_for("a", kSleeping);
  EXPECT_EQ(set_->load("c")->code, "model_not_found");
}

TEST_F(ModelSetTest, LetsGoOfWhatIsLoaded) {
  std::vector<OfferedModel> models = {offer("a"), offer("b")};
  models[1].pinned = true;
  start(2, std::move(models));
  // let_go() does not load a sleeping model.
  EXPECT_FALSE(set_->let_go({.name = "a"}));
  EXPECT_EQ(status("a"), kSleeping);
  auto held = lease("a");
  EXPECT_FALSE(set_->let_go({.name = "a:latest"}));
  EXPECT_FALSE(set_->let_go({.name = "b"}));
  EXPECT_EQ(status("a"), kLoaded);
  // The lease keeps the model loaded until it ends.
  held.reset();
  wait_for("a", kSleeping);
  EXPECT_EQ(status("b"), kLoaded);
  EXPECT_EQ(set_->let_go({.name = "c"})->code, "model_not_found");
}

TEST_F(ModelSetTest, UnloadWhileItLoads) {
  std::promise<void> open;
  world_.gate = open.get_future().share();
  start(1, {"a"});
  std::future<Answered> waits = ask("a");
  wait_for("a", kLoading);
  EXPECT_FALSE(set_->unload("a"));
  EXPECT_EQ(waits.get().error->code, "model_unloaded");
  open.set_value();
  wait_for("a", kSleeping);
  EXPECT_NE(lease("a"), nullptr);
}

TEST_F(ModelSetTest, OffersAreTakenAnew) {
  start(3, {"a", "b"});
  lease("a");
  auto held = lease("b");
  std::vector<OfferedModel> models = {offer("a"), offer("c")};
  models[0].made_of = "other options";
  set_->offer(std::move(models));
  EXPECT_THAT(set_->names(), ElementsAre("a", "c"));
  EXPECT_THAT(error("b"), HasSubstr("model_not_found"));
  held.reset();
  EXPECT_NE(lease("a"), nullptr);
  EXPECT_NE(lease("c"), nullptr);
  while (world_.here != 2) std::this_thread::yield();
}

TEST_F(ModelSetTest, DroppedRequestsAreNotCalledBack) {
  std::promise<void> open;
  world_.gate = open.get_future().share();
  start(1, {"a"});
  std::atomic<bool> called = false;
  const uint64_t ticket = set_->want({.name = "a"}, [&](auto, auto) { called = true; });
  EXPECT_NE(ticket, 0u);
  set_->drop(ticket);
  open.set_value();
  lease("a");
  EXPECT_FALSE(called);
}

TEST_F(ModelSetTest, ManyModelsOfManyClients) {
  constexpr int kModels = 40, kClients = 20, kRoom = 5;
  std::vector<OfferedModel> models;
  for (int i = 0; i < kModels; ++i) models.push_back(offer(std::to_string(i)));
  start(kRoom, std::move(models));
  std::atomic<int> served = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < kModels; ++i) {
        const std::string name = std::to_string((client * 7 + i) % kModels);
        served += lease(name.c_str()) != nullptr ? 1 : 0;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(served, kModels * kClients);
  EXPECT_LE(world_.most, kRoom);
  const std::lock_guard lock(world_.mutex);
  EXPECT_TRUE(std::ranges::any_of(said_, [](const std::string& sentence) {
    return sentence.starts_with("too little memory for the models in use");
  }));
}

}  // namespace
}  // namespace hearth
