// Compares attention over keys and values in pages with the fastest kernels of the cores. It runs
// on the virtual accelerator and on all others of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>

#include "accelerator/find_accelerators.h"
#include "accelerator/virtual/virtual_accelerator.h"
#include "accelerator/vulkan/dispatch.h"
#include "base/error.h"
#include "kernels/gemm/gemm_problem.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

constexpr uint32_t kHeads = 4, kGroup = 2, kKvHeads = 2, kKey = 40, kValue = 72, kTokens = 140;
constexpr uint32_t kFirstPage = 2, kCount = 6;
constexpr float kScale = 0.3f;

std::vector<float> normal_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> x(count);
  for (float& value : x) value = std::normal_distribution<float>()(random);
  return x;
}

// A text's queries, keys and values, [tokens][heads][length]. There are keys and values for one
// more token.
struct PagedInputs {
  std::vector<float> q = normal_floats(size_t{kTokens} * kHeads * kKey, 1);
  std::vector<float> k = normal_floats(size_t{kTokens + 1} * kKvHeads * kKey, 2);
  std::vector<float> v = normal_floats(size_t{kTokens + 1} * kKvHeads * kValue, 3);
};

uint32_t first_seen(uint32_t token, uint32_t window) {
  return window == 0 || token < window ? 0 : token - window + 1;
}

// Computes the attention of all queries on the cores. A call takes the heads of a group and some
// tokens.
std::vector<float> by_cores(const PagedInputs& in, KvType type, uint32_t window) {
  const Kernels& kernels = kernels_for(best_isa(detect_cpu_features()));
  const auto kind = static_cast<size_t>(type);
  const size_t keys = kv_half_bytes(type, kKey), both = keys + kv_half_bytes(type, kValue);
  const PaddedBytes memory(both * kCount), scratch(kAttendScratchBytes);
  std::vector<float> out(size_t{kTokens} * kHeads * kValue);
  for (uint32_t kv = 0; kv < kKvHeads; ++kv) {
    std::vector<KvPage> pages;
    for (size_t p = 0; p < kCount; ++p) {
      pages.push_back({memory.data() + p * both, memory.data() + p * both + keys});
    }
    for (uint32_t i = 0; i < kTokens; ++i) {
      kernels.kv_store[kind]({&in.k[size_t{i * kKvHeads + kv} * kKey],
                              &in.v[size_t{i * kKvHeads + kv} * kValue], kKey, kValue,
                              pages[i / kPagePositions], i % kPagePositions});
    }
    for (uint32_t begin = 0; begin < kTokens; begin += 30) {
      std::vector<size_t> from, to;
      std::vector<uint32_t> last;
      for (uint32_t i = begin; i < std::min(begin + 30, kTokens); ++i) {
        for (uint32_t head = kv * kGroup; head < (kv + 1) * kGroup; ++head) {
          from.push_back(size_t{i * kHeads + head} * kKey);
          to.push_back(size_t{i * kHeads + head} * kValue);
          last.push_back(i);
        }
      }
      kernels.attend[kind]({.q = in.q.data(),
                            .q_offset = from.data(),
                            .last = last.data(),
                            .rows = static_cast<uint32_t>(last.size()),
                            .window = window,
                            .pages = pages.data(),
                            .key_length = kKey,
                            .value_length = kValue,
                            .scale = kScale,
                            .out = out.data(),
                            .out_offset = to.data(),
                            .scratch = scratch.data()});
    }
  }
  return out;
}

// The text's keys and values in pages of an accelerator. The pages hold bytes of 0xff before
// anything is stored.
class PagedText {
 public:
  PagedText(Accelerator& accelerator, const PagedInputs& in, KvType type)
      : accelerator_(accelerator), timeline_(accelerator.make_timeline()) {
    pages_ = {.count = kCount,
              .type = type,
              .heads = kKvHeads,
              .key_length = kKey,
              .value_length = kValue};
    pages_.stride = kKvHeads * pages_.head_bytes() + 128;
    memory_ = accelerator.allocate(kCount * pages_.stride);
    pages_.at = memory_.at();
    accelerator.write(pages_.at, std::vector<std::byte>(kCount * pages_.stride, std::byte{0xff}));
    q_ = upload(std::span<const float>(in.q));
    k_ = upload(std::span<const float>(in.k));
    v_ = upload(std::span<const float>(in.v));
    std::vector<uint32_t> slots;
    for (uint32_t i = 0; i < kTokens; ++i) slots.push_back(kFirstPage * kPagePositions + i);
    // The slot of the token after the last is on a page that does not exist.
    slots.push_back(kCount * kPagePositions);
    slots_ = upload(std::span<const uint32_t>(slots));
    out_ = accelerator.allocate(in.q.size() / kKey * kValue * sizeof(float));
  }

