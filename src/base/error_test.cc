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

TEST(Error, OnlyUsageExitsWithTwo) {
  EXPECT_EQ(Error(ErrorCode::kUsage, "").exit_status(), 2);
  for (ErrorCode code :
       {ErrorCode::kFile, ErrorCode::kUnsupported, ErrorCode::kResource, ErrorCode::kRequest}) {
    EXPECT_EQ(Error(code, "").exit_status(), 1) << error_code_name(code);
  }
}

}  // namespace
}  // namespace hearth
