#include "http/connection_table.h"

#include <gtest/gtest.h>

#include <array>

#include "http/client_address.h"

namespace hearth {
namespace {

using Table = ConnectionTable<int>;
using Verdict = Table::Verdict;

TEST(ConnectionTable, ClosesTheConnectionIdleForLongest) {
  Table table(3, 3);
  std::array<int, 4> numbers{};
  std::array<Table::Place, 4> places;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(table.admit("a").closes, nullptr);
    places[i] = table.open("a", &numbers[i]);
  }
  EXPECT_TRUE(table.full());
  EXPECT_EQ(table.admit("b").closes, &numbers[0]);
  table.set_idle(places[0], false);
  EXPECT_EQ(table.admit("b").closes, &numbers[1]);
  // Connection 0 is now the one idle for the shortest time.
  table.set_idle(places[0], true);
  EXPECT_EQ(table.admit("b").closes, &numbers[1]);
  table.close(places[1]);
  table.close(places[1]);
  EXPECT_EQ(table.count(), 2u);
  places[3] = table.open("b", &numbers[3]);
  EXPECT_EQ(table.admit("c").closes, &numbers[2]);
}

TEST(ConnectionTable, NewConnectionsWaitWhereAllAreBusy) {
  Table table(2, 2);
  int first = 0, second = 0;
  Table::Place one = table.open("a", &first), two = table.open("b", &second);
  table.set_idle(one, false);
  table.set_idle(two, false);
  EXPECT_EQ(table.admit("c").verdict, Verdict::kWait);
  table.set_idle(two, true);
  EXPECT_EQ(table.admit("c").verdict, Verdict::kOpen);
  EXPECT_EQ(table.admit("c").closes, &second);
  table.close(two);
  EXPECT_EQ(table.admit("c").closes, nullptr);
}

TEST(ConnectionTable, AClientBeyondItsLimitLosesAConnectionOfItsOwn) {
  Table table(8, 2);
  int first = 0, second = 0, other = 0;
  Table::Place others = table.open("b", &other);
  Table::Place one = table.open("a", &first), two = table.open("a", &second);
  EXPECT_EQ(table.admit("a").closes, &first) << "and not the one that is idle longest";
  table.set_idle(one, false);
  EXPECT_EQ(table.admit("a").closes, &second);
  table.set_idle(two, false);
  EXPECT_EQ(table.admit("a").verdict, Verdict::kRefuse);
  EXPECT_EQ(table.admit("b").verdict, Verdict::kOpen);
  EXPECT_EQ(table.admit("b").closes, nullptr);
  table.close(one);
  EXPECT_EQ(table.admit("a").verdict, Verdict::kOpen);
  table.close(two);
  table.close(others);
  EXPECT_EQ(table.count(), 0u);
}

TEST(ClientAddress, ANetworkOfIpV6IsOneClient) {
  EXPECT_EQ(client_of_address("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(client_of_address("::ffff:192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(client_of_address("2001:db8:1:2:3::4"), "2001:db8:1:2::/64");
  EXPECT_EQ(client_of_address("2001:db8:1:2:ffff::"), "2001:db8:1:2::/64");
  EXPECT_EQ(client_of_address("2001:db8:1:3::"), "2001:db8:1:3::/64");
  EXPECT_EQ(client_of_address("::1"), "::/64");
  EXPECT_EQ(client_of_address("a socket"), "a socket");
}

}  // namespace
}  // namespace hearth
