#include "accelerator/check_commands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>

#include "accelerator/test_lists.h"

namespace hearth {
namespace {

std::vector<std::string> texts_of(const std::vector<CommandFault>& faults) {
  std::vector<std::string> texts;
  for (const CommandFault& fault : faults) texts.push_back(fault.text);
  return texts;
}

std::vector<std::string> faults_of(const TestList& test) {
  return texts_of(check_commands(test.list, test.around));
}

// Runs the list in `seeds` random orders, and returns how many of them give other bits than
// `right`.
uint32_t differing(const TestList& test, const std::vector<std::byte>& right, uint32_t seeds) {
  uint32_t differ = 0;
  for (uint64_t seed = 0; seed < seeds; ++seed) differ += run_list(test, seed) != right;
  return differ;
}

TEST(CheckCommands, RightListsPassAndGiveTheSameBitsInAnyOrder) {
  const std::vector<std::byte> ring = run_list(ring_list(1, 7), 0);
  for (const TestList& test : {ring_list(1, 7), ring_list(2, 7)}) {
    EXPECT_EQ(faults_of(test), std::vector<std::string>{});
    EXPECT_EQ(differing(test, ring, 1000), 0u);
  }
  const TestList layers = layers_list(2);
  EXPECT_EQ(faults_of(layers), std::vector<std::string>{});
  EXPECT_EQ(differing(layers, run_list(layers, 0), 1000), 0u);
}

TEST(CheckCommands, EveryWaitOfARingIsNeeded) {
  const TestList ring = ring_list(2, 7);
  const std::vector<std::byte> right = run_list(ring, 0);
  uint32_t dropped = 0;
  for (size_t i = 0; i < ring.list.commands.size(); ++i) {
    if (ring.list.commands[i].waits.empty()) continue;
    TestList wrong = ring;
    wrong.list.commands[i].waits.clear();
    SCOPED_TRACE(i);
    const std::vector<CommandFault> faults = check_commands(wrong.list, wrong.around);
    ASSERT_FALSE(faults.empty());
    EXPECT_TRUE(std::ranges::any_of(faults, [&](const CommandFault& fault) {
      return fault.command == i || fault.other == i;
    })) << faults[0].text;
    EXPECT_GT(differing(wrong, right, 300), 0u);
    ++dropped;
  }
  EXPECT_EQ(dropped, 12u);
}

TEST(CheckCommands, EveryOrderedCommandOfLayersIsNeeded) {
  const TestList layers = layers_list(2);
  const std::vector<std::byte> right = run_list(layers, 0);
  uint32_t reported = 0, ordered = 0;
  for (size_t i = 0; i < layers.list.commands.size(); ++i) {
    if (!layers.list.commands[i].ordered) continue;
    TestList wrong = layers;
    wrong.list.commands[i].ordered = false;
    ++ordered;
    const bool faulty = !faults_of(wrong).empty();
    EXPECT_TRUE(faulty || differing(wrong, right, 200) == 0) << i;
    reported += faulty;
  }
  // Only the first ordered command may lose its order without a fault, since no command stands
  // before it.
  EXPECT_EQ(reported + 1, ordered);
  EXPECT_EQ(ordered, 32u);
}

Command copy_command(uint64_t from, uint64_t to, bool ordered = true, uint32_t queue = 0) {
  return {.queue = queue, .ordered = ordered, .work = CopyBytes{{0, from}, {1, to}, 16}};
}

const CommandsAround kTwoQueues = {
    .queues = 2, .comes = {{7, 3}}, .filled = {{.at = {0, 0}, .bytes = 4096}}};

std::vector<std::string> two_queues(std::vector<Command> commands) {
  return texts_of(check_commands({std::move(commands)}, kTwoQueues));
}

std::vector<std::string> just(const char* text) { return {text}; }

TEST(CheckCommands, ReportsAMissingQueue) {
  EXPECT_EQ(two_queues({copy_command(0, 0, true, 2)}),
            just("command 0 (copy) is of queue 2, and there are 2"));
}

TEST(CheckCommands, ReportsRefusedWork) {
  EXPECT_EQ(two_queues({{.work = CopyBytes{{0, 0}, {0, 8}, 16}}}),
            just("command 0 (copy) is refused: a copy of 16 bytes in buffer 0 from 0 to 8 overlaps "
                 "itself"));
  EXPECT_EQ(two_queues({{.work = NormCall{}}}),
            just("command 0 (rms norm) is refused: rms norm cannot be called like this: there is "
                 "nothing to do"));
}

TEST(CheckCommands, ReportsWaitsThatNeverEnd) {
  Command waits = copy_command(0, 0);
  waits.waits = {{1, 5}};
  EXPECT_EQ(two_queues({waits}),
            just("command 0 (copy) waits for 5 of timeline 1, which nobody signals"));
  waits.waits = {{7, 3}};
  EXPECT_EQ(two_queues({waits}), std::vector<std::string>{});
  waits.waits = {{1, 5}};
  waits.signals = {{1, 5}};
  EXPECT_EQ(two_queues({waits}),
            just("command 0 (copy) waits for 5 of timeline 1, which it signals itself"));

  Command a = copy_command(0, 0), b = copy_command(16, 16, true, 1);
  a.waits = {{1, 1}};
  a.signals = {{2, 1}};
  b.waits = {{2, 1}};
  b.signals = {{1, 1}};
  EXPECT_EQ(two_queues({a, b}),
            (std::vector<std::string>{
                "command 0 (copy) waits for 1 of timeline 1, which command 1 (copy) signals, and "
                "that waits for this one: a circle",
                "command 1 (copy) waits for 1 of timeline 2, which command 0 (copy) signals, and "
                "that waits for this one: a circle"}));
  b.waits = {{3, 1}};
  EXPECT_EQ(two_queues({a, b}),
            (std::vector<std::string>{
                "command 0 (copy) waits for 1 of timeline 1, which command 1 (copy) signals, and "
                "that never begins",
                "command 1 (copy) waits for 1 of timeline 3, which nobody signals"}));
}

// A signal must stand before its wait on the same queue. On another queue it may come later.
TEST(CheckCommands, ReportsWaitsForLaterCommandsOfTheSameQueue) {
  Command a = copy_command(0, 0), b = copy_command(16, 16);
  a.waits = {{1, 1}};
  b.signals = {{1, 1}};
  CommandsAround one = kTwoQueues;
  one.queues = 1;
  EXPECT_EQ(texts_of(check_commands({{a, b}}, one)),
            just("command 0 (copy) waits for 1 of timeline 1, which command 1 (copy) signals, and "
                 "that waits for this one: a circle"));
  b.queue = 1;
  EXPECT_EQ(two_queues({a, b}), std::vector<std::string>{});
}

TEST(CheckCommands, ReportsTimelinesThatDoNotGrow) {
  Command a = copy_command(0, 0), b = copy_command(16, 16);
  a.signals = {{1, 2}};
  b.signals = {{1, 1}};
  EXPECT_EQ(two_queues({a, b}),
            just("command 1 (copy) signals 1 of timeline 1, behind the 2 of command 0 (copy)"));
  b.signals = {{1, 2}};
  EXPECT_EQ(two_queues({a, b}),
            just("command 1 (copy) signals 2 of timeline 1, as command 0 (copy) does"));
  b.signals = {{1, 3}, {1, 4}};
  EXPECT_EQ(two_queues({a, b}), just("command 1 (copy) signals timeline 1 twice"));
  b.signals = {{7, 3}};
  EXPECT_EQ(two_queues({a, b}),
            just("command 1 (copy) signals 3 of timeline 7, which has 3 by others"));
  b.signals = {{1, 3}};
  EXPECT_EQ(two_queues({a, b}), std::vector<std::string>{});
  b.queue = 1;
  EXPECT_EQ(two_queues({a, b}), just("command 1 (copy) signals 3 of timeline 1, in no order with "
                                     "the 2 of command 0 (copy)"));
  b.waits = {{1, 1}};
  EXPECT_EQ(two_queues({a, b}), std::vector<std::string>{});
}

TEST(CheckCommands, ConflictsAreNamed) {
  EXPECT_EQ(two_queues({copy_command(0, 0), copy_command(16, 8, false)}),
            just("command 1 (copy) writes bytes of buffer 1 that command 0 (copy) writes, and "
                 "nothing orders them"));
  EXPECT_EQ(two_queues({copy_command(0, 0), copy_command(16, 16, false)}),
            std::vector<std::string>{});
  EXPECT_EQ(two_queues({copy_command(0, 0), copy_command(16, 8)}), std::vector<std::string>{});
  EXPECT_EQ(two_queues({copy_command(0, 0), copy_command(16, 8, true, 1)}).size(), 1u);
  Command reads = {.ordered = false, .work = CopyBytes{{1, 4}, {2, 0}, 4}};
  EXPECT_EQ(two_queues({copy_command(0, 0), reads}),
            just("command 1 (copy) reads bytes of buffer 1 that command 0 (copy) writes, and "
                 "nothing orders them"));
}

TEST(CheckCommands, ReportsReadsOfUnwrittenBytes) {
  const Command reads = {.work = CopyBytes{{1, 4}, {2, 0}, 32}};
  EXPECT_EQ(two_queues({copy_command(0, 0), reads}),
            just("command 1 (copy) reads 20 bytes of buffer 1 at 16 that nobody wrote before"));
  EXPECT_EQ(two_queues({copy_command(0, 0), copy_command(0, 20, false), reads}),
            just("command 2 (copy) reads 4 bytes of buffer 1 at 16 that nobody wrote before"));
  EXPECT_EQ(
      two_queues({copy_command(0, 0), copy_command(0, 16, false), copy_command(0, 20), reads}),
      std::vector<std::string>{});
  // The copy writes the bytes only after the read.
  EXPECT_EQ(two_queues({reads, copy_command(0, 0)}),
            just("command 0 (copy) reads 32 bytes of buffer 1 at 4 that nobody wrote before"));
}

// Two commands write columns of the same rows, side by side.
TEST(CheckCommands, ReportsRowsWithTwoWriters) {
  auto add = [](uint64_t at, uint32_t n, BufferId from, BufferId to) {
    return Command{.ordered = from != 0,
                   .work = AddCall{.a = {{from, at}, 32},
                                   .b = {{from, at}, 32},
                                   .rows = 6,
                                   .n = n,
                                   .out = {{to, at}, 32}}};
  };
  const CommandsAround around = {
      .filled = {{.at = {0, 0}, .bytes = 64, .stride = 128, .rows = 6},
                 {.at = {0, 64}, .bytes = 64, .stride = 128, .rows = 6}}};
  auto faults = [&](std::vector<Command> commands) {
    return texts_of(check_commands({std::move(commands)}, around));
  };
  EXPECT_EQ(faults({add(0, 12, 0, 1), add(48, 20, 0, 1), add(0, 32, 1, 2)}),
            std::vector<std::string>{});
  EXPECT_EQ(faults({add(0, 12, 0, 1), add(52, 19, 0, 1), add(0, 32, 1, 2)}),
            just("command 2 (add) reads 24 bytes of buffer 1 at 48 that nobody wrote before"));
  EXPECT_EQ(faults({add(0, 13, 0, 1), add(48, 20, 0, 1)}),
            just("command 1 (add) writes bytes of buffer 1 that command 0 (add) writes, and "
                 "nothing orders them"));
}

// Finds the possible orders in a second way, to compare with CommandOrder: it tries all orders in
// which commands can end, one after the other.
class AllOrders {
 public:
  explicit AllOrders(const std::vector<Command>& commands)
      : commands_(commands), ended_(commands.size()), first_(commands.size()) {
    go_on({});
  }

