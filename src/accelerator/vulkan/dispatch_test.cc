// Tests dispatches of the largest passes: 65,536 rows as wide as those of large models, with all
// places that their experts may need. No dispatch has more workgroups in a direction than every
// Vulkan allows.
#include "accelerator/vulkan/dispatch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hearth {
namespace {

constexpr uint32_t kMaxRows = 65536, kModelWidth = 7168, kModelHeads = 128, kKeyLength = 192,
                   kValueLength = 128;
constexpr uint32_t kExperts = 256, kUsed = 8, kHidden = 2048,
                   kPages = 2 * kMaxRows / kPagePositions;

Place somewhere(BufferId buffer) { return {buffer, 0}; }
FloatRows rows_in(BufferId buffer, uint64_t stride) { return {somewhere(buffer), stride}; }

// Returns how many workgroups all dispatches of a call have. Expects each dispatch to keep to the
// limits.
uint64_t groups_of(const KernelCall& call) {
  SCOPED_TRACE(contract_name(call));
  check_call(call);
  const AddressOf address = [](const Place& place) -> uint64_t {
    return place ? (uint64_t{place.buffer} + 1) << 40 | place.offset : 0;
  };
  uint64_t groups = 0;
  for (const Dispatch& dispatch : dispatches_of(call, address)) {
    uint64_t of_dispatch = 1;
    for (uint32_t count : dispatch.groups) {
      EXPECT_GT(count, 0u);
      EXPECT_LE(count, kMaxGroups);
      of_dispatch *= count;
    }
    groups += of_dispatch;
  }
  return groups;
}

ActRows bf16_rows(uint32_t rows, uint32_t k) { return {somewhere(9), ActFormat::kBF16, rows, k}; }

TEST(Dispatches, AllRowsOfTheLargestPass) {
  EXPECT_EQ(groups_of(NormCall{.x = rows_in(0, kModelWidth),
                               .weight = somewhere(1),
                               .rows = kMaxRows,
                               .n = kModelWidth,
                               .eps = 1e-6f,
                               .out = rows_in(2, kModelWidth)}),
            kMaxRows);
  EXPECT_EQ(groups_of(AddCall{.a = rows_in(0, kModelWidth),
                              .b = rows_in(1, kModelWidth),
                              .rows = kMaxRows,
                              .n = kModelWidth,
                              .out = rows_in(2, kModelWidth)}),
            uint64_t{kMaxRows} * (kModelWidth / 256));
  EXPECT_EQ(groups_of(QuantizeCall{.x = rows_in(0, kModelWidth),
                                   .rows = kMaxRows,
                                   .n = kModelWidth,
                                   .out = bf16_rows(kMaxRows, kModelWidth)}),
            uint64_t{kMaxRows} * (kModelWidth / 128));
  const uint32_t n_rot = kKeyLength - kValueLength;
  EXPECT_EQ(groups_of(RopeCall{.x = rows_in(0, kModelHeads * kKeyLength),
                               .rows = kMaxRows,
                               .heads = kModelHeads,
                               .head_stride = kKeyLength,
                               .cos = somewhere(1),
                               .sin = somewhere(2),
                               .n_rot = n_rot}),
            uint64_t{kMaxRows} * kModelHeads * (n_rot / 2) / 64);
  const PackSpec spec{
      .kind = PackKind::kBF16, .rows = kModelHeads * kKeyLength, .k = 1536, .k_origin = 0};
  EXPECT_EQ(groups_of(GemmCall{.spec = spec,
                               .codes = somewhere(0),
                               .panels = spec.panels(),
                               .block1 = spec.blocks(),
                               .a = bf16_rows(kMaxRows, spec.k),
                               .m = kMaxRows,
                               .out = rows_in(2, kModelHeads * kKeyLength)}),
            uint64_t{kMaxRows} / 32 * spec.panels());
}

TEST(Dispatches, AllPagesOfTheLargestPass) {
  KvPages pages{.at = somewhere(3),
                .count = kPages,
                .type = KvType::kF16,
                .heads = kModelHeads,
                .key_length = kKeyLength,
                .value_length = kValueLength};
  pages.stride = kModelHeads * pages.head_bytes();
  const uint64_t halves = 2 + 1;  // groups for a head's key and for its value
  EXPECT_EQ(groups_of(KvStoreCall{.k = rows_in(0, kModelHeads * kKeyLength),
                                  .v = rows_in(1, kModelHeads * kValueLength),
                                  .slots = somewhere(2),
                                  .rows = kMaxRows,
                                  .pages = pages}),
            uint64_t{kMaxRows} * kModelHeads * halves);
  EXPECT_EQ(groups_of(PagedAttendCall{.q = rows_in(0, kModelHeads * kKeyLength),
                                      .rows_of = somewhere(1),
                                      .rows = kMaxRows,
                                      .positions = kMaxRows,
                                      .heads = kModelHeads,
                                      .pages = pages,
                                      .out = rows_in(2, kModelHeads * kValueLength)}),
            uint64_t{kMaxRows} * kModelHeads);
  LatentPages latents{
      .at = somewhere(3), .count = kPages, .type = KvType::kF16, .copies = 1, .length = 576};
  latents.stride = latents.copy_bytes();
  EXPECT_GE(groups_of(LatentStoreCall{.x = rows_in(0, latents.length),
                                      .slots = somewhere(1),
                                      .rows = kMaxRows,
                                      .pages = latents}),
            kMaxRows);
  constexpr uint32_t kAtOnce = 4;  // heads of absorbed rows in a call
  EXPECT_EQ(groups_of(LatentAttendCall{.q = rows_in(0, kAtOnce * 512),
                                       .q_rope = rows_in(1, kModelHeads * kKeyLength),
                                       .q_head = 512,
                                       .rope_head = kKeyLength,
                                       .rows_of = somewhere(2),
                                       .rows = kMaxRows,
                                       .positions = kMaxRows,
                                       .heads = kAtOnce,
                                       .kv_lora_rank = 512,
                                       .pages = latents,
                                       .out = rows_in(4, kAtOnce * 512)}),
            uint64_t{kMaxRows} * kAtOnce);
  KvPages expanded = pages;
  expanded.at = somewhere(5);
  expanded.heads = kAtOnce;
  expanded.type = KvType::kF32;
  expanded.stride = kAtOnce * expanded.head_bytes();
  EXPECT_GE(groups_of(LatentExpandCall{.from = latents,
                                       .positions = kMaxRows,
                                       .kv_lora_rank = 512,
                                       .key = rows_in(0, kKeyLength - 64),
                                       .value = rows_in(1, 512),
                                       .to = expanded}),
            kPages / 2 * kAtOnce);
}

TEST(Dispatches, AllChoicesOfTheLargestPass) {
  const Place chosen = somewhere(0), weights = somewhere(1), place = somewhere(2),
              row = somewhere(3), first = somewhere(4);
  EXPECT_EQ(groups_of(RouteCall{.rule = {.experts = kExperts, .used = kUsed},
                                .logits = rows_in(5, kExperts),
                                .rows = kMaxRows,
                                .chosen = chosen,
                                .weights = weights}),
            kMaxRows);
  EXPECT_EQ(groups_of(GroupCall{.chosen = chosen,
                                .rows = kMaxRows,
                                .used = kUsed,
                                .experts = kExperts,
                                .place = place,
                                .row = row,
                                .first = first}),
            kExperts);
  constexpr uint32_t kBatch = 2, kRoom = kBatch * kMaxRows;
  const PlacedRows placed{first, 6, kBatch, kMaxRows * kUsed / kExperts};
  ExpertGemmCall product{
      .spec = {.kind = PackKind::kBF16, .rows = kHidden, .k = kModelWidth, .k_origin = 0},
      .codes = somewhere(5),
      .codes_stride = uint64_t{1} << 25,
      .expert0 = 6,
      .experts = kBatch,
      .choices = kMaxRows * kUsed,
      .first = first,
      .row = row,
      .a = bf16_rows(kMaxRows, kModelWidth),
      .likely_rows = placed.likely_rows,
      .room = kRoom,
      .out = rows_in(6, kHidden)};
  EXPECT_GT(groups_of(product), 0u);
  product.row = {};
  product.spec.rows = kModelWidth;
  product.spec.k = kHidden;
  product.a = bf16_rows(kRoom, kHidden);
  product.out = rows_in(6, kModelWidth);
  EXPECT_GT(groups_of(product), 0u);
  EXPECT_EQ(groups_of(GateCall{.x = rows_in(5, kHidden),
                               .up = rows_in(6, kHidden),
                               .rows = kRoom,
                               .n = kHidden,
                               .out = rows_in(5, kHidden),
                               .placed = placed}),
            uint64_t{kRoom} * (kHidden / 256));
  EXPECT_EQ(groups_of(ExpertAddCall{.x = rows_in(6, kModelWidth),
                                    .room = kRoom,
                                    .chosen = chosen,
                                    .weights = weights,
                                    .place = place,
                                    .first = first,
                                    .rows = kMaxRows,
                                    .used = kUsed,
                                    .expert0 = 6,
                                    .experts = kBatch,
                                    .likely_rows = placed.likely_rows,
                                    .n = kModelWidth,
                                    .out = rows_in(7, kModelWidth)}),
            uint64_t{kMaxRows} * (kModelWidth / 256));
}

}  // namespace
}  // namespace hearth
