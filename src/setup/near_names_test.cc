#include "setup/near_names.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "run"), 3u);
  EXPECT_EQ(edit_distance("run", "rnu"), 1u);
  EXPECT_EQ(edit_distance("inspct", "inspect"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearNames, FindsTyposAndBeginnings) {
  std::vector<std::string> names = {"run", "inspect", "tokenize", "topo", "version"};
  EXPECT_EQ(near_names("rnu", names), std::vector<std::string>{"run"});
  EXPECT_EQ(near_names("tokenise", names), std::vector<std::string>{"tokenize"});
  EXPECT_EQ(near_names("to", names), (std::vector<std::string>{"topo", "tokenize"}));
  EXPECT_TRUE(near_names("banana", names).empty());
}

TEST(DidYouMean, IsASentenceOrNothing) {
  EXPECT_EQ(did_you_mean("rum", {"run", "topo"}), "; did you mean 'run'?");
  EXPECT_EQ(did_you_mean("banana", {"run", "topo"}), "");
}

}  // namespace
}  // namespace hearth
