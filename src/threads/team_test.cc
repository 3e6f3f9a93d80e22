#include "threads/team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "base/error.h"
#include "threads/pin.h"

namespace hearth {
namespace {

TEST(TeamTest, EveryMemberRunsOnceOnItsOwnThread) {
  Team team(4);
  EXPECT_EQ(team.size(), 4u);
  std::vector<uint32_t> runs(4, 0);
  std::vector<std::thread::id> threads(4);
  for (int i = 0; i < 500; ++i) {
    team.run([&](uint32_t member) noexcept {
      ++runs[member];
      threads[member] = std::this_thread::get_id();
    });
  }
  EXPECT_EQ(runs, std::vector<uint32_t>(4, 500));
  EXPECT_EQ(threads[0], std::this_thread::get_id()) << "the caller is member 0";
  EXPECT_EQ(std::set<std::thread::id>(threads.begin(), threads.end()).size(), 4u);
}

TEST(TeamTest, TeamOfOneIsTheCaller) {
  Team team(1);
  uint32_t runs = 0;
  team.run([&](uint32_t member) noexcept { runs += member + 1; });
  EXPECT_EQ(runs, 1u);
}

TEST(TeamTest, TakesConstAndTemporaryJobs) {
  Team team(2);
  std::atomic<int> runs{0};
  const auto job = [&](uint32_t) noexcept { ++runs; };
  team.run(job);
  team.run([&](uint32_t) noexcept { ++runs; });
  EXPECT_EQ(runs, 4);
}

TEST(TeamTest, SeesWhatTheCallerWroteAndShowsWhatMembersWrote) {
  Team team(3);
  uint64_t input = 0;
  std::vector<uint64_t> output(3, 0);
  for (uint64_t i = 1; i <= 2000; ++i) {
    input = i;
    team.run([&](uint32_t member) noexcept { output[member] = input * (member + 1); });
    ASSERT_EQ(output, (std::vector<uint64_t>{i, 2 * i, 3 * i}));
  }
}

TEST(TeamTest, MoreMembersThanCores) {
  Team team(24);
  std::atomic<uint32_t> runs{0};
  for (int i = 0; i < 50; ++i) team.run([&](uint32_t) noexcept { ++runs; });
  EXPECT_EQ(runs, 24u * 50);
}

TEST(TeamTest, MayBeRunFromAnotherThread) {
  Team team(3);
  std::atomic<uint32_t> runs{0};
  std::thread([&] { team.run([&](uint32_t) noexcept { ++runs; }); }).join();
  team.run([&](uint32_t) noexcept { ++runs; });
  EXPECT_EQ(runs, 6u);
}

TEST(TeamTest, WorkersAreNamed) {
  Team team(3);
  std::vector<std::string> names(3);
  team.run([&](uint32_t member) noexcept {
    char name[32] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    if (member != 0) names[member] = name;
  });
  EXPECT_EQ(names, (std::vector<std::string>{"", "hearth-1", "hearth-2"}));
}

TEST(TeamTest, RunsOnNamedMembersOnly) {
  Team team(5);
  const std::vector<std::vector<uint32_t>> sets = {{0, 1, 2, 3, 4}, {0, 2},   {1, 3}, {3}, {0},
                                                   {0, 1},          {2, 3, 4}};
  std::mt19937 random(7);
  std::vector<uint32_t> runs(5, 0), expected(5, 0);
  uint64_t input = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<uint32_t>& members = sets[random() % sets.size()];
    ++input;
    const uint64_t seen = input;
    team.run_on(members,
                [&](uint32_t member) noexcept { runs[member] += input == seen ? 1 : 100; });
    for (uint32_t member : members) ++expected[member];
    ASSERT_EQ(runs, expected) << i;
    if (random() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 150));
    if (random() % 8 != 0) continue;
    team.run([&](uint32_t member) noexcept { ++runs[member]; });
    for (uint32_t& count : expected) ++count;
    ASSERT_EQ(runs, expected) << i << ", all";
  }
}

// Returns the letter of a thread's state in the kernel: R is running or runnable, S sleeps.
char state_of(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  return line.at(line.rfind(')') + 2);
}

// Returns how often the thread gave up its CPU by itself, to wait or to sleep.
uint64_t sleeps_of(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/status");
  std::string word;
  while (file >> word && word != "voluntary_ctxt_switches:") {
  }
  uint64_t count = 0;
  file >> count;
  return count;
}

// Holds a team whose member 2 rests and has fallen asleep.
struct RestingTeam {
  RestingTeam() {
    team.run([&](uint32_t member) noexcept { threads[member] = static_cast<int>(gettid()); });
    run_others();
    while (state_of(threads[2]) != 'S') std::this_thread::yield();
  }
  void run_others() {
    team.run_on(others, [](uint32_t) noexcept {});
  }

  Team team{3};
  std::vector<int> threads = std::vector<int>(3);  // by member
  const std::vector<uint32_t> others = {0, 1};
};

