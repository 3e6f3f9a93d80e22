#include "http/client_shares.h"

#include <gtest/gtest.h>

#include <string>

namespace hearth {
namespace {

// Takes `at_a_time` units as often as the client may, and returns how many it has then.
uint64_t take_all(ClientShares& shares, const std::string& client, uint64_t at_a_time) {
  while (shares.may_take(client, at_a_time)) shares.take(client, at_a_time);
  return shares.held_by(client);
}

TEST(ClientShares, OneClientHasHalfOfWhatWaits) {
  ClientShares shares(80, 16);
  EXPECT_EQ(shares.most(), 48u);
  EXPECT_EQ(take_all(shares, "flood", 8), 48u);
  EXPECT_TRUE(shares.may_take("polite", 1));
  EXPECT_TRUE(shares.may_take("polite", 16));
  EXPECT_FALSE(shares.may_take("polite", 17)) << "as much as it leaves free, and one";
  shares.take("polite", 16);
  EXPECT_FALSE(shares.may_take("flood", 1));
  shares.give_back("flood", 8);
  EXPECT_FALSE(shares.may_take("flood", 8)) << "it has more than it leaves free";
  EXPECT_TRUE(shares.may_take("polite", 4));
  shares.give_back("flood", 40);
  EXPECT_EQ(shares.held_by("flood"), 0u);
  EXPECT_EQ(shares.held(), 16u);
  EXPECT_EQ(take_all(shares, "flood", 1), 32u) << "the other one has all that is in use";
}

TEST(ClientShares, HoweverManyFloodThereIsRoomForTheNext) {
  for (int floods = 1; floods < 40; ++floods) {
    ClientShares shares(80, 16);
    for (int round = 0; round < 80; ++round) {
      for (int i = 0; i < floods; ++i) {
        if (shares.may_take(std::to_string(i), 1)) shares.take(std::to_string(i), 1);
      }
    }
    EXPECT_TRUE(shares.may_take("polite", 1)) << floods;
    for (int i = 0; i < floods; ++i) EXPECT_GE(shares.held_by(std::to_string(i)), 1u) << floods;
  }
}

TEST(ClientShares, OneClientMayUseEverythingInUse) {
  ClientShares none_waits(16, 16);
  EXPECT_EQ(none_waits.most(), 16u);
  EXPECT_EQ(take_all(none_waits, "alone", 1), 16u);
  EXPECT_FALSE(none_waits.may_take("other", 1));
  ClientShares one_waits(2, 1);
  EXPECT_EQ(one_waits.most(), 2u);
  EXPECT_EQ(take_all(one_waits, "alone", 1), 2u);
}

TEST(ClientShares, OneClientMayUseHalfWithoutWaiting) {
  ClientShares bytes(256);
  EXPECT_EQ(take_all(bytes, "flood", 8), 128u);
  EXPECT_TRUE(bytes.has_room(128));
  EXPECT_FALSE(bytes.has_room(129));
  EXPECT_TRUE(bytes.may_take("flood", 0));
  EXPECT_FALSE(bytes.may_take("flood", 1));
  EXPECT_EQ(take_all(bytes, "other", 8), 64u);
  bytes.give_back("flood", 128);
  EXPECT_EQ(take_all(bytes, "other", 8), 128u);
  bytes.take("nobody", 0);
  bytes.give_back("nobody", 0);
  EXPECT_EQ(bytes.held(), 128u);
}

}  // namespace
}  // namespace hearth
