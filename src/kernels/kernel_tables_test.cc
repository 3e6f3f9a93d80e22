#include "kernels/kernel_tables.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace hearth {
namespace {

// A level, and a level above it whose only own kernels are those for integer codes.
#if defined(__x86_64__)
constexpr Isa kLow = Isa::kAvx2, kHigh = Isa::kAvxVnni;
#elif defined(__aarch64__)
constexpr Isa kLow = Isa::kNeon, kHigh = Isa::kI8mm;
#endif

constexpr auto kFloat = static_cast<size_t>(PackKind::kF32);
constexpr auto kCodes = static_cast<size_t>(PackKind::kQ4_0);

std::string line(const char* kind, const char* sizes, const char* rows, int prefetch,
                 const char* rest = "parts 1 task 0 0") {
  return fmt::format("schedule {} {} rows {} tile 1 1 slice 8 unpack {} prefetch {} l1 {}\n", kind,
                     sizes, rows, std::string(kind) == "f32" ? 0 : 9, prefetch, rest);
}
const std::string kAnySizes = "any any threads any";
std::string any_line(const char* kind, const char* rows, int prefetch) {
  return line(kind, kAnySizes.c_str(), rows, prefetch);
}

ProcessorSchedules schedules(const std::string& lines) {
  return parse_processor_schedules(
      "hearth-schedules 1\nprocessor any family any model any\n" + lines, "text");
}

std::string at(Isa isa) { return fmt::format("isa {}\n", isa_name(isa)); }

// Returns the schedules for all processors, then `some`.
std::vector<ProcessorSchedules> behind_all(const std::vector<ProcessorSchedules>& some) {
  std::vector<ProcessorSchedules> all = schedules_for({});
  all.insert(all.end(), some.begin(), some.end());
  return all;
}

std::string rows_text(const GemmKernel& gemm) {
  std::string text;
  for (const RowsDefault& of : gemm.defaults) {
    text += schedule_text({{}, of.max_rows, of.schedule}) + "\n";
  }
  return text;
}

TEST(KernelTables, AKernelHasADefaultForAllRows) {
  const KernelTables tables(schedules_for({}));
  for (const Kernels* level : built_levels()) {
    const Kernels& kernels = tables.at(level->isa);
    EXPECT_TRUE(kernels.products.empty());
    for (size_t kind = 0; kind < kPackKinds; ++kind) {
      EXPECT_EQ(kernels.gemm[kind].fn, level->gemm[kind].fn);
      EXPECT_EQ(kernels.gemm[kind].defaults.back().max_rows, kAnyRows);
    }
  }
}

TEST(KernelTables, AKernelWithoutADefaultIsRefused) {
  std::vector<ProcessorSchedules> all = schedules_for({});
  for (ProcessorSchedules::Level& level : all.front().levels) {
    std::erase_if(level.entries, [&](const ScheduleEntry& entry) {
      return level.isa == kLow && entry.product.kind == PackKind::kF32;
    });
  }
  try {
    const KernelTables tables(all);
    FAIL() << "f32 has none at that level";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_EQ(std::string(error.what()),
              fmt::format(
                  "the schedules of f32 at ISA level {} are not possible: none is for products of "
                  "all sizes",
                  isa_name(kLow)));
  }
}

TEST(KernelTables, SchedulesAreOfALevelAndOfThoseWithItsKernels) {
  const KernelTables by_all(schedules_for({}));
  const KernelTables tables(
      behind_all({schedules(at(kLow) + "attend places 4\n" + any_line("f32", "4", 64) +
                            any_line("f32", "9", 128) + any_line("q4_0", "any", 256))}));
  for (Isa isa : {kLow, kHigh}) {
    const GemmKernel& gemm = tables.at(isa).gemm[kFloat];
    EXPECT_EQ(gemm.default_for(4).prefetch, 64) << isa_name(isa);
    EXPECT_EQ(gemm.default_for(5).prefetch, 128) << isa_name(isa);
    EXPECT_EQ(gemm.default_for(1000).prefetch, 128) << "the last is for more rows, too";
    EXPECT_EQ(tables.at(isa).attend_places, 4u);
  }
  EXPECT_EQ(tables.at(kLow).gemm[kCodes].default_for(1).prefetch, 256);
  EXPECT_EQ(rows_text(tables.at(kHigh).gemm[kCodes]), rows_text(by_all.at(kHigh).gemm[kCodes]))
      << "it has another kernel";
  EXPECT_EQ(tables.at(Isa::kReference).attend_places, 1u);
}

TEST(KernelTables, LaterSchedulesReplaceEarlierOnes) {
  const ProcessorSchedules first =
      schedules(at(kLow) + any_line("f32", "4", 64) + any_line("f32", "any", 128) +
                any_line("q4_0", "any", 256));
  const ProcessorSchedules second = schedules(at(kLow) + any_line("f32", "any", 192));
  const KernelTables tables(behind_all({first, second}));
  EXPECT_EQ(tables.at(kLow).gemm[kFloat].default_for(1).prefetch, 192);
  EXPECT_EQ(tables.at(kLow).gemm[kCodes].default_for(1).prefetch, 256);
}

TEST(KernelTables, ProductsOfOneSizeAreListed) {
  constexpr const char* kTask = "parts 2 task 4 256";
  const ProcessorSchedules first =
      schedules(at(kLow) + line("f32", "64 64 threads 2", "1", 64, kTask) +
                line("f32", "96 64 threads 2", "1", 64, kTask) +
                line("q4_0", "64 64 threads 2", "1", 64, kTask));
  const ProcessorSchedules second =
      schedules(at(kLow) + line("f32", "64 64 threads 2", "1", 128, kTask));
  const KernelTables by_all(schedules_for({}));
  const KernelTables tables(behind_all({first, second}));
  const std::span<const ScheduleEntry> products = tables.at(kHigh).products;
  ASSERT_EQ(products.size(), 2u) << "the other kind has another kernel there";
  EXPECT_EQ(products[0].schedule.prefetch, 128);
  EXPECT_EQ(products[1].product.outputs, 96u);
  EXPECT_EQ(tables.at(kLow).products.size(), 3u);
  EXPECT_EQ(rows_text(tables.at(kLow).gemm[kFloat]), rows_text(by_all.at(kLow).gemm[kFloat]));
}

std::string fault_of(const std::string& lines) {
  try {
    const KernelTables tables(behind_all({schedules(at(kLow) + lines)}));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    return error.what();
  }
  return "";
}

TEST(KernelTables, RefuseSchedulesOutsideOfTheMenu) {
  const std::string head =
      fmt::format("the schedules of f32 at ISA level {} are not possible: ", isa_name(kLow));
  EXPECT_EQ(fault_of(any_line("f32", "any", 20000)), head + "prefetch is 20000, not 0 to 16384");
  EXPECT_EQ(fault_of(line("f32", "64 64 threads 2", "1", 20000)),
            head + "prefetch is 20000, not 0 to 16384");
  EXPECT_EQ(fault_of(any_line("f32", "4", 64) + any_line("f32", "4", 64)),
            head + "their rows do not ascend");
  EXPECT_EQ(fault_of(line("f32", kAnySizes.c_str(), "any", 64, "parts 2 task 0 0")),
            head + "tasks and parts are those of products of one size, here 0 0 and 1");
}

}  // namespace
}  // namespace hearth
