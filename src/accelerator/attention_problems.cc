#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "accelerator/problem_memory.h"
#include "kernels/attention/attention.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

struct AttendSize {
  std::vector<uint32_t> texts;  // the texts' lengths
  uint32_t heads, group, key_length, value_length;
  bool slopes = false;
  uint32_t window = 0;
};

AttendCall attend_problem(ProblemMemory& memory, const AttendSize& size) {
  AttendCall call{.heads = size.heads, .group = size.group};
  call.key_length = size.key_length;
  call.value_length = size.value_length;
  call.scale = 1 / std::sqrt(static_cast<float>(size.key_length));
  std::vector<AttendRow> rows;
  for (uint32_t length : size.texts) {
    const auto text = static_cast<uint32_t>(rows.size());
    for (uint32_t i = 0; i < length; ++i) {
      const uint32_t first = size.window == 0 || i < size.window ? 0 : i - size.window;
      const uint32_t last = size.window == 0 ? length - 1 : std::min(length - 1, i + size.window);
      rows.push_back({text, i, first, last});
    }
  }
  call.rows = call.step_rows = static_cast<uint32_t>(rows.size());
  const uint32_t kv_heads = size.heads / size.group;
  call.q = memory.rows(call.rows, uint64_t{size.heads} * size.key_length + 1);
  call.k = memory.rows(call.rows, uint64_t{kv_heads} * size.key_length);
  call.v = memory.rows(call.rows, uint64_t{kv_heads} * size.value_length + 2);
  call.rows_of = memory.add(std::as_bytes(std::span(rows)));
  if (size.slopes) {
    std::vector<float> slopes;
    for (uint32_t h = 0; h < size.heads; ++h)
      slopes.push_back(std::exp2(-1.0f - static_cast<float>(h)));
    call.slopes = memory.add(std::as_bytes(std::span(slopes)));
  }
  call.out = memory.results(call.rows, uint64_t{size.heads} * size.value_length,
                            size.heads * size.value_length);
  return call;
}

Contract attend_contract(bool brief) {
  std::vector<AttendSize> sizes = {{{1, 5, 70}, 2, 1, 32, 32, false, 0},
                                   {{65, 3}, 4, 2, 16, 16, true, 0},
                                   {{3}, 1, 1, 80, 80, false, 0}};
  if (!brief) {
    sizes.push_back({{600, 1}, 1, 1, 64, 64, false, 0});
    sizes.push_back({{130}, 2, 2, 80, 80, false, 33});
    sizes.push_back({{17, 64, 63}, 3, 3, 33, 15, true, 0});
    sizes.push_back({{40}, 1, 1, 512, 512, false, 0});
  }
  return contract_over(
      "attention f32", std::vector{ProblemValues::kPlain, ProblemValues::kHostile}, sizes,
      [=](ProblemMemory& memory, const AttendSize& size) {
        KernelCall call = attend_problem(memory, size);
        return memory.finish(
            std::move(call),
            fmt::format("texts of {} tokens, {} heads of {} and {}", fmt::join(size.texts, ", "),
                        size.heads, size.key_length, size.value_length));
      });
}

struct StoreSize {
  uint32_t rows, heads, key_length, value_length;
};

// Makes pages, each with a gap after its heads.
KvPages made_pages(KvType type, uint32_t count, uint32_t heads, uint32_t key_length,
                   uint32_t value_length) {
  KvPages pages = {.count = count,
                   .type = type,
                   .heads = heads,
                   .key_length = key_length,
                   .value_length = value_length};
  pages.stride = heads * pages.head_bytes() + 64;
  return pages;
}

// Tells `memory` where the scales of blocks lie, since a scale may be any NaN.
void note_scales(const KvPages& pages, ProblemMemory& memory) {
  const uint64_t key_bytes = kv_half_bytes(pages.type, pages.key_length);
  for (uint32_t head = 0; head < pages.heads; ++head) {
    const uint64_t keys = head * pages.head_bytes(), values = keys + key_bytes;
    for (const auto& [half, length] :
         {std::pair(keys, pages.key_length), std::pair(values, pages.value_length)}) {
      memory.note_scales(pages.at + half, length, pages.stride, pages.count);
    }
  }
}

KvStoreCall store_problem(ProblemMemory& memory, KvType type, const StoreSize& size) {
  KvStoreCall call{.rows = size.rows};
  call.pages = made_pages(type, size.rows / kPagePositions + 2, size.heads, size.key_length,
                          size.value_length);
  call.k = memory.rows(size.rows, uint64_t{size.heads} * size.key_length + 1);
  call.v = memory.rows(size.rows, uint64_t{size.heads} * size.value_length);
  call.slots = memory.slots(size.rows, call.pages.count);
  call.pages.at = memory.add(call.pages.count * call.pages.stride);
  if (type == KvType::kQ8_0) note_scales(call.pages, memory);
  return call;
}

