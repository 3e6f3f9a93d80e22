// Tests which kernel and schedule every level has for products without their own schedule, on
// processors of each family, against a recorded list: testdata/default_schedules.txt. The actual
// list is written to default_schedules.txt in the build folder. It replaces the recorded one after
// an intended change.
//
// A paragraph is for the pack kinds of a level that have the same kernels and schedules. It begins
// with the level that the kernels belong to. Then each family of processors with schedules of its
// own has lines, one for each number of rows at which its schedule changes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernel_tables.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxRows = 600;

struct Family {
  const char* name;
  KernelTables tables;
};
using Families = std::array<Family, 3>;

std::string fields(const GemmSchedule& s) {
  return fmt::format("tile {} {} slice {} unpack {} prefetch {} {} parts {} task {} {}",
                     s.tile_panels, s.tile_rows, s.slice, s.unpack_rows, s.prefetch,
                     s.prefetch_to == Cache::kL1 ? "l1" : "l2", s.k_parts, s.task_panels,
                     s.task_rows);
}

std::string rows_text(const GemmKernel& gemm) {
  std::string text, last;
  for (uint32_t rows = 1; rows <= kMaxRows; ++rows) {
    const std::string now = fields(gemm.default_for(rows));
    if (now != last) text += fmt::format("  from {} rows on: {}\n", rows, now);
    last = now;
  }
  return text;
}

std::string places_text(Isa isa, const Families& families) {
  std::string text = fmt::format("{} pages, prefetched from", isa_name(isa));
  for (const Family& family : families) {
    text += fmt::format("{} {}: {}", &family == families.data() ? "" : ",", family.name,
                        family.tables.at(isa).attend_places);
  }
  return text + "\n";
}

// Returns the name of the first level that has the kernel.
const char* whose(Isa isa, size_t kind) {
  for (const Kernels* level : built_levels()) {
    if (level->gemm[kind].fn == kernels_for(isa).gemm[kind].fn) return isa_name(level->isa);
  }
  return "none";
}

std::string kind_text(Isa isa, size_t kind, const Families& families) {
  std::string text = fmt::format("kernel of {}\n", whose(isa, kind));
  const std::string others = rows_text(families[0].tables.at(isa).gemm[kind]);
  for (const Family& family : families) {
    const std::string rows = rows_text(family.tables.at(isa).gemm[kind]);
    if (&family == families.data() || rows != others) {
      text += fmt::format(" {}\n{}", family.name, rows);
    }
  }
  return text;
}

std::string level_text(Isa isa, const Families& families) {
  std::string text = places_text(isa, families);
  std::vector<std::pair<std::string, std::string>> told;  // schedules, and the kinds that have them
  for (size_t kind = 0; kind < kPackKinds; ++kind) {
    const std::string does = kind_text(isa, kind, families);
    const std::string name = pack_kind_name(static_cast<PackKind>(kind));
    auto same = std::ranges::find(told, does, &std::pair<std::string, std::string>::first);
    if (same == told.end()) {
      told.emplace_back(does, name);
    } else {
      same->second += " " + name;
    }
  }
  for (const auto& [does, kinds] : told) {
    text += fmt::format("{} {}: {}", isa_name(isa), kinds, does);
  }
  return text;
}

// Returns the recorded paragraphs, by level.
std::map<std::string, std::string> recorded() {
  std::ifstream file(HEARTH_KERNELS_TESTDATA "/default_schedules.txt");
  std::map<std::string, std::string> levels;
  std::string level;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    if (!line.starts_with(' ')) level = line.substr(0, line.find(' '));
    levels[level] += line + "\n";
  }
  return levels;
}

TEST(GemmDefaults, AreThoseRecorded) {
  std::map<std::string, std::string> expected = recorded();
  std::ofstream found(HEARTH_BUILD_FOLDER "/default_schedules.txt");
  const Families families{
      Family{"others", KernelTables(schedules_for({}))},
      Family{"AuthenticAMD 26", KernelTables(schedules_for({"AuthenticAMD", 26, 0}))},
      Family{"GenuineIntel", KernelTables(schedules_for({"GenuineIntel", 6, 0}))}};
  for (const Kernels* level : built_levels()) {
    const std::string text = level_text(level->isa, families);
    found << text;
    EXPECT_EQ(text, expected[isa_name(level->isa)]) << isa_name(level->isa);
  }
}

}  // namespace
}  // namespace hearth
