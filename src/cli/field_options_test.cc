#include "cli/field_options.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(FieldOptions, FieldsAreCalledAsTheOptionsThatSetThem) {
  Error error(ErrorCode::kUsage, "temperature", "is 200; it must lie between 0 and 100");
  EXPECT_STREQ(error.what(), "temperature is 200; it must lie between 0 and 100");
  EXPECT_EQ(error.field(), "temperature");
  EXPECT_EQ(command_line_text(error), "--temp is 200; it must lie between 0 and 100");
}

TEST(FieldOptions, OtherErrorsStayAsTheyAre) {
  EXPECT_EQ(command_line_text(Error(ErrorCode::kFile, "'a' is no file")), "'a' is no file");
  EXPECT_EQ(command_line_text(Error(ErrorCode::kRequest, "seed", "is odd")), "seed is odd");
}

}  // namespace
}  // namespace hearth
