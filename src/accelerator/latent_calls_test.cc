// Tests calls over latents: which bytes they access, which of them check_call() refuses, and that
// the virtual accelerator refuses rows that see positions which do not exist.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "accelerator/kernel_calls.h"
#include "accelerator/test_refused_calls.h"
#include "accelerator/virtual/run_call.h"
#include "base/error.h"

namespace hearth {
namespace {

constexpr BufferId kLatents = 4;

// Returns three pages of latents. A position has 20 elements and 4 that RoPE rotates, padded to 32
// halves. So 64 positions take 4,096 bytes for each copy.
LatentPages latents_of(uint32_t copies) {
  return {.at = {kLatents, 0},
          .stride = copies * 4096ull + 64,
          .count = 3,
          .type = KvType::kF16,
          .copies = copies,
          .length = 24};
}
LatentStoreCall latent_store() {
  return {
      .x = {{kLatents, 65536}, 30}, .slots = {kLatents, 131072}, .rows = 5, .pages = latents_of(2)};
}
LatentAttendCall latent_attend() {
  return {.q = {{kLatents, 65536}, 100},
          .q_rope = {{kLatents, 81920}, 90},
          .q_head = 32,
          .rope_head = 28,
          .rows_of = {kLatents, 131072},
          .rows = 2,
          .positions = 70,
          .heads = 3,
          .kv_lora_rank = 20,
          .scale = 0.25f,
          .pages = latents_of(2),
          .out = {{kLatents, 98304}, 60}};
}
// Makes a call with two heads. Their keys have 12 elements and 4 that RoPE rotates, their values
// 10. Pages have 2 x (64 x 16 + 64 x 16) floats.
LatentExpandCall latent_expand() {
  return {.from = latents_of(1),
          .positions = 70,
          .kv_lora_rank = 20,
          .key = {{kLatents, 65536}, 12},
          .value = {{kLatents, 81920}, 22},
          .to = {.at = {kLatents, 131072},
                 .stride = 16384,
                 .count = 2,
                 .type = KvType::kF32,
                 .heads = 2,
                 .key_length = 16,
                 .value_length = 10}};
}

TEST(LatentCalls, AreNamedByContract) {
  EXPECT_EQ(contract_name(latent_store()), "latent store f16");
  EXPECT_EQ(contract_name(latent_attend()), "attend latents f16");
  EXPECT_EQ(contract_name(latent_expand()), "expand latents f16");
}

// A store writes every copy of a page; attention reads only the first copy.
TEST(LatentCalls, AccessPagesAndRowsAsTheyLie) {
  EXPECT_EQ(accesses_of(KernelCall(latent_store())),
            (std::vector<Access>{{{kLatents, 65536}, 96, 120, 5},
                                 {{kLatents, 131072}, 20},
                                 {{kLatents, 0}, 8192, 8256, 3, true}}));
  EXPECT_EQ(accesses_of(KernelCall(latent_attend())),
            (std::vector<Access>{{{kLatents, 65536}, 4 * (64 + 20), 400, 2},
                                 {{kLatents, 81920}, 4 * (56 + 4), 360, 2},
                                 {{kLatents, 131072}, 32},
                                 {{kLatents, 0}, 4096, 8256, 3},
                                 {{kLatents, 98304}, 240, 240, 2, true}}));
  EXPECT_EQ(accesses_of(KernelCall(latent_expand())),
            (std::vector<Access>{{{kLatents, 0}, 4096, 4160, 2},
                                 {{kLatents, 65536}, 48, 48, 40},
                                 {{kLatents, 81920}, 80, 88, 20},
                                 {{kLatents, 131072}, 16384, 16384, 2, true}}));
}

TEST(LatentCalls, ContradictionsAreRefused) {
  using S = LatentStoreCall;
  auto store = [](const std::function<void(S&)>& spoil, const char* text) {
    expect_refused<S>(latent_store(), spoil, text);
  };
  store([](S& c) { c.rows = 0; }, "nothing to do");
  store([](S& c) { c.pages.copies = 3; }, "3 copies of 4096 bytes do not fit");
  store([](S& c) { c.pages.length = 641; }, "in rows of 641 is not possible");
  store([](S& c) { c.pages.stride += 4; }, "not a multiple of 64");
  store([](S& c) { c.pages.at = {}; }, "no pages");
  store([](S& c) { c.x.stride = 23; }, "rows of x overlap");
  store([](S& c) { c.slots = {}; }, "no place for slots");
  store([](S& c) { c.x.at.offset = 4096; }, "overwrites");
  using A = LatentAttendCall;
  auto attend = [](const std::function<void(A&)>& spoil, const char* text) {
    expect_refused<A>(latent_attend(), spoil, text);
  };
  attend([](A& c) { c.heads = 0; }, "nothing to do");
  attend([](A& c) { c.kv_lora_rank = 25; },
         "a latent of 25 elements in rows of 24 is not possible");
  attend([](A& c) { c.kv_lora_rank = 24; }, "RoPE rotates nothing");
  attend([](A& c) { c.positions = 0; }, "see nothing");
  attend([](A& c) { c.q_head = 19; }, "heads overlap");
  attend([](A& c) { c.rope_head = 3; }, "heads overlap");
  attend([](A& c) { c.q_rope.stride = 59; }, "rows of q_rope overlap");
  attend([](A& c) { c.scale = std::numeric_limits<float>::infinity(); }, "scale");
  attend([](A& c) { c.rows_of.offset += 2; }, "not a multiple of 4");
  attend([](A& c) { c.out.stride = 59; }, "output overlap");
  attend([](A& c) { c.out.at.offset = 65536; }, "overwrites");
}

TEST(LatentCalls, ContradictionsAreRefusedOfExpandedPages) {
  using E = LatentExpandCall;
  auto expand = [](const std::function<void(E&)>& spoil, const char* text) {
    expect_refused<E>(latent_expand(), spoil, text);
  };
  expand([](E& c) { c.positions = 0; }, "nothing to do");
  expand([](E& c) { c.positions = 129; }, "129 positions have 3 pages, and there are 3 and 2");
  expand([](E& c) { c.to.type = KvType::kF16; }, "not made in f32");
  expand([](E& c) { c.to.key_length = 4; }, "has nothing before the 4");
  expand([](E& c) { c.kv_lora_rank = 25; }, "a latent of 25");
  expand([](E& c) { c.key.stride = 11; }, "key's matrix overlap");
  expand([](E& c) { c.value.stride = 0; }, "lie in one place");
  expand([](E& c) { c.to.heads = 3; }, "3 heads of 8192 bytes do not fit");
  expand([](E& c) { c.to.at.offset = 0; }, "overwrites");
}

TEST(LatentCalls, RefusesRowsThatSeePositionsBeyondTheirPages) {
  std::vector<float> memory(65536);
  auto at = [&](const Place& place) {
    return reinterpret_cast<std::byte*>(memory.data()) + place.offset;
  };
  const auto sees = [&](const PagedRow& row) {
    const PagedRow rows[] = {{0, 0, 3, 0}, row};
    std::memcpy(at({kLatents, 131072}), rows, sizeof rows);
    run_call(KernelCall(latent_attend()), at);
  };
  EXPECT_NO_THROW(sees({1, 0, 69, 0}));
  EXPECT_THROW(sees({1, 0, 70, 0}), Error);
  EXPECT_THROW(sees({2, 0, 64, 0}), Error);
  EXPECT_THROW(sees({1, 1, 69, 0}), Error);
  const uint32_t slots[] = {0, 1, 2, 3, 192};
  std::memcpy(at({kLatents, 131072}), slots, sizeof slots);
  EXPECT_THROW(run_call(KernelCall(latent_store()), at), Error);
}

}  // namespace
}  // namespace hearth
