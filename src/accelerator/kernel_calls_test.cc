#include "accelerator/kernel_calls.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "accelerator/test_refused_calls.h"

namespace hearth {
namespace {

constexpr BufferId kB = 1;

NormCall good_norm() {
  return {.kind = NormCallKind::kLayer,
          .x = {{kB, 0}, 40},
          .weight = {kB, 8192},
          .bias = {kB, 8448},
          .rows = 3,
          .n = 33,
          .eps = 1e-5f,
          .out = {{kB, 4096}, 36}};
}
HeadMomentsCall good_moments() {
  return {.x = {{kB, 0}, 40}, .rows = 3, .heads = 4, .length = 9, .out = {{kB, 4096}, 10}};
}
NormByCall good_norm_by() {
  return {.x = {{kB, 0}, 40},
          .moments = {{kB, 4096}, 10},
          .weight = {kB, 8192},
          .bias = {kB, 8448},
          .rows = 3,
          .n = 18,
          .heads = 4,
          .length = 9,
          .eps = 1e-5f,
          .out = {{kB, 0}, 40}};
}
TableCall good_table() {
  return {.spec = {PackKind::kQ4_K, 60, 512, 0},
          .codes = {kB, 1 << 20},
          .scales = {kB, 2 << 20},
          .row0 = 100,
          .rows_of = {kB, 0},
          .rows = 3,
          .out = {{kB, 3 << 20}, 520}};
}
QuantizeCall good_quantize() {
  return {.x = {{kB, 0}, 40}, .rows = 3, .n = 33, .out = {{kB, 4096}, ActFormat::kQ8, 5, 33}};
}
GemmCall good_gemm() {
  return {.spec = {PackKind::kQ4_K, 60, 512, 96},
          .codes = {kB, 1 << 20},
          .scales = {kB, 2 << 20},
          .panel0 = 1,
          .panels = 2,
          .block0 = 3,
          .block1 = 16,
          .a = {{kB, 0}, ActFormat::kQ8, 5, 512},
          .m = 4,
          .out = {{kB, 3 << 20}, 48},
          .cuts = {5, 9}};
}
AddCall good_add() {
  return {
      .a = {{kB, 0}, 40}, .b = {{kB, 4096}, 0}, .c = {}, .rows = 3, .n = 33, .out = {{kB, 0}, 40}};
}
GateCall good_gate() {
  return {.x = {{kB, 0}, 40},
          .bias = {},
          .up = {{kB, 4096}, 40},
          .rows = 3,
          .n = 33,
          .out = {{kB, 4096}, 40}};
}
RopeCall good_rope() {
  return {.x = {{kB, 0}, 100},
          .rows = 3,
          .heads = 4,
          .head_stride = 24,
          .cos = {kB, 4096},
          .sin = {kB, 8192},
          .n_rot = 16};
}
AttendCall good_attend() {
  return {.q = {{kB, 0}, 64},
          .k = {{kB, 4096}, 32},
          .v = {{kB, 8192}, 16},
          .rows_of = {kB, 12288},
          .rows = 3,
          .step_rows = 5,
          .heads = 4,
          .group = 2,
          .key_length = 16,
          .value_length = 8,
          .slopes = {kB, 12544},
          .out = {{kB, 16384}, 32}};
}
// Returns pages of three heads of 4096 bytes each. Each page has a gap of 64 bytes at its end.
KvPages good_pages() {
  return {.at = {kB, 0},
          .stride = 3 * 4096 + 64,
          .count = 4,
          .type = KvType::kF16,
          .heads = 3,
          .key_length = 16,
          .value_length = 8};
}
KvStoreCall good_store() {
  return {.k = {{kB, 1 << 20}, 50},
          .v = {{kB, 2 << 20}, 24},
          .slots = {kB, 3 << 20},
          .rows = 5,
          .pages = good_pages()};
}
PagedAttendCall good_paged() {
  return {.q = {{kB, 1 << 20}, 64},
          .rows_of = {kB, 3 << 20},
          .rows = 5,
          .positions = 70,
          .heads = 4,
          .group = 2,
          .kv_head0 = 1,
          .pages = good_pages(),
          .out = {{kB, 2 << 20}, 33}};
}

TEST(KernelCalls, AreNamedByContract) {
  EXPECT_EQ(contract_name(good_norm()), "layer norm");
  EXPECT_EQ(contract_name(NormCall{}), "rms norm");
  EXPECT_EQ(contract_name(good_moments()), "moments of heads");
  EXPECT_EQ(contract_name(good_norm_by()), "norm by moments");
  EXPECT_EQ(contract_name(good_table()), "table q4_k");
  EXPECT_EQ(contract_name(good_quantize()), "quantize q8");
  EXPECT_EQ(contract_name(good_gemm()), "gemm q4_k");
  EXPECT_EQ(contract_name(good_add()), "add");
  EXPECT_EQ(contract_name(good_gate()), "silu");
  EXPECT_EQ(contract_name(good_rope()), "rope half");
  EXPECT_EQ(contract_name(good_attend()), "attention f32");
  EXPECT_EQ(contract_name(good_store()), "kv store f16");
  PagedAttendCall paged = good_paged();
  paged.pages.type = KvType::kQ8_0;
  EXPECT_EQ(contract_name(paged), "attend pages q8_0");
}

TEST(KernelCalls, AccessRowsAsTheyLie) {
  EXPECT_EQ(accesses_of(KernelCall(good_norm())),
            (std::vector<Access>{{{kB, 0}, 132, 160, 3},
                                 {{kB, 8192}, 132},
                                 {{kB, 8448}, 132},
                                 {{kB, 4096}, 132, 144, 3, true}}));
  // All rows of b are the same row, so b is one access of one row.
  EXPECT_EQ(accesses_of(KernelCall(good_add())),
            (std::vector<Access>{
                {{kB, 0}, 132, 160, 3}, {{kB, 4096}, 132}, {{kB, 0}, 132, 160, 3, true}}));
}

TEST(KernelCalls, AccessMomentsOfHeads) {
  EXPECT_EQ(accesses_of(KernelCall(good_moments())),
            (std::vector<Access>{{{kB, 0}, 144, 160, 3}, {{kB, 4096}, 32, 40, 3, true}}));
  EXPECT_EQ(accesses_of(KernelCall(good_norm_by())),
            (std::vector<Access>{{{kB, 0}, 72, 160, 3},
                                 {{kB, 4096}, 32, 40, 3},
                                 {{kB, 8192}, 72},
                                 {{kB, 8448}, 72},
                                 {{kB, 0}, 72, 160, 3, true}}));
}

// The call reads all of the shard. With `keep` it may leave rows of `out` as they were, so these
// count as read too.
TEST(KernelCalls, AccessATable) {
  TableCall call = good_table();
  const Access out = {{kB, 3 << 20}, 2048, 2080, 3};
  Access written = out;
  written.writes = true;
  std::vector<Access> all = {{{kB, 1 << 20}, call.spec.codes_bytes()},
                             {{kB, 2 << 20}, call.spec.scales_bytes()},
                             {{kB, 0}, 12},
                             written};
  EXPECT_EQ(accesses_of(KernelCall(call)), all);
  call.keep = true;
  all.insert(all.end() - 1, out);
  EXPECT_EQ(accesses_of(KernelCall(call)), all);
  EXPECT_NO_THROW(check_call(call));
}

// The call counts as reading all pages, since the host does not know which ones it needs.
TEST(KernelCalls, AccessPages) {
  EXPECT_EQ(good_pages().head_bytes(), 64u * 2 * (16 + 16));
  EXPECT_EQ(accesses_of(KernelCall(good_store())),
            (std::vector<Access>{{{kB, 1 << 20}, 192, 200, 5},
                                 {{kB, 2 << 20}, 96, 96, 5},
                                 {{kB, 3 << 20}, 20},
                                 {{kB, 0}, 3 * 4096, 3 * 4096 + 64, 4, true}}));
  PagedAttendCall paged = good_paged();
  paged.pages.count = 1;
  EXPECT_EQ(accesses_of(KernelCall(paged)),
            (std::vector<Access>{{{kB, 1 << 20}, 256, 256, 5},
                                 {{kB, 3 << 20}, 80},
                                 {{kB, 0}, 3 * 4096},
                                 {{kB, 2 << 20}, 128, 132, 5, true}}));
}

// The call reads codes of the panels' blocks, all scales of the panels, and six arrays of
// activations.
TEST(KernelCalls, AccessTheBlocksOfAProduct) {
  const std::vector<Access> all = accesses_of(KernelCall(good_gemm()));
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all[0], (Access{{kB, (1 << 20) + 4096 + 3 * 256}, 13 * 256, 4096, 2}));
  const uint64_t scales = good_gemm().spec.scales_panel_bytes();
  EXPECT_EQ(all[1], (Access{{kB, (2 << 20) + scales}, 2 * scales}));
  EXPECT_EQ(all[2], (Access{{kB, 96}, 13 * 32, 512, 4}));
  EXPECT_EQ(all[8], (Access{{kB, 3 << 20}, 128, 192, 4, true}));
}

TEST(KernelCalls, WriteThePaddingOfActivations) {
  const std::vector<Access> all = accesses_of(KernelCall(good_quantize()));
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[1], (Access{{kB, 4096}, 64, 64, 3, true}));
  EXPECT_EQ(all[2], (Access{{kB, 4096 + 320}, 8, 8, 3, true}));
}

