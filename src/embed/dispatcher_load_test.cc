// Tests the dispatcher under load, in virtual time.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "embed/dispatcher.h"
#include "embed/test_virtual_time.h"

namespace hearth {
namespace {

constexpr double kSeconds = 2000;

DispatchOptions options_of(Admission admission) {
  DispatchOptions options;
  options.admission = admission;
  options.slo = 1;
  return options;
}

// 35 queries a second, and an objective of one second. By Poisson's law the rate of 70,000 arrivals
// is within 1 % of its mean; wider tolerances below allow for chance in the queues.
TEST(DispatcherLoad, DepthsAloneLetRepliesBeLate) {
  VirtualResult result = run_virtually({kV100, kXeon}, options_of(Admission::kDepth),
                                       poisson_arrivals(35, kSeconds, 75, 1));
  EXPECT_NEAR(result.share_in_time(), 0.56, 0.02);
  EXPECT_NEAR(result.rate(), 34, 0.5);
}

TEST(DispatcherLoad, DeadlinesKeepAllRepliesInTime) {
  DispatchOptions options = options_of(Admission::kDeadline);
  options.reserve = 0;  // no thread wakes late in virtual time
  VirtualResult result =
      run_virtually({kV100, kXeon}, options, poisson_arrivals(35, kSeconds, 75, 1));
  EXPECT_EQ(result.in_time, result.accepted);
  EXPECT_NEAR(result.rate(), 29.3, 0.5);
}

// The most queries a second that the two devices could take if queries came evenly. A query waits
// for a batch and runs in the next one, so a batch may take half the objective. Batches have 0.23 /
// 0.018 and 0.18 / 0.084 queries in each 0.5 s.
constexpr double kCapacity = 2 * (0.23 / 0.018 + 0.18 / 0.084);

TEST(DispatcherLoad, RepliesAreInTimeAtAnyRateUnderNoise) {
  for (double part : {0.5, 0.75, 1.0, 1.25, 1.5}) {
    for (double noise : {0.0, 0.05, 0.1}) {
      VirtualDevice accelerator = kV100, pool = kXeon;
      accelerator.sim.noise = pool.sim.noise = noise;
      pool.sim.seed = 1;
      VirtualResult result = run_virtually({accelerator, pool}, options_of(Admission::kDeadline),
                                           poisson_arrivals(part * kCapacity, kSeconds, 75, 2));
      EXPECT_GE(result.share_in_time(), 0.99) << part << " " << noise;
      double offered = static_cast<double>(result.offered) / result.seconds;
      EXPECT_GE(result.rate(), 0.85 * std::min(offered, kCapacity)) << part << " " << noise;
    }
  }
}

TEST(DispatcherLoad, TextsOfAllLengthsAreInTime) {
  std::vector<VirtualArrival> arrivals = poisson_arrivals(12, kSeconds, 75, 3);
  std::mt19937_64 random(4);
  for (VirtualArrival& arrival : arrivals) arrival.tokens = 20 + random() % 400;
  VirtualResult result = run_virtually({kV100, kXeon}, options_of(Admission::kDeadline), arrivals);
  EXPECT_GE(result.share_in_time(), 0.99);
  EXPECT_GE(result.rate(), 8);
}

// 80 texts of 69 tokens come within 8 ms. The depths, 40 and 8 texts of 75 tokens, hold 51 of them.
VirtualResult burst_of(Admission admission, double gather) {
  DispatchOptions options = options_of(admission);
  options.gather = gather;
  std::vector<VirtualArrival> arrivals;
  for (int i = 0; i < 80; ++i) arrivals.push_back({i * 1e-4, 69});
  return run_virtually({kV100, kXeon}, options, arrivals);
}

TEST(DispatcherLoad, ABurstIsOneBatchOfEachDevice) {
  EXPECT_EQ(burst_of(Admission::kDepth, 0).accepted, 51u);
  EXPECT_LT(burst_of(Admission::kDepth, 0).in_time, 5u) << "all but the first wait for a batch";
  EXPECT_LT(burst_of(Admission::kDeadline, 0).in_time, 45u);
  VirtualResult gathered = burst_of(Admission::kDeadline, 0.02);
  EXPECT_GE(gathered.in_time, 48u);
  EXPECT_EQ(gathered.in_time, gathered.accepted);
  for (const DeviceStatistics& device : gathered.devices) EXPECT_EQ(device.batches, 1u);
  // Gathering helps as much if admission is by depth, as in the paper.
  EXPECT_GE(burst_of(Admission::kDepth, 0.02).in_time, 48u);
}

TEST(DispatcherLoad, GatheringCostsRandomArrivalsNothing) {
  for (double part : {0.5, 1.0, 1.5}) {
    std::vector<VirtualArrival> arrivals = poisson_arrivals(part * kCapacity, kSeconds, 75, 5);
    DispatchOptions options = options_of(Admission::kDeadline);
    VirtualResult gathered = run_virtually({kV100, kXeon}, options, arrivals);
    options.gather = 0;
    VirtualResult at_once = run_virtually({kV100, kXeon}, options, arrivals);
    EXPECT_GE(gathered.share_in_time(), 0.99) << part;
    EXPECT_GE(gathered.rate(), 0.995 * at_once.rate()) << part;
  }
}

// Devices fail, stall, part batches and come back at random moments, and clients take queries back.
// Each query waits or runs on exactly one device, the one that waiting_ or running_ names, in the
// order of the offers. Slots hold only the tokens of these queries.
class RandomRun {
 public:
  explicit RandomRun(uint64_t seed) : random_(seed) {
    uint64_t devices = 1 + random_() % 4;
    std::vector<QueueOptions> queues;
    for (uint64_t i = 0; i < devices; ++i) {
      QueueOptions queue;
      queue.kind = random_() % 2 == 0 ? DeviceKind::kCpu : DeviceKind::kAccelerator;
      queue.line = {1e-3 * static_cast<double>(1 + random_() % 9), 0.1};
      queue.slots = 50 + random_() % 300;
      if (random_() % 2 == 0) queue.batch = 40 + random_() % 100;
      queues.push_back(queue);
    }
    DispatchOptions options =
        options_of(random_() % 2 == 0 ? Admission::kDepth : Admission::kDeadline);
    dispatcher_ = std::make_unique<Dispatcher>(queues, options);
    queues_ = queues;
    waiting_.resize(devices);
    running_.resize(devices);
  }

