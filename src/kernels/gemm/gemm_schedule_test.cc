// No schedule changes a bit: the products of 1,000 random schedules on the menu of every ISA level
// and pack kind are compared with those of the level's default, over random rows, panels, blocks
// and segments. The faults of schedules that are not on a menu are tested, too.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/gemm/gemm_problem.h"
#include "kernels/gemm/test_kernels.h"
#include "kernels/gemm/test_schedules.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

#ifdef HEARTH_FEW_ROUNDS
constexpr int kRounds = 60;
#else
constexpr int kRounds = 1000;
#endif
// The reference has one schedule, and its products take as long as a hundred others, so few are
// tested.
constexpr int kReferenceRounds = 2;
constexpr uint32_t kMaxRows = 70, kPanels = 9, kBlocks = 37, kSuperOffset = 3;

struct Call {
  uint32_t m, panel0, panels, block0, block1;
  std::vector<uint32_t> cuts;
};

uint32_t between(uint32_t least, uint32_t most, std::mt19937& random) {
  return std::uniform_int_distribution<uint32_t>(least, most)(random);
}

Call random_call(std::mt19937& random) {
  Call call{};
  // Half of the calls or more have few rows.
  call.m = random() % 2 == 0 ? between(1, 8, random) : between(1, kMaxRows, random);
  call.panels = between(1, kPanels, random);
  call.panel0 = between(0, kPanels - call.panels, random);
  call.block1 = between(2, kBlocks, random);
  call.block0 = random() % 2 == 0 ? 0 : between(0, call.block1 - 1, random);
  if (random() % 2 == 0) return call;
  for (uint32_t b = call.block0 + 1; b < call.block1 && call.cuts.size() < kMaxCuts; ++b) {
    if (random() % 4 == 0) call.cuts.push_back(b);
  }
  return call;
}

std::string to_string(const GemmSchedule& s) {
  return "tile " + std::to_string(s.tile_panels) + " x " + std::to_string(s.tile_rows) + " slice " +
         std::to_string(s.slice) + " unpack " + std::to_string(s.unpack_rows) + " prefetch " +
         std::to_string(s.prefetch);
}

class ScheduleTest : public testing::TestWithParam<std::tuple<Isa, PackKind>> {
 protected:
  Isa isa() const { return std::get<0>(GetParam()); }
  PackKind kind() const { return std::get<1>(GetParam()); }

  void run(const Kernels& kernels, const Problem& p, const Call& call, const GemmSchedule& schedule,
           std::vector<float>* out) {
    constexpr uint32_t kPoison = 0x7fc0dead;
    out->assign(size_t{kPanelRows} * kPanels * kMaxRows, std::bit_cast<float>(kPoison));
    kernels.gemm[static_cast<size_t>(kind())]({.w = p.weights(),
                                               .panel0 = call.panel0,
                                               .panels = call.panels,
                                               .block0 = call.block0,
                                               .block1 = call.block1,
                                               .a = p.a,
                                               .m = call.m,
                                               .out = out->data(),
                                               .out_stride = size_t{kPanelRows} * kPanels,
                                               .scratch = scratch_.data(),
                                               .cuts = call.cuts,
                                               .schedule = schedule});
  }

  void expect_same_bits(int rounds) {
    const Kernels& kernels = kernels_for(isa());
    const GemmMenu& menu = *kernels.gemm[static_cast<size_t>(kind())].menu;
    const std::vector<PackForm> forms = forms_of(kind());
    const int each = std::max(1, rounds / static_cast<int>(forms.size()));
    for (const PackForm& form : forms) {
      const Problem p =
          make_problem(kind(), form, kPanels, kBlocks, kSuperOffset, kMaxRows, Fill::kRandom, 21);
      expect_same_bits(p, kernels, menu, each);
    }
  }

  void expect_same_bits(const Problem& p, const Kernels& kernels, const GemmMenu& menu,
                        int rounds) {
    std::mt19937 random(static_cast<uint32_t>(kind()) + 100);
    std::vector<float> expected, out;
    for (int round = 0; round < rounds; ++round) {
      const Call call = random_call(random);
      const GemmSchedule schedule = random_schedule(menu, random);
      ASSERT_EQ(schedule_fault(schedule, menu), "");
      run(kernels, p, call, {}, &expected);
      run(kernels, p, call, schedule, &out);
      ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(float)), 0)
          << "round " << round << ": " << to_string(schedule) << ", m " << call.m << " panels "
          << call.panels << " blocks " << call.block0 << " to " << call.block1 << ", "
          << call.cuts.size() << " cuts";
    }
  }

  PaddedBytes scratch_{kGemmScratchBytes};
};

TEST_P(ScheduleTest, ChangesNoBit) {
  expect_same_bits(isa() == Isa::kReference ? kReferenceRounds : kRounds);
}