TEST(KernelCalls, TurnHeadsInOneAccessOrEach) {
  RopeCall call = good_rope();
  EXPECT_EQ(accesses_of(KernelCall(call)).size(), 10u);
  call.x.stride = 96;
  EXPECT_EQ(accesses_of(KernelCall(call))[0], (Access{{kB, 0}, 64, 96, 12}));
  call.n_rot = 24;
  call.x.stride = 100;
  EXPECT_EQ(accesses_of(KernelCall(call))[0], (Access{{kB, 0}, 384, 400, 3}));
}

TEST(KernelCalls, ContradictionsAreRefusedOfRows) {
  using N = NormCall;
  expect_refused<N>(
      good_norm(), [](N& c) { c.rows = 0; }, "nothing to do");
  expect_refused<N>(
      good_norm(), [](N& c) { c.x = {}; }, "there is no x");
  expect_refused<N>(
      good_norm(), [](N& c) { c.x.at.offset = 2; }, "not a multiple of 4");
  expect_refused<N>(
      good_norm(), [](N& c) { c.x.stride = 32; }, "rows of x overlap");
  expect_refused<N>(
      good_norm(), [](N& c) { c.out.stride = 0; }, "output lie in one place");
  expect_refused<N>(
      good_norm(), [](N& c) { c.kind = NormCallKind::kRms; }, "has a bias");
  expect_refused<N>(
      good_norm(),
      [](N& c) {
        c.out = {{kB, 4}, 40};
      },
      "overwrites what it reads");
  expect_refused<N>(
      good_norm(),
      [](N& c) {
        c.out = {{kB, 0}, 44};
      },
      "overwrites what it reads");
  expect_refused<N>(
      good_norm(), [](N& c) { c.weight.offset = 4096; }, "overwrites what it reads");
  expect_refused<N>(
      good_norm(), [](N& c) { c.eps = -1; }, "eps");
  expect_refused<N>(
      good_norm(), [](N& c) { c.x.stride = UINT64_MAX / 4; }, "too far apart");
  expect_refused<N>(
      good_norm(), [](N& c) { c.x.at.offset = UINT64_MAX - 3; },
      "it reaches beyond the end of memory");
  NormCall in_place = good_norm();
  in_place.out = in_place.x;
  EXPECT_NO_THROW(check_call(in_place));

  using Q = QuantizeCall;
  expect_refused<Q>(
      good_quantize(), [](Q& c) { c.n = 32; }, "n is not");
  expect_refused<Q>(
      good_quantize(), [](Q& c) { c.rows = 6; }, "do not fit");
  expect_refused<Q>(
      good_quantize(), [](Q& c) { c.out.at.offset += 32; }, "not a multiple of 64");
  expect_refused<Q>(
      good_quantize(), [](Q& c) { c.out.at = {}; }, "no activations");
  expect_refused<AddCall>(
      good_add(), [](AddCall& c) { c.b = {}; }, "there is no b");
  expect_refused<Q>(
      good_quantize(),
      [](Q& c) {
        c.placed = {{kB, 1 << 20}, 1, 0, 1};
      },
      "no 0 experts");
}

