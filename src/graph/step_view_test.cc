#include "graph/step_view.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace hearth {
namespace {

struct Stretch {
  const std::byte *begin, *end;
};

// Returns layers of different lengths and heads. One layer has no heads on one shard, and one is
// not cached at all.
std::vector<KvLayer> unlike_layers() {
  return {{128, 128, {2, 1}}, {192, 128, {3, 0}}, {24, 80, {1, 4}}, {0, 0, {0, 0}}, {8, 8, {1, 1}}};
}

// The halves of all pages lie side by side and fill their shard.
TEST(KvView, PagesShareNothingAndFillTheirShard) {
  const std::vector<KvLayer> layers = unlike_layers();
  constexpr uint32_t kPages = 5;
  for (KvType type : {KvType::kF32, KvType::kF16, KvType::kBF16, KvType::kQ8_0}) {
    KvView view(type, kPages, 2, layers);
    for (uint32_t s = 0; s < 2; ++s) {
      std::vector<std::byte> memory(view.shard_bytes(s));
      view.set_base(s, memory.data());
      std::vector<Stretch> halves;
      for (uint32_t layer = 0; layer < layers.size(); ++layer) {
        const size_t key_bytes = kv_half_bytes(type, layers[layer].key_length);
        const size_t value_bytes = kv_half_bytes(type, layers[layer].value_length);
        for (uint32_t id = 0; id < kPages; ++id) {
          for (uint32_t head = 0; head < layers[layer].heads[s]; ++head) {
            KvPage page = view.page(s, layer, id, head);
            halves.push_back({page.k, page.k + key_bytes});
            halves.push_back({page.v, page.v + value_bytes});
          }
        }
      }
      std::sort(halves.begin(), halves.end(),
                [](const Stretch& a, const Stretch& b) { return a.begin < b.begin; });
      const std::byte* end = memory.data();
      for (const Stretch& half : halves) {
        EXPECT_EQ(half.begin, end);
        end = half.end;
      }
      EXPECT_EQ(end, memory.data() + memory.size()) << kv_type_name(type);
    }
  }
}

// The heads of a page are one range of bytes, since the engine copies a page as one range.
TEST(KvView, HeadsOfAPageLieOnEnd) {
  const std::vector<KvLayer> layers = unlike_layers();
  KvView view(KvType::kQ8_0, 3, 2, layers);
  std::vector<std::byte> memory(view.shard_bytes(0));
  view.set_base(0, memory.data());
  size_t all = 0;
  for (uint32_t layer = 0; layer < layers.size(); ++layer) {
    const std::byte* page = view.page(0, layer, 1, 0).k;
    EXPECT_EQ(view.page(0, layer, 2, 0).k, page + view.page_bytes(0, layer));
    all += view.page_bytes(0, layer);
  }
  EXPECT_EQ(view.page_bytes(0), all);
  EXPECT_EQ(view.page_bytes(1, 1), 0u);
}

// The number of pages may be set after the view is made.
TEST(KvView, MorePagesMoveTheLayersBehind) {
  KvView view(KvType::kF16, 1, 1, {{16, 32, {2}}, {16, 16, {1}}});
  view.set_page_count(7);
  std::vector<std::byte> memory(view.shard_bytes(0));
  view.set_base(0, memory.data());
  EXPECT_EQ(memory.size(), 7 * view.page_bytes(0));
  EXPECT_EQ(view.page(0, 1, 0, 0).k, memory.data() + 7 * view.page_bytes(0, 0));
}

}  // namespace
}  // namespace hearth
