// Helpers for tests of the calls that check_call() refuses.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "accelerator/kernel_calls.h"
#include "base/error.h"

namespace hearth {

// Expects check_call() to accept the call, and to refuse it with `text` in the message once `spoil`
// has changed it.
template <typename Call>
void expect_refused(Call call, const std::function<void(Call&)>& spoil, const char* text) {
  EXPECT_NO_THROW(check_call(call));
  spoil(call);
  try {
    check_call(call);
    ADD_FAILURE() << "passed: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRequest);
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

}  // namespace hearth
