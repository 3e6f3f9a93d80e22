// By which kernel and schedule every level computes what no table names, on processors of each
// family: held against a recorded list, testdata/default_schedules.txt. What was found is written
// to default_schedules.txt in the build folder, to take its place where a change was meant.
//
// A paragraph is the pack kinds of a level that do alike: whose kernels they are, then for each
// family of processors that does not do as all others a line for each number of rows from which on
// the schedule is another one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kMostRows = 600;

struct Family {
  const char* name;
  MemoryStreams streams;
};
constexpr Family kFamilies[] = {{"others", MemoryStreams::kOne},
                                {"AuthenticAMD 26", MemoryStreams::kOneOfFew},
                                {"GenuineIntel", MemoryStreams::kSeveral}};

#if defined(__x86_64__)
constexpr Isa kLevels[] = {Isa::kReference, Isa::kAvx2,       Isa::kAvxVnni, Isa::kAvx512Bw,
                           Isa::kAvx512,    Isa::kAvx512Bf16, Isa::kAmx};
#else
constexpr Isa kLevels[] = {Isa::kReference, Isa::kNeon, Isa::kI8mm, Isa::kI8mmBf16};
#endif

std::string fields(const GemmSchedule& s) {
  return fmt::format("tile {} {} slice {} unpack {} prefetch {} {} parts {} task {} {}",
                     s.tile_panels, s.tile_rows, s.slice, s.unpack_rows, s.prefetch,
                     s.prefetch_to == Cache::kL1 ? "l1" : "l2", s.k_parts, s.task_panels,
                     s.task_rows);
}

std::string rows_text(Isa isa, size_t kind, const Family& family) {
  const GemmMenu& menu = *kernels_for(isa, family.streams).menu[kind];
  std::string text, last;
  for (uint32_t rows = 1; rows <= kMostRows; ++rows) {
    const std::string now = fields(menu.default_for(rows));
    if (now != last) text += fmt::format("  from {} rows on: {}\n", rows, now);
    last = now;
  }
  return text;
}

std::string places_text(Isa isa) {
  std::string text = fmt::format("{} pages, prefetched from", isa_name(isa));
  for (const Family& family : kFamilies) {
    const bool four = kernels_for(isa, family.streams).attend_four_places;
    text += fmt::format("{} {}: {}", &family == kFamilies ? "" : ",", family.name, four ? 4 : 1);
  }
  return text + "\n";
}

// The first level that has the kernel, in some table.
const char* whose(Isa isa, size_t kind) {
  const GemmFn kernel = kernels_for(isa, MemoryStreams::kOne).gemm[kind];
  for (Isa level : kLevels) {
    for (const Family& family : kFamilies) {
      if (kernels_for(level, family.streams).gemm[kind] == kernel) return isa_name(level);
    }
  }
  return "none";
}

std::string kind_text(Isa isa, size_t kind) {
  std::string text = fmt::format("kernel of {}\n", whose(isa, kind));
  const std::string others = rows_text(isa, kind, kFamilies[0]);
  for (const Family& family : kFamilies) {
    const std::string rows = rows_text(isa, kind, family);
    if (&family == kFamilies || rows != others) text += fmt::format(" {}\n{}", family.name, rows);
  }
  return text;
}

std::string level_text(Isa isa) {
  std::string text = places_text(isa);
  std::vector<std::pair<std::string, std::string>> told;  // what kinds do, and which do
  for (size_t kind = 0; kind < kPackKinds; ++kind) {
    const std::string does = kind_text(isa, kind);
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

// The recorded paragraphs, by level.
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
  for (Isa isa : kLevels) {
    const std::string text = level_text(isa);
    found << text;
    EXPECT_EQ(text, expected[isa_name(isa)]) << isa_name(isa);
  }
}

}  // namespace
}  // namespace hearth