  void step() {
    now_ += static_cast<double>(random_() % 100) * 1e-3;
    size_t device = random_() % queues_.size();
    switch (random_() % 10) {
      case 0:
        withdraw(device);
        break;
      case 1:
        if (random_() % 4 == 0) fail(device);
        break;
      case 2:
        for (uint64_t id : dispatcher_->stalled(now_)) take_out(id);
        break;
      case 3:
        probe(device);
        break;
      case 4:
      case 5:
        finish(device);
        break;
      case 6:
        begin(device);
        break;
      default:
        offer();
    }
    check();
  }

 private:
  void offer() {
    uint64_t id = ++last_, tokens = 1 + random_() % 60;
    DispatchResult result = dispatcher_->offer({id, tokens, now_ + 1, id}, now_);
    if (result.admitted != Admitted::kAccepted) return;
    tokens_[id] = tokens;
    waiting_[result.device].push_back(id);
    ASSERT_TRUE(dispatcher_->up(result.device));
  }
  void begin(size_t device) {
    std::vector<uint64_t> batch = dispatcher_->begin(device, now_);
    if (batch.empty()) {
      ASSERT_TRUE(waiting_[device].empty() || !running_[device].empty() ||
                  !dispatcher_->up(device) || dispatcher_->wake_at(device) > now_);
      return;
    }
    ASSERT_TRUE(running_[device].empty());
    ASSERT_LE(batch.size(), waiting_[device].size());
    ASSERT_TRUE(std::equal(batch.begin(), batch.end(), waiting_[device].begin()));
    uint64_t sum = 0;
    for (uint64_t id : batch) sum += tokens_[id];
    ASSERT_TRUE(batch.size() == 1 || sum <= queues_[device].batch);
    auto& waiting = waiting_[device];
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(batch.size()));
    running_[device] = batch;
  }
  void finish(size_t device) {
    if (running_[device].empty()) return;
    if (running_[device].size() > 1 && random_() % 8 == 0) {
      dispatcher_->part(device, now_);
      waiting_[device].insert(waiting_[device].begin(), running_[device].begin(),
                              running_[device].end());
    } else {
      dispatcher_->finish(device, now_);
      done_ += running_[device].size();
    }
    running_[device].clear();
  }
  void fail(size_t device) {
    if (!dispatcher_->up(device)) return;
    std::vector<uint64_t> expected = running_[device];
    expected.insert(expected.end(), waiting_[device].begin(), waiting_[device].end());
    ASSERT_EQ(dispatcher_->fail(device, now_), expected);
    waiting_[device].clear();
    running_[device].clear();
    for (uint64_t id : expected) {
      DispatchResult result =
          dispatcher_->offer({id, tokens_[id], now_ + 1, id}, now_, 1u << device);
      if (result.admitted != Admitted::kAccepted) continue;
      ASSERT_NE(result.device, device);
      waiting_[result.device].push_back(id);
    }
  }
  void probe(size_t device) {
    if (!dispatcher_->probe_due(device, now_)) return;
    dispatcher_->probed(device, now_, random_() % 2 == 0 ? std::optional(0.1) : std::nullopt, 1);
  }
  void withdraw(size_t device) {
    if (waiting_[device].empty()) return;
    uint64_t id = waiting_[device][random_() % waiting_[device].size()];
    std::vector<uint64_t> taken;
    ASSERT_EQ(dispatcher_->withdraw(id, 1, [&](uint64_t one) { taken.push_back(one); }), 1u);
    ASSERT_EQ(taken, std::vector<uint64_t>{id});
    take_out(id);
    ASSERT_EQ(dispatcher_->withdraw(id, 1), 0u);
  }
  void take_out(uint64_t id) {
    size_t found = 0;
    for (std::vector<uint64_t>& waiting : waiting_) found += std::erase(waiting, id);
    ASSERT_EQ(found, 1u);
  }
  void check() {
    for (size_t i = 0; i < queues_.size(); ++i) {
      uint64_t held = 0;
      for (uint64_t id : waiting_[i]) held += tokens_[id];
      for (uint64_t id : running_[i]) held += tokens_[id];
      DeviceStatistics counts = dispatcher_->statistics(i);
      ASSERT_EQ(counts.held, held);
      ASSERT_EQ(counts.waiting, waiting_[i].size());
      ASSERT_EQ(counts.running, running_[i].size());
      ASSERT_LE(held, 2 * queues_[i].slots);
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<QueueOptions> queues_;
  std::vector<std::vector<uint64_t>> waiting_, running_;
  std::map<uint64_t, uint64_t> tokens_;
  uint64_t last_ = 0, done_ = 0;
  double now_ = 0;
};

TEST(DispatcherLoad, KeepsEveryQueryOnceUnderFailures) {
#ifdef HEARTH_FEW_ROUNDS
  constexpr int kRuns = 10;
#else
  constexpr int kRuns = 100;
#endif
  for (int seed = 0; seed < kRuns; ++seed) {
    RandomRun run(seed);
    for (int i = 0; i < 2000; ++i) {
      ASSERT_NO_FATAL_FAILURE(run.step()) << "seed " << seed << ", step " << i;
    }
  }
}

}  // namespace
}  // namespace hearth