Contract store_contract(KvType type, bool brief) {
  std::vector<StoreSize> sizes = {{5, 2, 32, 32}, {70, 1, 33, 80}, {3, 3, 15, 128}};
  if (!brief) {
    sizes.push_back({1, 1, 1, 1});
    sizes.push_back({9, 2, 512, 511});
    sizes.push_back({192, 1, 72, 15});
    sizes.push_back({33, 2, 256, 128});
    sizes.push_back({70000, 1, 2, 3});  // more rows than one dispatch takes
  }
  return contract_over(fmt::format("kv store {}", kv_type_name(type)), kPagesValues, sizes,
                       [=](ProblemMemory& memory, const StoreSize& size) {
                         KernelCall call = store_problem(memory, type, size);
                         return memory.finish(
                             std::move(call),
                             fmt::format("{} rows, {} heads of {} and {}", size.rows, size.heads,
                                         size.key_length, size.value_length));
                       });
}

// The rows at positions [from, to) of a text. Each row sees at most `window` positions, of which
// its own is the last.
struct PagedText {
  uint32_t from, to;
  uint32_t window = 0;

  uint32_t first(uint32_t row) const { return window == 0 || row < window ? 0 : row - window + 1; }
};
struct PagedSize {
  std::vector<PagedText> texts;
  uint32_t heads, group, key_length, value_length;
};

// Stores random keys and values of one head at a position, by the reference kernels.
void store_position(ProblemMemory& memory, const KvPages& pages, std::byte* keys, uint32_t slot) {
  const std::vector<float> k = memory.draw(pages.key_length);
  const std::vector<float> v = memory.draw(pages.value_length);
  const auto type = static_cast<size_t>(pages.type);
  kernels_for(Isa::kReference)
      .kv_store[type]({.k = k.data(),
                       .v = v.data(),
                       .key_length = pages.key_length,
                       .value_length = pages.value_length,
                       .page = {keys, keys + kv_half_bytes(pages.type, pages.key_length)},
                       .slot = slot});
}

// Makes a call over pages that have one head more, in front of the heads that the call reads.
// Positions that no row sees are NaN. Pages before the first one that a row sees do not exist.
PagedAttendCall paged_problem(ProblemMemory& memory, KvType type, const PagedSize& size) {
  PagedAttendCall call{.heads = size.heads, .group = size.group, .kv_head0 = 1};
  const uint32_t kv_heads = size.heads / size.group + 1;
  call.scale = 1 / std::sqrt(static_cast<float>(size.key_length));
  std::vector<PagedRow> rows;
  uint32_t pages = 0;
  for (const PagedText& text : size.texts) {
    const uint32_t before = text.first(text.from) / kPagePositions;
    for (uint32_t i = text.from; i < text.to; ++i) {
      rows.push_back({pages - before, text.first(i), i, 0});
      call.positions = std::max(call.positions, i - text.first(i) + 1);
    }
    pages += (text.to - 1) / kPagePositions + 1 - before;
  }
  call.rows = static_cast<uint32_t>(rows.size());
  call.pages = made_pages(type, pages, kv_heads, size.key_length, size.value_length);
  std::vector<std::byte> bytes(pages * call.pages.stride, std::byte{0xff});
  uint32_t row = 0;
  for (const PagedText& text : size.texts) {
    for (uint32_t i = text.first(text.from); i < text.to; ++i) {
      const uint32_t page = rows[row].first_page + i / kPagePositions;
      for (uint32_t head = 1; head < kv_heads; ++head) {
        std::byte* keys = &bytes[page * call.pages.stride + head * call.pages.head_bytes()];
        store_position(memory, call.pages, keys, i % kPagePositions);
      }
    }
    row += text.to - text.from;
  }
  call.q = memory.rows(call.rows, uint64_t{size.heads} * size.key_length + 1);
  call.rows_of = memory.add(std::as_bytes(std::span(rows)));
  call.pages.at = memory.add(bytes);
  const uint32_t n = size.heads * size.value_length;
  call.out = memory.results(call.rows, n + 2, n);
  return call;
}

Contract paged_contract(KvType type, bool brief) {
  // Texts shorter than two pages; a text with a window and pages in front of the window; a text of
  // several spans.
  std::vector<PagedSize> sizes = {{{{0, 5}, {62, 66}}, 4, 2, 32, 32},
                                  {{{148, 152, 20}, {3, 4}}, 1, 1, 33, 80},
                                  {{{1030, 1032}}, 2, 2, 16, 31}};
  if (!brief) {
    sizes.push_back({{{0, 1}, {127, 130}}, 1, 1, 1, 1});
    sizes.push_back({{{70, 73}}, 2, 1, 512, 512});
    sizes.push_back({{{590, 600, 515}, {0, 70}}, 3, 3, 128, 128});
    sizes.push_back({{{60, 68}}, 2, 2, 80, 257});
  }
  return contract_over(fmt::format("attend pages {}", kv_type_name(type)), kPagesValues, sizes,
                       [=](ProblemMemory& memory, const PagedSize& size) {
                         PagedAttendCall call = paged_problem(memory, type, size);
                         const std::string sizes_of = fmt::format(
                             "{} rows that see up to {}, {} heads of {} and {}", call.rows,
                             call.positions, size.heads, size.key_length, size.value_length);
                         return memory.finish(std::move(call), sizes_of);
                       });
}

}  // namespace

void add_attention_contracts(bool brief, std::vector<Contract>* all) {
  all->push_back(attend_contract(brief));
  for (size_t type = 0; type < kKvTypes; ++type) {
    all->push_back(store_contract(static_cast<KvType>(type), brief));
    all->push_back(paged_contract(static_cast<KvType>(type), brief));
  }
}

}  // namespace hearth
