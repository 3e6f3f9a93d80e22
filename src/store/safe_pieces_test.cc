#include "store/safe_pieces.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hearth {
namespace {

class SafePiecesTest : public ::testing::Test {
 protected:
  SafePiecesTest() : folder_(::testing::TempDir() + "safe-XXXXXX") { mkdtemp(folder_.data()); }
  ~SafePiecesTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(SafePiecesTest, RoundTrip) {
  SafePieces pieces = SafePieces::of(20000, 8192);
  ASSERT_EQ(pieces.pieces.size(), 3u);
  pieces.pieces[0].done = 8192;
  pieces.pieces[1].done = 64;
  pieces.pieces[1].sum = 5;
  pieces.pieces[2].done = 3616;
  EXPECT_EQ(pieces.prefix(), 8256u);
  EXPECT_EQ(pieces.done(), 8192u + 64 + 3616);
  pieces.adopted = 8200;
  pieces.write(folder_ + "/r");
  const SafePieces again = SafePieces::read(folder_ + "/r", 20000, 4096);
  EXPECT_EQ(again.piece, 8192u);
  EXPECT_EQ(again.done(), pieces.done());
  EXPECT_EQ(again.pieces[1].sum, 5u);
  EXPECT_EQ(again.adopted, 8200u);
}

TEST_F(SafePiecesTest, PiecesOfALargeFileAreNoMoreThanARecordHolds) {
  SafePieces pieces = SafePieces::of(uint64_t{1} << 33, 4096);
  EXPECT_LE(pieces.pieces.size(), 65536u);
  EXPECT_EQ(pieces.piece % 4096, 0u);
  pieces.pieces[1].done = 4096;
  pieces.write(folder_ + "/r");
  EXPECT_EQ(SafePieces::read(folder_ + "/r", uint64_t{1} << 33, 4096).done(), 4096u);
}

TEST_F(SafePiecesTest, IgnoresRecordsThatDoNotFit) {
  for (const char* text :
       {"", "x", "hearth-pieces-3 20000 8192 0\n",
        "hearth-pieces-3 20000 8192 0\n9000 1\n0 1\n0 1\n",
        "hearth-pieces-3 20000 8192 0\n24 1\n0 1\n0 1\n", "hearth-pieces-3 1 8192 0\n0 1\n",
        "hearth-pieces-3 20000 0 0\n", "hearth-pieces-3 20000 8192 0\n-8 1\n0 1\n0 1\n"}) {
    std::ofstream(folder_ + "/r") << text;
    EXPECT_EQ(SafePieces::read(folder_ + "/r", 20000, 4096).done(), 0u) << text;
  }
}

}  // namespace
}  // namespace hearth
