// Tests Json where memory runs out: whichever of RapidJSON's allocations fails, std::bad_alloc is
// thrown. The program is linked so that realloc() is the function below.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "base/json.h"

namespace {

// Counts calls of realloc(). The call with number `failing` fails; 0: no call fails.
struct Shortage {
  mutable uint64_t calls = 0, failing = 0;
};

const Shortage& shortage() {
  static const Shortage kShortage;
  return kShortage;
}

}  // namespace

extern "C" {
void* __real_realloc(void* old, size_t bytes);  // NOLINT: the linker's name
void* __wrap_realloc(void* old, size_t bytes);  // NOLINT

// NOLINTNEXTLINE
void* __wrap_realloc(void* old, size_t bytes) {
  return ++shortage().calls == shortage().failing ? nullptr : __real_realloc(old, bytes);
}
}

namespace hearth {
namespace {

// Long and deep enough for both of a writer's stacks to grow.
std::string written() {
  constexpr int kDepth = 100;
  Json json;
  for (int i = 0; i < kDepth; ++i) json.array().text(std::string(64, 'a'));
  for (int i = 0; i < kDepth; ++i) json.end_array();
  return json.line();
}

TEST(JsonShortage, ThrowsWhicheverAllocationFails) {
  std::string whole = written();
  uint64_t failing = 1, failures = 0;
  for (bool failed = true; failed; ++failing) {
    shortage().calls = 0;
    shortage().failing = failing;
    failed = false;
    try {
      EXPECT_EQ(written(), whole);
    } catch (const std::bad_alloc&) {
      failed = true;
      ++failures;
    }
  }
  shortage().failing = 0;
  EXPECT_GT(failures, 5u);
  EXPECT_EQ(written(), whole);
}

}  // namespace
}  // namespace hearth
