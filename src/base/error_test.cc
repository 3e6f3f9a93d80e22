#include "base/error.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Error, CarriesCodeAndSentence) {
  try {
    fail(ErrorCode::kFile, "cannot open '{}'", "a.gguf");
    FAIL() << "fail() returned";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kFile);
    EXPECT_STREQ(e.what(), "cannot open 'a.gguf'");
    EXPECT_EQ(e.exit_status(), 1);
  }
}

TEST(Error, ExitStatusIsTwoForUsageErrorsOnly) {
  EXPECT_EQ(Error(ErrorCode::kUsage, "").exit_status(), 2);
  for (ErrorCode code : {ErrorCode::kFile, ErrorCode::kUnsupported, ErrorCode::kResource,
                         ErrorCode::kRequest, ErrorCode::kBusy}) {
    EXPECT_EQ(Error(code, "").exit_status(), 1) << static_cast<int>(code);
  }
}

TEST(Error, ErrorOfAFieldBeginsWithItsName) {
  try {
    fail_field(ErrorCode::kRequest, "top_p", "is {}; it must lie between 0 and 1", 7);
    FAIL() << "fail_field() returned";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::kRequest);
    EXPECT_EQ(e.field(), "top_p");
    EXPECT_STREQ(e.what(), "top_p is 7; it must lie between 0 and 1");
    EXPECT_EQ(e.text_naming("--top-p"), "--top-p is 7; it must lie between 0 and 1");
    EXPECT_EQ(e.text_naming("p"), "p is 7; it must lie between 0 and 1");
  }
}

TEST(Error, ErrorWithoutAFieldNamesNone) {
  Error error(ErrorCode::kFile, "'a' is {} no format");
  EXPECT_EQ(error.field(), "");
  EXPECT_STREQ(error.what(), "'a' is {} no format");
}

}  // namespace
}  // namespace hearth