  bool all_end() const { return complete_ && !stuck_; }
  bool none_ends() const { return !complete_; }
  // Whether a ends before b in one of these orders.
  bool may_precede(size_t a, size_t b) const { return first_[a].contains(b); }

 private:
  uint64_t reached(TimelineId timeline) const {
    uint64_t value = 0;
    for (size_t i = 0; i < commands_.size(); ++i) {
      if (!all_ended(i + 1, commands_[i].queue)) continue;
      for (const Moment& moment : commands_[i].signals) {
        if (moment.timeline == timeline) value = std::max(value, moment.value);
      }
    }
    return value;
  }
  bool all_ended(size_t before, uint32_t queue) const {
    for (size_t i = 0; i < before; ++i) {
      if (commands_[i].queue == queue && !ended_[i]) return false;
    }
    return true;
  }
  bool may_run(size_t command) const {
    const uint32_t queue = commands_[command].queue;
    for (size_t i = 0; i <= command; ++i) {
      if (commands_[i].queue != queue) continue;
      if (commands_[i].ordered && !all_ended(i, queue)) return false;
      for (const Moment& moment : commands_[i].waits) {
        if (reached(moment.timeline) < moment.value) return false;
      }
    }
    return true;
  }
  void go_on(const std::vector<size_t>& order) {
    bool any = false;
    for (size_t i = 0; i < commands_.size(); ++i) {
      if (ended_[i] || !may_run(i)) continue;
      any = true;
      std::vector<size_t> longer = order;
      for (size_t before : longer) first_[before].insert(i);
      longer.push_back(i);
      ended_[i] = true;
      go_on(longer);
      ended_[i] = false;
    }
    if (any) return;
    (order.size() == commands_.size() ? complete_ : stuck_) = true;
  }