TEST(KernelCalls, ContradictionsAreRefusedOfGates) {
  using G = GateCall;
  expect_refused<G>(
      good_gate(),
      [](G& c) {
        c.placed = {{kB, (1 << 20) + 2}, 0, 1, 1};
      },
      "not a multiple of 4");
  expect_refused<G>(
      good_gate(), [](G& c) { c.up = {}; }, "there is none");
  expect_refused<G>(
      good_gate(),
      [](G& c) {
        c.bias = {kB, 0};
      },
      "no bias");
}

TEST(KernelCalls, ContradictionsAreRefusedOfHeads) {
  using R = RopeCall;
  expect_refused<R>(
      good_rope(), [](R& c) { c.n_rot = 15; }, "must be even");
  expect_refused<R>(
      good_rope(), [](R& c) { c.head_stride = 8; }, "heads overlap");
  expect_refused<R>(
      good_rope(), [](R& c) { c.x.stride = 87; }, "output overlap");
  expect_refused<R>(
      good_rope(), [](R& c) { c.cos = {}; }, "no angles");
  expect_refused<R>(
      good_rope(),
      [](R& c) {
        c.sin = {kB, 32};
      },
      "overwrites");

  using A = AttendCall;
  expect_refused<A>(
      good_attend(), [](A& c) { c.group = 3; }, "evenly");
  expect_refused<A>(
      good_attend(), [](A& c) { c.group = 0; }, "evenly");
  expect_refused<A>(
      good_attend(), [](A& c) { c.key_length = 513; }, "a head cannot have 513");
  expect_refused<A>(
      good_attend(), [](A& c) { c.v.stride = 0; }, "lie in one place");
  expect_refused<A>(
      good_attend(), [](A& c) { c.rows_of = {}; }, "what rows see");
  expect_refused<A>(
      good_attend(),
      [](A& c) {
        c.out = {c.q.at, 32};
      },
      "overwrites");
  expect_refused<A>(
      good_attend(), [](A& c) { c.step_rows = 0; }, "no keys");
  expect_refused<A>(
      good_attend(), [](A& c) { c.scale = std::numeric_limits<float>::infinity(); }, "scale");
}

