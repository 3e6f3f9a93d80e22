#include "engine/kv_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>

namespace hearth {
namespace {

TEST(KvPool, SequencesNeverShareAPageAndLeakNone) {
  std::mt19937 random(3);
  KvPool pool(40);
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (int round = 0; round < 3000; ++round) {
    if (sequences.size() < 5 && random() % 4 == 0) {
      sequences.push_back(std::make_unique<Sequence>(pool));
    }
    if (sequences.empty()) continue;
    size_t i = random() % sequences.size();
    Sequence& sequence = *sequences[i];
    switch (random() % 4) {
      case 0:
        sequence.truncate(random() % (sequence.length() + 1));
        break;
      case 1:
        sequences.erase(sequences.begin() + static_cast<long>(i));
        break;
      default: {
        uint32_t tokens = random() % 200;
        if (sequence.pages_needed(tokens) <= pool.free_count()) sequence.grow(tokens);
      }
    }
    std::set<uint32_t> held;
    size_t pages = 0;
    for (const auto& s : sequences) {
      EXPECT_EQ(s->pages().size(), (s->length() + kPagePositions - 1) / kPagePositions);
      pages += s->pages().size();
      held.insert(s->pages().begin(), s->pages().end());
    }
    EXPECT_EQ(held.size(), pages);
    EXPECT_EQ(pages + pool.free_count(), 40u);
  }
}

}  // namespace
}  // namespace hearth
