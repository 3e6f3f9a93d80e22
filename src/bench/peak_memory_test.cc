#include "bench/peak_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace hearth {
namespace {

TEST(PeakMemory, ReadsTheFieldsOfStatus) {
  auto memory = parse_process_memory(
      "Name:\tVmRSS: 7 kB\nVmHWM:\t   13536 kB\nVmRSS:\t   13000 kB\nHugetlbPages:\t    2048 kB\n");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->peak, 13536u << 10);
  EXPECT_EQ(memory->resident, 13000u << 10);
  EXPECT_EQ(memory->huge, 2048u << 10);
  memory = parse_process_memory("VmHWM: 2 kB\nVmRSS: 1 kB");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->huge, 0u);
}

TEST(PeakMemory, RefusesMalformedStatus) {
  EXPECT_FALSE(parse_process_memory("").has_value());
  EXPECT_FALSE(parse_process_memory("VmHWM: 2 kB\n").has_value());
  EXPECT_FALSE(parse_process_memory("VmRSS: 2 kB\nVmHWMx: 2 kB\n").has_value());
  EXPECT_FALSE(parse_process_memory("VmHWM: none\nVmRSS: 1 kB\n").has_value());
}

// ThreadSanitizer keeps four bytes of shadow for each byte, so five are resident for it.
#if defined(__SANITIZE_THREAD__)
constexpr size_t kShadow = 5;
#else
constexpr size_t kShadow = 1;
#endif

// Memory that was freed before PeakMemory was made does not count. Memory allocated and freed
// afterwards counts.
TEST(PeakMemory, MeasuresThePeakSinceItWasMade) {
  auto come_and_go = [](size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::memset(memory, 1, bytes);
    munmap(memory, bytes);
  };
  constexpr size_t kMiB = size_t{1} << 20;
  come_and_go(200 * kMiB);
  PeakMemory peak;
  if (!peak.bytes()) GTEST_SKIP() << "no /proc/self/clear_refs here";
  EXPECT_LT(*peak.bytes(), 20 * kMiB);
  come_and_go(60 * kMiB);
  EXPECT_GT(*peak.bytes(), 40 * kMiB);
  EXPECT_LT(*peak.bytes(), kShadow * 120 * kMiB);
}

}  // namespace
}  // namespace hearth