TEST(KernelCalls, ContradictionsAreRefusedOfProducts) {
  using G = GemmCall;
  auto refused = [](const std::function<void(G&)>& spoil, const char* text) {
    expect_refused<G>(good_gemm(), spoil, text);
  };
  refused([](G& c) { c.panels = 4; }, "4 panels, fewer than 1 and 4");
  refused([](G& c) { c.panel0 = UINT32_MAX; }, "4 panels");
  refused([](G& c) { c.block1 = 17; }, "blocks [3, 17)");
  refused([](G& c) { c.block0 = 16; }, "blocks [16, 16)");
  refused([](G& c) { c.codes.offset += 32; }, "not a multiple of 64");
  refused([](G& c) { c.scales = {}; }, "no scales");
  refused([](G& c) { c.a.format = ActFormat::kBF16; }, "another format");
  refused([](G& c) { c.a.rows = 3; }, "4 rows do not fit");
  refused([](G& c) { c.a.k = 480; }, "shorter than the blocks");
  refused([](G& c) { c.out.stride = 40; }, "not a multiple of 16");
  refused([](G& c) { c.out.at.offset = 0; }, "overwrites");
  refused([](G& c) { c.cuts = {5, 5}; }, "ascend");
  refused([](G& c) { c.cuts = {3}; }, "ascend");
  refused([](G& c) { c.cuts = {16}; }, "ascend");
  refused([](G& c) { c.cuts = {4, 5, 6, 7, 8, 9, 10, 11}; }, "more cuts");
  refused([](G& c) { c.spec.k_origin = 8; }, "begin with a block");
}