  KernelCall store_call(uint32_t begin, uint32_t end) const {
    constexpr uint64_t kKeys = kKvHeads * kKey, kValues = kKvHeads * kValue;
    return KvStoreCall{.k = {k_.at(begin * kKeys * 4), kKeys},
                       .v = {v_.at(begin * kValues * 4), kValues},
                       .slots = slots_.at(begin * 4),
                       .rows = end - begin,
                       .pages = pages_};
  }
  void store(uint32_t begin, uint32_t end) { run({store_call(begin, end)}); }

  // Runs the calls `before`, then attention for these tokens, and returns its results. The call
  // says that no row sees more than `positions` positions, or as many as the rows really see if
  // that is more.
  std::vector<float> attend(const std::vector<uint32_t>& tokens, uint32_t window,
                            uint32_t positions = 0, std::vector<KernelCall> before = {}) {
    std::vector<float> all;
    std::vector<PagedRow> rows;
    // A call takes a run of queries, so it also has rows for tokens between the wanted ones. Their
    // results are not read.
    const uint32_t begin = *std::ranges::min_element(tokens);
    const uint32_t end = *std::ranges::max_element(tokens) + 1;
    for (uint32_t i = begin; i < end; ++i) {
      const bool asked = std::ranges::count(tokens, i) > 0;
      const uint32_t first = asked ? first_seen(i, window) : i;  // other rows see only themselves
      rows.push_back({kFirstPage, first, i, 0});
      positions = std::max(positions, i - first + 1);
    }
    const Buffer of_rows = upload(std::span<const PagedRow>(rows));
    constexpr uint64_t kQueries = kHeads * kKey, kResults = kHeads * kValue;
    before.push_back(PagedAttendCall{.q = {q_.at(begin * kQueries * 4), kQueries},
                                     .rows_of = of_rows.at(),
                                     .rows = end - begin,
                                     .positions = positions,
                                     .heads = kHeads,
                                     .group = kGroup,
                                     .scale = kScale,
                                     .pages = pages_,
                                     .out = {out_.at(), kResults}});
    run(before);
    for (uint32_t token : tokens) {
      std::vector<float> out(kResults);
      accelerator_.read(out_.at((token - begin) * kResults * 4),
                        std::as_writable_bytes(std::span(out)));
      all.insert(all.end(), out.begin(), out.end());
    }
    return all;
  }

 private:
  template <typename T>
  Buffer upload(std::span<const T> values) {
    Buffer buffer = accelerator_.allocate(values.size_bytes());
    accelerator_.write(buffer.at(), std::as_bytes(values));
    return buffer;
  }
  // Runs the calls as one list of ordered commands.
  void run(const std::vector<KernelCall>& calls) {
    CommandList list;
    for (const KernelCall& call : calls) {
      check_call(call);
      EXPECT_EQ(accelerator_.why_not(call), "");
      list.commands.push_back({.work = call});
    }
    const Moment done{timeline_, ++value_};
    list.commands.back().signals = {done};
    accelerator_.submit(list);
    accelerator_.wait(done, 120);
  }

  Accelerator& accelerator_;
  TimelineId timeline_;
  uint64_t value_ = 0;
  KvPages pages_;
  Buffer memory_, q_, k_, v_, slots_, out_;
};

void for_accelerators(const std::function<void(Accelerator&)>& visit) {
  VirtualAccelerator reference(VirtualOptions{});
  visit(reference);
  for (const FoundAccelerator& one : find_accelerators().all) {
    if (!one.refused.empty()) continue;
    SCOPED_TRACE(one.facts.name);
    visit(*one.open());
  }
}

std::vector<uint32_t> tokens_of(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> tokens;
  for (uint32_t i = begin; i < end; ++i) tokens.push_back(i);
  return tokens;
}

