#include "talk/input_history.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

namespace hearth {
namespace {

class InputHistoryTest : public testing::Test {
 protected:
  InputHistoryTest() : path_(testing::TempDir() + "talk_history_test/hearth/chat_history") {
    std::filesystem::remove_all(testing::TempDir() + "talk_history_test");
  }
  std::string path_;
};

TEST_F(InputHistoryTest, KeepsMessagesForItsOwnerAlone) {
  const std::vector<std::string> said = {"one", "two\nlines \\n here", "中文"};
  InputHistory first(path_);
  for (const std::string& message : said) EXPECT_TRUE(first.add(message));
  EXPECT_EQ(first.problem(), "");
  EXPECT_EQ(InputHistory(path_).messages(), said);
  struct stat facts {};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
}

TEST_F(InputHistoryTest, LeavesOutWhatIsNotWorthIt) {
  InputHistory history(path_);
  EXPECT_FALSE(history.add(""));
  EXPECT_TRUE(history.add("a"));
  EXPECT_FALSE(history.add("a"));
  EXPECT_FALSE(history.add(std::string(kMaxHistoryBytes + 1, 'x')));
  EXPECT_EQ(history.messages(), std::vector<std::string>{"a"});
}

TEST_F(InputHistoryTest, ForgetsTheOldest) {
  InputHistory history(path_);
  for (size_t i = 0; i <= 2 * kMaxHistoryLines; ++i) history.add(std::to_string(i));
  EXPECT_EQ(InputHistory(path_).messages().size(), kMaxHistoryLines);
  EXPECT_EQ(InputHistory(path_).messages().back(), std::to_string(2 * kMaxHistoryLines));
}

TEST_F(InputHistoryTest, ReportsThatItCannotBeKept) {
  InputHistory history("/dev/null/hearth/chat_history");
  history.add("a");
  EXPECT_NE(history.problem(), "");
  EXPECT_EQ(history.messages().size(), 1u);
  EXPECT_NE(InputHistory("/dev/zero").problem(), "");
}

}  // namespace
}  // namespace hearth