TEST(KernelCalls, ContradictionsAreRefusedOfHeadsOfARow) {
  using M = HeadMomentsCall;
  expect_refused<M>(
      good_moments(), [](M& c) { c.heads = 0; }, "no heads");
  expect_refused<M>(
      good_moments(), [](M& c) { c.length = 1 << 23; }, "more floats than 2^24");
  expect_refused<M>(
      good_moments(), [](M& c) { c.x.stride = 35; }, "rows of x overlap");
  expect_refused<M>(
      good_moments(), [](M& c) { c.out.stride = 7; }, "output overlap");
  expect_refused<M>(
      good_moments(), [](M& c) { c.out.at.offset = 0; }, "overwrites");
  using N = NormByCall;
  expect_refused<N>(
      good_norm_by(), [](N& c) { c.n = 19; }, "19 floats are not 4 heads of 9");
  expect_refused<N>(
      good_norm_by(), [](N& c) { c.n = 45; }, "45 floats");
  expect_refused<N>(
      good_norm_by(), [](N& c) { c.moments = {}; }, "no moments");
  expect_refused<N>(
      good_norm_by(), [](N& c) { c.weight = {}; }, "no weight");
  expect_refused<N>(
      good_norm_by(), [](N& c) { c.eps = -1; }, "eps");
  expect_refused<N>(
      good_norm_by(), [](N& c) { c.moments.at.offset = 0; }, "overwrites");
}

TEST(KernelCalls, ContradictionsAreRefusedOfTables) {
  using T = TableCall;
  auto refused = [](const std::function<void(T&)>& spoil, const char* text) {
    expect_refused<T>(good_table(), spoil, text);
  };
  refused([](T& c) { c.spec.rows = 0; }, "nothing to do");
  refused([](T& c) { c.spec.k = 0; }, "no elements");
  refused([](T& c) { c.codes = {}; }, "no codes");
  refused([](T& c) { c.scales = {}; }, "no scales");
  refused([](T& c) { c.rows_of = {}; }, "which rows");
  refused([](T& c) { c.rows_of.offset = 2; }, "not a multiple of 4");
  refused([](T& c) { c.scale = std::numeric_limits<float>::quiet_NaN(); }, "scale");
  refused([](T& c) { c.out.stride = 500; }, "output overlap");
  refused([](T& c) { c.out.at.offset = 0; }, "overwrites");
}

TEST(KernelCalls, ContradictionsAreRefusedOfPages) {
  using S = KvStoreCall;
  auto store = [](const std::function<void(S&)>& spoil, const char* text) {
    expect_refused<S>(good_store(), spoil, text);
  };
  store([](S& c) { c.rows = 0; }, "nothing to do");
  store([](S& c) { c.pages.at = {}; }, "no pages");
  store([](S& c) { c.pages.count = 0; }, "no pages");
  store([](S& c) { c.pages.at.offset = 32; }, "not a multiple of 64");
  store([](S& c) { c.pages.stride += 32; }, "not a multiple of 64");
  store([](S& c) { c.pages.stride -= 128; }, "3 heads of 4096 bytes do not fit");
  store([](S& c) { c.pages.value_length = 513; }, "a head cannot have 513");
  store([](S& c) { c.pages.count = UINT32_MAX / 64 + 1; }, "more pages");
  store([](S& c) { c.pages.stride = uint64_t{1} << 50; }, "too far apart");
  store([](S& c) { c.slots = {}; }, "which slots");
  store([](S& c) { c.v.stride = 23; }, "rows of v overlap");
  store([](S& c) { c.slots.offset = 4096; }, "overwrites");
  using P = PagedAttendCall;
  auto paged = [](const std::function<void(P&)>& spoil, const char* text) {
    expect_refused<P>(good_paged(), spoil, text);
  };
  paged([](P& c) { c.heads = 0; }, "nothing to do");
  paged([](P& c) { c.positions = 0; }, "see nothing");
  paged([](P& c) { c.group = 3; }, "evenly");
  paged([](P& c) { c.kv_head0 = 2; }, "3 heads, fewer than 2 and 2");
  paged([](P& c) { c.pages.key_length = 0; }, "a head cannot have 0");
  paged([](P& c) { c.rows_of = {}; }, "what rows see");
  paged([](P& c) { c.scale = std::numeric_limits<float>::infinity(); }, "scale");
  paged([](P& c) { c.q.stride = 60; }, "rows of q overlap");
  paged([](P& c) { c.out.at.offset = 64; }, "overwrites");
}

}  // namespace
}  // namespace hearth
