#include "topology/processor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace hearth {
namespace {

// Returns the value of the first line of /proc/cpuinfo that begins with the key; empty if none
// does.
std::string cpu_info(const std::string& key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos || !line.starts_with(key)) continue;
    if (line.find_first_of("\t:") == key.size()) return line.substr(colon + 2);
  }
  return {};
}

TEST(Processor, IsTheOneThatLinuxNames) {
  const Processor here = processor_here();
#if defined(__x86_64__)
  EXPECT_EQ(here.vendor, cpu_info("vendor_id"));
  EXPECT_EQ(fmt::format("{}", here.family), cpu_info("cpu family"));
  EXPECT_EQ(fmt::format("{}", here.model), cpu_info("model"));
  __builtin_cpu_init();
  EXPECT_EQ(here.vendor == "GenuineIntel", __builtin_cpu_is("intel") != 0);
  EXPECT_EQ(here.vendor == "AuthenticAMD" && here.family == 25, __builtin_cpu_is("amdfam19h") != 0);
#elif defined(__aarch64__)
  // An emulator shows /proc/cpuinfo of the machine that it runs on.
  if (const std::string implementer = cpu_info("CPU implementer"); !implementer.empty()) {
    EXPECT_EQ(here.vendor, implementer);
  }
#endif
}

}  // namespace
}  // namespace hearth