  const std::vector<Command>& commands_;
  std::vector<bool> ended_;
  std::vector<std::set<size_t>> first_;
  bool complete_ = false, stuck_ = false;
};

// Makes six copies between two buffers, on two queues. Each queue signals a timeline.
std::vector<Command> drawn_commands(std::mt19937& random) {
  std::vector<Command> commands;
  uint64_t values[2] = {0, 0};
  for (uint64_t i = 0; i < 6; ++i) {
    const auto queue = static_cast<uint32_t>(random() % 2);
    Command command = copy_command(16 * i, random() % 12 * 8, random() % 2 == 0, queue);
    if (random() % 2 == 0) command.signals = {{queue, ++values[queue]}};
    if (random() % 2 == 0) {
      command.waits = {{static_cast<TimelineId>(random() % 2), 1 + random() % 2}};
    }
    commands.push_back(command);
  }
  return commands;
}

TEST(CheckCommands, AgreesWithTryingAllOrders) {
  std::mt19937 random(11);
  uint32_t clean = 0, stuck = 0, conflicts = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::vector<Command> commands = drawn_commands(random);
    const AllOrders orders(commands);
    const std::vector<CommandFault> faults = check_commands({commands}, kTwoQueues);
    const bool waits = std::ranges::any_of(faults, [](const CommandFault& fault) {
      return fault.text.find(" waits for ") != std::string::npos;
    });
    ASSERT_EQ(orders.all_end(), !waits);
    ASSERT_EQ(orders.none_ends(), waits);
    stuck += waits;
    if (waits) continue;
    std::set<std::pair<size_t, size_t>> told, shown;
    for (const CommandFault& fault : faults) told.insert({fault.other, fault.command});
    for (size_t b = 0; b < commands.size(); ++b) {
      for (size_t a = 0; a < b; ++a) {
        if (!overlap(accesses_of(commands[a])[1], accesses_of(commands[b])[1])) continue;
        if (orders.may_precede(a, b) && orders.may_precede(b, a)) shown.insert({a, b});
      }
    }
    ASSERT_EQ(told, shown) << i;
    conflicts += !shown.empty();
    clean += shown.empty();
  }
  EXPECT_GT(clean, 50u);
  EXPECT_GT(stuck, 200u);
  EXPECT_GT(conflicts, 200u);
}

TEST(CheckCommands, LongListsAreChecked) {
  const TestList layers = layers_list(263);
  EXPECT_GT(layers.list.commands.size(), 4990u);
  EXPECT_EQ(faults_of(layers), std::vector<std::string>{});
  TestList wrong = layers;
  for (Command& command : wrong.list.commands) command.ordered = false;
  EXPECT_EQ(faults_of(wrong).size(), kMaxFaults);
}

}  // namespace
}  // namespace hearth
