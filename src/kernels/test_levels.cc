#include "kernels/test_levels.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

namespace hearth {
namespace {

#ifdef HEARTH_EMULATED
std::string processor() { return "an emulator (qemu-user)"; }
#else
// Returns the value of the first line of /proc/cpuinfo that begins with `key`; empty if there is
// none.
std::string cpu_info(const std::string& key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    size_t colon = line.find(": ");
    if (colon != std::string::npos && line.find_first_of("\t:") == key.size() &&
        line.starts_with(key)) {
      return line.substr(colon + 2);
    }
  }
  return {};
}

// Returns the processor's name or, since virtual machines hide that, its family and model.
std::string processor() {
  std::string name = cpu_info("model name"), part = cpu_info("CPU part");
  if (!part.empty())
    return fmt::format("ARM (implementer {}, part {})", cpu_info("CPU implementer"), part);
  return fmt::format("{} (family {}, model {})", name, cpu_info("cpu family"), cpu_info("model"));
}
#endif

std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

// Writes isa_levels.csv. Several processes of one test program may write it at once, each with the
// same content.
void write_levels() {
  std::filesystem::path path = std::filesystem::path(HEARTH_BUILD_FOLDER) / "isa_levels.csv";
  std::filesystem::path fresh = path.string() + "." + std::to_string(getpid());
  std::vector<Isa> tested = test_levels();
  CpuFeatures features = detect_cpu_features();
  {
    std::ofstream file(fresh);
    file << "level,tested,processor,date,missing\n";
    for (Isa isa : all_isas()) {
      bool here = std::find(tested.begin(), tested.end(), isa) != tested.end();
      file << fmt::format("{},{},\"{}\",{},{}\n", isa_name(isa), here ? "yes" : "no", processor(),
                          today(), fmt::join(missing_for(isa, features), " "));
    }
  }
  std::filesystem::rename(fresh, path);
}

class Levels : public testing::Environment {
 public:
  void TearDown() override {
    // If only some tests run, the file is not written.
    bool all = testing::GTEST_FLAG(filter) == "*";
    if (all && testing::UnitTest::GetInstance()->Passed()) write_levels();
  }
};
[[maybe_unused]] const testing::Environment* const levels =
    testing::AddGlobalTestEnvironment(new Levels);

}  // namespace

std::vector<Isa> test_levels() { return available_isas(detect_cpu_features()); }

}  // namespace hearth