TEST_P(ScheduleTest, DefaultsAreOnTheMenu) {
  for (const std::unique_ptr<KernelTables>& tables : tables_of_processors()) {
    const GemmKernel& gemm = tables->at(isa()).gemm[static_cast<size_t>(kind())];
    for (uint32_t m = 1; m <= 300; ++m) {
      GemmSchedule schedule = gemm.default_for(m);
      EXPECT_EQ(schedule.k_parts, 1);
      schedule.task_panels = kTaskPanelsRange.least;
      schedule.task_rows = kTaskRowsRange.least;
      ASSERT_EQ(schedule_fault(schedule, *gemm.menu), "") << "rows " << m;
    }
  }
}

std::string name_of(const testing::TestParamInfo<ScheduleTest::ParamType>& instance) {
  auto [isa, kind] = instance.param;
  return std::string(isa_name(isa)) + "_" + pack_kind_name(kind);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ScheduleTest, testing::ValuesIn(own_gemm_kernels()), name_of);

constexpr TileRange kTiles[] = {{1, 1, 16}, {2, 16, 16}};
constexpr GemmMenu kMenu = {.tiles = kTiles,
                            .slice = {4, 96},
                            .unpack_rows = {0, 0},
                            .prefetch = {0, 8192},
                            .to_l2 = false};
constexpr GemmSchedule kGood = {
    .tile_panels = 1, .tile_rows = 4, .slice = 4, .task_panels = 4, .task_rows = 256};

TEST(ScheduleFault, NamesTheFieldAndWhatItMayBe) {
  EXPECT_EQ(schedule_fault(kGood, kMenu), "");
  auto fault = [](auto change) {
    GemmSchedule s = kGood;
    change(s);
    return schedule_fault(s, kMenu);
  };
  EXPECT_EQ(fault([](GemmSchedule& s) { s.tile_rows = 17; }),
            "tile is 1 x 17, not one of 1 x 1 to 16, 2 x 16");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.tile_panels = 2; }),
            "tile is 2 x 4, not one of 1 x 1 to 16, 2 x 16");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.tile_panels = 0; }),
            "tile is 0 x 4, not one of 1 x 1 to 16, 2 x 16");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.slice = 3; }), "slice is 3, not 4 to 96");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.slice = 97; }), "slice is 97, not 4 to 96");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.unpack_rows = 1; }), "unpack is 1, not 0");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.prefetch = 8193; }), "prefetch is 8193, not 0 to 8192");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.prefetch_to = Cache::kL2; }), "prefetches go to l1 only");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.task_panels = 65; }), "task panels is 65, not 1 to 64");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.task_rows = 15; }), "task rows is 15, not 16 to 1024");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.k_parts = 9; }), "parts is 9, not 1 to 8");
  EXPECT_EQ(fault([](GemmSchedule& s) { s.k_parts = 3; }), "parts is 3, not a power of two");
  EXPECT_EQ(fault([](GemmSchedule& s) {
              s.task_panels = 64;
              s.task_rows = 512;
            }),
            "a task of 64 panels x 512 rows is larger than 16384 in all");
}

TEST(GemmKernel, RowsChooseTheDefault) {
  constexpr RowsDefault kDefaults[] = {{1, {.tile_panels = 1, .tile_rows = 1}},
                                       {16, {.tile_panels = 1, .tile_rows = 16}},
                                       {kAnyRows, {.tile_panels = 2, .tile_rows = 16}}};
  // This kernel writes the tile of the schedule that it was called with to the outputs.
  const GemmKernel gemm{[](const GemmArgs& args) {
                          args.out[0] = args.schedule.tile_panels;
                          args.out[1] = args.schedule.tile_rows;
                        },
                        &kMenu, kDefaults};
  auto tile = [&](uint32_t m, const GemmSchedule& schedule) {
    float out[2];
    gemm({.w = {},
          .panel0 = 0,
          .panels = 0,
          .block0 = 0,
          .block1 = 0,
          .a = {},
          .m = m,
          .out = out,
          .out_stride = 0,
          .scratch = nullptr,
          .cuts = {},
          .schedule = schedule});
    return std::pair(out[0], out[1]);
  };
  EXPECT_EQ(tile(1, {}), std::pair(1.0f, 1.0f));
  EXPECT_EQ(tile(2, {}), std::pair(1.0f, 16.0f));
  EXPECT_EQ(tile(16, {}), std::pair(1.0f, 16.0f));
  EXPECT_EQ(tile(17, {}), std::pair(2.0f, 16.0f));
  EXPECT_EQ(tile(17, kGood), std::pair(1.0f, 4.0f)) << "what a schedule says stays";
}

}  // namespace
}  // namespace hearth
