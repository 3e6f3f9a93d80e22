#include "store/piece_fetch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

namespace hearth {
namespace {

TEST(PieceQueue, GivesNoPieceFarAheadOfTheHash) {
  constexpr uint64_t kPiece = 4096;
  SafePieces pieces = SafePieces::of(6 * kPiece, kPiece);
  pieces.pieces[0].done = kPiece;
  const std::atomic<bool> stop{false};
  PieceQueue queue(&pieces, stop, 2 * kPiece);
  // Piece 0 was fetched before. It still has to be hashed, but does not keep the queue from giving
  // out pieces 1 and 2.
  EXPECT_EQ(queue.take(), 1u);
  EXPECT_EQ(queue.take(), 2u);
  queue.set_hashed(kPiece);
  auto next = [&] { return std::async(std::launch::async, [&] { return queue.take(); }); };
  std::future<std::optional<size_t>> waits = next();
  EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  queue.set_hashed(kPiece + 1);
  EXPECT_EQ(waits.get(), 3u);
  waits = next();
  queue.end();
  EXPECT_FALSE(waits.get());
}

TEST(ContentRange, IsReadStrictly) {
  const auto range = read_content_range("bytes 7-9/20");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 7u);
  EXPECT_EQ(range->end, 10u);
  EXPECT_EQ(range->size, 20u);
  EXPECT_FALSE(read_content_range("bytes 7-9/*")->size);
  for (const char* text : {"", "bytes", "bytes 9-7/20", "bytes */20", "bytes 1-2", "bytes 1-2/3x",
                           "bytes 0-18446744073709551615/1", "octets 1-2/3"}) {
    EXPECT_FALSE(read_content_range(text)) << text;
  }
}

}  // namespace
}  // namespace hearth