// Jobs of the others do not wake a resting thread: the kernel counts how often the thread went to
// sleep.
TEST(TeamTest, RestingThreadsSleepThroughTheOthersJobs) {
  RestingTeam resting;
  const std::vector<int>& threads = resting.threads;
  const uint64_t before = sleeps_of(threads[2]);
  for (int i = 0; i < 200; ++i) {
    resting.run_others();
    if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  EXPECT_LE(sleeps_of(threads[2]), before + 1) << "the first may be counted late";
  std::atomic<int> runs{0};
  resting.team.run([&](uint32_t) noexcept { ++runs; });
  EXPECT_EQ(runs, 3);
}

// Returns the CPU time that the thread used, in ticks of 10 ms.
uint64_t cpu_ticks_of(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  // The fields from the third on stand behind the name; the 14th and 15th are user and system time
  // (proc(5)).
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  uint64_t user = 0, system = 0;
  fields >> user >> system;
  return user + system;
}

// The other members run jobs until they have used a fifth of a second of CPU time, however long
// that takes.
TEST(TeamTest, RestingThreadsUseNoCpu) {
  RestingTeam resting;
  const std::vector<int>& threads = resting.threads;
  const uint64_t rested = cpu_ticks_of(threads[2]);
  const uint64_t worked = cpu_ticks_of(threads[0]) + cpu_ticks_of(threads[1]);
  uint64_t used = 0;
  for (int jobs = 0; used < 20 && jobs < 10'000'000; ++jobs) {
    resting.run_others();
    if (jobs % 64 == 0) used = cpu_ticks_of(threads[0]) + cpu_ticks_of(threads[1]) - worked;
  }
  EXPECT_GE(used, 20u);
  EXPECT_LE(cpu_ticks_of(threads[2]), rested + 1) << "its last steps into sleep may count late";
}

TEST(TeamTest, EndsWhileMembersRest) {
  Team team(3);
  const std::vector<uint32_t> some = {2};
  std::atomic<int> runs{0};
  team.run_on(some, [&](uint32_t member) noexcept { runs += static_cast<int>(member); });
  EXPECT_EQ(runs, 2);
}

// All members fall asleep, however long that takes, and only a job wakes them.
TEST(TeamTest, IdleTeamSleeps) {
  Team team(3);
  std::vector<int> threads(3);
  team.run([&](uint32_t member) noexcept { threads[member] = static_cast<int>(gettid()); });
  for (uint32_t member : {1u, 2u}) {
    while (state_of(threads[member]) != 'S') std::this_thread::yield();
  }
  while (team.sleepers() < 2) std::this_thread::yield();
  std::atomic<int> runs{0};
  team.run([&](uint32_t) noexcept { ++runs; });
  EXPECT_EQ(runs, 3) << "sleepers come back";
}

TEST(TeamTest, PinsMembersToTheirSeats) {
  std::vector<uint32_t> allowed = get_affinity(0);
  ASSERT_FALSE(allowed.empty());
  Placement placement;
  for (uint32_t i = 0; i < 3; ++i) placement.seats.push_back({allowed[i % allowed.size()], 0, 0});
  {
    Team team(placement, {.pin_caller = true});
    EXPECT_TRUE(team.warnings().empty());
    std::vector<std::vector<uint32_t>> where(3);
    team.run([&](uint32_t member) noexcept { where[member] = get_affinity(0); });
    for (uint32_t i = 0; i < 3; ++i) {
      EXPECT_EQ(where[i], std::vector<uint32_t>{placement.seats[i].pu});
    }
  }
  EXPECT_EQ(get_affinity(0), allowed) << "the caller's affinity is restored";
}

TEST(TeamTest, LeavesTheCallerUnpinnedUnlessAsked) {
  std::vector<uint32_t> allowed = get_affinity(0);
  Placement placement;
  placement.seats.assign(2, {allowed[0], 0, 0});
  Team team(placement);
  EXPECT_EQ(get_affinity(0), allowed);
}

TEST(TeamTest, ThreadsThatCannotBePinnedRunWithAWarning) {
  Placement placement;
  placement.seats.assign(3, {get_affinity(0)[0], 0, 0});
  placement.seats[1].pu = 8191;
  placement.seats[0].pu = 8190;
  Team team(placement, {.pin_caller = true});
  ASSERT_EQ(team.warnings().size(), 2u);
  EXPECT_NE(team.warnings()[0].find("thread 0 could not be pinned to CPU 8190"), std::string::npos);
  EXPECT_NE(team.warnings()[1].find("thread 1 could not be pinned to CPU 8191"), std::string::npos);
  std::atomic<int> runs{0};
  team.run([&](uint32_t) noexcept { ++runs; });
  EXPECT_EQ(runs, 3);
}

TEST(TeamDeathTest, RunWithinARunIsABug) {
  EXPECT_DEATH(
      {
        Team team(1);
        team.run([&](uint32_t) noexcept { team.run([](uint32_t) noexcept {}); });
      },
      "one run of a team at a time");
}

}  // namespace
}  // namespace hearth