// Computes a prompt in chunks, like a server. A chunk sees its own positions and those that earlier
// calls stored.
TEST(PagedCalls, ChunksOfATextGiveTheBitsOfTheCores) {
  const PagedInputs in;
  for_accelerators([&](Accelerator& accelerator) {
    for (size_t type = 0; type < kKvTypes; ++type) {
      const auto kv_type = static_cast<KvType>(type);
      const std::vector<float> expected = by_cores(in, kv_type, 0);
      PagedText text(accelerator, in, kv_type);
      std::vector<float> got;
      uint32_t begin = 0;
      for (const uint32_t end : {70u, 71u, kTokens}) {
        const std::vector<float> chunk =
            text.attend(tokens_of(begin, end), 0, 0, {text.store_call(begin, end)});
        got.insert(got.end(), chunk.begin(), chunk.end());
        begin = end;
      }
      EXPECT_EQ(got, expected) << kv_type_name(kv_type);
    }
  });
}

// A row's bits do not depend on the other rows of the call.
TEST(PagedCalls, ARowAloneHasTheBitsItHasAmongOthers) {
  const PagedInputs in;
  constexpr uint32_t kWindow = 50;
  constexpr size_t kResults = size_t{kHeads} * kValue;
  for_accelerators([&](Accelerator& accelerator) {
    for (size_t type = 0; type < kKvTypes; ++type) {
      const auto kv_type = static_cast<KvType>(type);
      const std::vector<float> expected = by_cores(in, kv_type, kWindow);
      PagedText text(accelerator, in, kv_type);
      text.store(0, kTokens);
      EXPECT_EQ(text.attend(tokens_of(0, kTokens), kWindow), expected) << kv_type_name(kv_type);
      for (const uint32_t token : {0u, 63u, 64u, 113u, 139u}) {
        const std::vector<float> own(expected.begin() + token * kResults,
                                     expected.begin() + (token + 1) * kResults);
        EXPECT_EQ(text.attend({token}, kWindow), own) << kv_type_name(kv_type) << " " << token;
      }
      // The call also has rows for the tokens between these two. They see only themselves.
      std::vector<float> two(expected.begin() + 90 * kResults, expected.begin() + 91 * kResults);
      two.insert(two.end(), expected.begin() + 100 * kResults, expected.begin() + 101 * kResults);
      EXPECT_EQ(text.attend({90, 100}, kWindow), two) << kv_type_name(kv_type);
    }
  });
}

// A call whose rows may see many positions is divided into many dispatches.
TEST(PagedCalls, CutCallsGiveTheSameBits) {
  const PagedInputs in;
  const std::vector<float> expected = by_cores(in, KvType::kF16, 0);
  for_accelerators([&](Accelerator& accelerator) {
    PagedText text(accelerator, in, KvType::kF16);
    text.store(0, kTokens);
    for (const uint32_t positions : {100000u, 1u << 22, 1u << 31}) {
      EXPECT_EQ(text.attend(tokens_of(0, kTokens), 0, positions), expected) << positions;
    }
  });
}

TEST(PagedCalls, NoDispatchTakesLong) {
  PagedAttendCall call{.rows = 1000, .positions = 100000, .heads = 32, .group = 4};
  call.pages = {
      .count = 1, .type = KvType::kQ8_0, .heads = 8, .key_length = 128, .value_length = 128};
  uint64_t groups = 0;
  for (const Dispatch& dispatch : dispatches_of(call, [](const Place&) { return 0; })) {
    const uint64_t own = uint64_t{dispatch.groups[0]} * dispatch.groups[1];
    EXPECT_LE(own * call.positions * 256, uint64_t{1} << 30);
    groups += own;
  }
  EXPECT_EQ(groups, 32000u);
}

TEST(PagedCalls, RefusesMissingPages) {
  VirtualAccelerator reference(VirtualOptions{});
  const PagedInputs in;
  PagedText text(reference, in, KvType::kF16);
  text.store(0, kTokens);
  EXPECT_NO_THROW(text.attend({kTokens - 1}, 0));
  EXPECT_THROW(text.store(kTokens, kTokens + 1), Error);
}

}  // namespace
}  // namespace hearth
