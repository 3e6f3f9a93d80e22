#include "cli/text_io.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

TEST(ReadText, NamesWhatIsMissing) {
  try {
    read_text("/no/such/file");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()), "cannot open '/no/such/file': No such file or directory");
    EXPECT_EQ(error.exit_status(), 1);
  }
}

TEST(ReadText, LeavesOutAByteOrderMark) {
  const std::string path = testing::TempDir() + "hearth_text_io_test";
  std::ofstream(path) << "\xef\xbb\xbf"
                      << "a\xef\xbb\xbf\n";
  EXPECT_EQ(read_text(path), "a\xef\xbb\xbf\n");
  std::filesystem::remove(path);
}

TEST(WithoutLastNewline, TakesOneOnly) {
  EXPECT_EQ(without_last_newline("a\n\n"), "a\n");
  EXPECT_EQ(without_last_newline("a\r\n"), "a");
  EXPECT_EQ(without_last_newline("a"), "a");
}

}  // namespace
}  // namespace hearth
