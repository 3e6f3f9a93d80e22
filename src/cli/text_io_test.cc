#include "cli/text_io.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

TEST(ReadText, NamesWhatIsMissing) {
  try {
    read_text("/no/such/file");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "'/no/such/file' cannot be opened: No such file or directory");
    EXPECT_EQ(error.exit_status(), 1);
  }
}

TEST(WithoutLastNewline, TakesOneOnly) {
  EXPECT_EQ(without_last_newline("a\n\n"), "a\n");
  EXPECT_EQ(without_last_newline("a\r\n"), "a");
  EXPECT_EQ(without_last_newline("a"), "a");
}

}  // namespace
}  // namespace hearth
