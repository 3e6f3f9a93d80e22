// Tests of how clients share places and pages: no client waits until all of another client's many
// texts have ended.
#include "scheduler_fixture.h"

namespace hearth {
namespace {

TEST_F(SchedulerTest, APlaceGoesToTheClientThatHasTheFewest) {
  SchedulerOptions options;
  options.max_running = 4;
  start(large(), options);
  std::vector<Asked> flood, polite;
  for (int i = 0; i < 20; ++i) flood.push_back(ask(from("flood", text(10, 40))));
  scheduler_->step();
  EXPECT_EQ(statistics_.running, 4u) << "nobody else asks";
  for (int i = 0; i < 3; ++i) polite.push_back(ask(from("polite", text(10, 5))));
  scheduler_->step();
  EXPECT_TRUE(turn(polite[0])) << "nobody waits for the end of a text of another client";
  EXPECT_TRUE(turn(polite[1]));
  EXPECT_FALSE(turn(polite[2])) << "half of the places";
  EXPECT_TRUE(turn(flood[0]));
  EXPECT_TRUE(turn(flood[1]));
  EXPECT_EQ(statistics_.preemptions, 2u);
  Asked third = ask(from("third", text(10, 5)));
  scheduler_->step();
  EXPECT_TRUE(turn(third) || statistics_.finished_choices > 0);
  for (int i = 0; i < 12; ++i) scheduler_->step();
  for (const Asked& asked : polite) EXPECT_EQ(read(asked).size(), 5u) << "before the flood ends";
  EXPECT_EQ(read(third).size(), 5u);
  run();
  for (const Asked& asked : flood) EXPECT_EQ(read(asked).size(), 40u);
}

TEST_F(SchedulerTest, TheClientWithTheMostRunningRequestsGivesItsPagesAway) {
  start(small());
  Asked first = ask(from("flood", text(40, 60))), second = ask(from("flood", text(40, 60)));
  Asked polite = ask(from("polite", text(40, 60)));
  scheduler_->step();
  EXPECT_EQ(statistics_.running, 3u);
  while (statistics_.preemptions == 0) scheduler_->step();
  EXPECT_TRUE(turn(first));
  EXPECT_FALSE(turn(second));
  EXPECT_TRUE(turn(polite)) << "though it is the youngest";
  run();
  for (const Asked& asked : {first, second, polite}) EXPECT_EQ(read(asked).size(), 60u);
}

TEST_F(SchedulerTest, PreemptionDoesNotChangeAText) {
  SchedulerOptions options;
  options.max_running = 2;
  start(large(), options);
  Request request = from("flood", text(30, 40));
  Asked alone = ask(request);
  run();
  std::vector<int32_t> tokens = tokens_of(read(alone));
  Asked other = ask(from("flood", text(30, 40))), asked = ask(request);
  for (int i = 0; i < 5; ++i) scheduler_->step();
  Asked polite = ask(from("polite", text(20, 5)));
  run();
  EXPECT_EQ(statistics_.preemptions, 1u);
  EXPECT_EQ(tokens_of(read(asked)), tokens);
}

}  // namespace
}  // namespace hearth
