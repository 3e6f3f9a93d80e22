// Made-up calls over latents: storing them, attending to them, and expanding them into keys and
// values.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "accelerator/problem_memory.h"
#include "kernels/attention/latent.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

// Makes pages, each with a gap after its copies.
LatentPages made_latents(KvType type, uint32_t count, uint32_t copies, uint32_t length) {
  LatentPages pages{.count = count, .type = type, .copies = copies, .length = length};
  pages.stride = copies * pages.copy_bytes() + 64;
  return pages;
}

struct LatentStoreSize {
  uint32_t rows, copies, length;
};

// Tells `memory` where the scales of blocks lie, since a scale may be any NaN.
void note_latent_scales(const LatentPages& pages, ProblemMemory& memory) {
  for (uint32_t copy = 0; copy < pages.copies; ++copy) {
    memory.note_scales(pages.at + copy * pages.copy_bytes(), pages.length, pages.stride,
                       pages.count);
  }
}

LatentStoreCall latent_store_problem(ProblemMemory& memory, KvType type,
                                     const LatentStoreSize& size) {
  LatentStoreCall call{.rows = size.rows};
  call.pages = made_latents(type, size.rows / kPagePositions + 2, size.copies, size.length);
  call.x = memory.rows(size.rows, size.length + 1);
  call.slots = memory.slots(size.rows, call.pages.count);
  call.pages.at = memory.add(call.pages.count * call.pages.stride);
  if (type == KvType::kQ8_0) note_latent_scales(call.pages, memory);
  return call;
}

Contract latent_store_contract(KvType type, bool brief) {
  std::vector<LatentStoreSize> sizes = {{5, 1, 40}, {70, 2, 33}, {3, 3, 176}};
  if (!brief) {
    sizes.push_back({1, 1, 1});
    sizes.push_back({9, 2, 576});
    sizes.push_back({192, 1, 640});
    sizes.push_back({70000, 1, 3});  // more rows than one dispatch takes
  }
  return contract_over(fmt::format("latent store {}", kv_type_name(type)), kPagesValues, sizes,
                       [=](ProblemMemory& memory, const LatentStoreSize& size) {
                         KernelCall call = latent_store_problem(memory, type, size);
                         return memory.finish(std::move(call),
                                              fmt::format("{} rows of {}, {} copies", size.rows,
                                                          size.length, size.copies));
                       });
}

// Returns the bytes of pages for texts of these lengths, one text after the other. The reference
// kernels stored the texts' positions in the first copy. All other bytes are NaN.
std::vector<std::byte> stored_latents(ProblemMemory& memory, const LatentPages& pages,
                                      std::span<const uint32_t> lengths) {
  std::vector<std::byte> bytes(pages.count * pages.stride, std::byte{0xff});
  const KvStoreFn store =
      kernels_for(Isa::kReference).store_latent[static_cast<size_t>(pages.type)];
  uint32_t first_page = 0;
  for (uint32_t length : lengths) {
    for (uint32_t i = 0; i < length; ++i) {
      const std::vector<float> x = memory.draw(pages.length);
      std::byte* page = &bytes[(first_page + i / kPagePositions) * pages.stride];
      store({.k = x.data(),
             .v = nullptr,
             .key_length = pages.length,
             .value_length = 0,
             .page = {page, nullptr},
             .slot = i % kPagePositions});
    }
    first_page += pages_for(length);
  }
  return bytes;
}

// The rows at positions [from, to) of a text.
struct LatentText {
  uint32_t from, to;
};
struct LatentAttendSize {
  std::vector<LatentText> texts;
  uint32_t heads, kv_lora_rank, rope_length;
};

// Makes an attention call whose heads have gaps between them in both parts of the queries.
LatentAttendCall latent_attend_problem(ProblemMemory& memory, KvType type,
                                       const LatentAttendSize& size) {
  LatentAttendCall call{.heads = size.heads, .kv_lora_rank = size.kv_lora_rank};
  const uint32_t length = size.kv_lora_rank + size.rope_length;
  call.scale = 1 / std::sqrt(static_cast<float>(length));
  std::vector<PagedRow> rows;
  std::vector<uint32_t> lengths;
  uint32_t pages = 0;
  for (const LatentText& text : size.texts) {
    for (uint32_t i = text.from; i < text.to; ++i) rows.push_back({pages, 0, i, 0});
    lengths.push_back(text.to);
    call.positions = std::max(call.positions, text.to);
    pages += pages_for(text.to);
  }
  call.rows = static_cast<uint32_t>(rows.size());
  call.pages = made_latents(type, pages, 2, length);
  call.q_head = size.kv_lora_rank + 2;
  call.rope_head = size.rope_length + 3;
  call.q = memory.rows(call.rows, uint64_t{size.heads} * call.q_head + 1);
  call.q_rope = memory.rows(call.rows, uint64_t{size.heads} * call.rope_head);
  call.rows_of = memory.add(std::as_bytes(std::span(rows)));
  call.pages.at = memory.add(stored_latents(memory, call.pages, lengths));
  const uint32_t n = size.heads * size.kv_lora_rank;
  call.out = memory.results(call.rows, n + 2, n);
  return call;
}

Contract latent_attend_contract(KvType type, bool brief) {
  // Texts within one page and over several; lengths that are no multiple of a block; a text of
  // several spans.
  std::vector<LatentAttendSize> sizes = {{{{0, 5}, {62, 66}}, 4, 32, 16},
                                         {{{148, 150}, {3, 4}}, 1, 33, 6},
                                         {{{1030, 1032}}, 2, 16, 4}};
  if (!brief) {
    sizes.push_back({{{0, 1}, {127, 130}}, 1, 1, 1});
    sizes.push_back({{{70, 73}}, 3, 512, 64});
    sizes.push_back({{{590, 600}, {0, 70}}, 2, 48, 6});
    sizes.push_back({{{60, 66}}, 2, 500, 128});
  }
  return contract_over(fmt::format("attend latents {}", kv_type_name(type)), kPagesValues, sizes,
                       [=](ProblemMemory& memory, const LatentAttendSize& size) {
                         LatentAttendCall call = latent_attend_problem(memory, type, size);
                         const std::string sizes_of = fmt::format(
                             "{} rows that see up to {}, {} heads, latents of {} and {}", call.rows,
                             call.positions, size.heads, size.kv_lora_rank, size.rope_length);
                         return memory.finish(std::move(call), sizes_of);
                       });
}

struct LatentExpandSize {
  uint32_t positions, heads, kv_lora_rank, rope_length, nope_length, value_length;
};

// Makes a call whose input and output have one page more than it needs.
LatentExpandCall latent_expand_problem(ProblemMemory& memory, KvType type,
                                       const LatentExpandSize& size) {
  const uint32_t count = pages_for(size.positions) + 1, latent = size.kv_lora_rank;
  LatentExpandCall call{.positions = size.positions, .kv_lora_rank = latent};
  call.from = made_latents(type, count, 2, latent + size.rope_length);
  const uint32_t lengths[] = {size.positions};
  call.from.at = memory.add(stored_latents(memory, call.from, lengths));
  call.key = memory.rows(size.heads * latent, size.nope_length + 1);
  call.value = memory.rows(size.heads * size.value_length, latent + 2);
  call.to = {.count = count,
             .type = KvType::kF32,
             .heads = size.heads,
             .key_length = size.nope_length + size.rope_length,
             .value_length = size.value_length};
  const uint64_t bytes = size.heads * call.to.head_bytes();
  call.to.stride = bytes + 128;
  call.to.at = memory.add(count * call.to.stride);
  memory.note_floats({call.to.at, call.to.stride / sizeof(float)}, count,
                     static_cast<uint32_t>(bytes / sizeof(float)));
  return call;
}

Contract latent_expand_contract(KvType type, bool brief) {
  std::vector<LatentExpandSize> sizes = {
      {70, 2, 32, 8, 24, 32}, {64, 1, 33, 5, 7, 40}, {3, 3, 40, 2, 1, 15}};
  if (!brief) {
    sizes.push_back({1, 1, 1, 1, 1, 1});
    sizes.push_back({130, 2, 512, 64, 128, 128});
    sizes.push_back({200, 2, 17, 16, 100, 70});
    sizes.push_back({65, 5, 96, 4, 29, 130});
  }
  return contract_over(
      fmt::format("expand latents {}", kv_type_name(type)), kPagesValues, sizes,
      [=](ProblemMemory& memory, const LatentExpandSize& size) {
        KernelCall call = latent_expand_problem(memory, type, size);
        return memory.finish(
            std::move(call),
            fmt::format("{} positions of {} and {}, {} heads of {} and {}", size.positions,
                        size.kv_lora_rank, size.rope_length, size.heads,
                        size.nope_length + size.rope_length, size.value_length));
      });
}

}  // namespace

void add_latent_contracts(bool brief, std::vector<Contract>* all) {
  for (size_t i = 0; i < kKvTypes; ++i) {
    const auto type = static_cast<KvType>(i);
    all->push_back(latent_store_contract(type, brief));
    all->push_back(latent_attend_contract(type, brief));
    all->push_back(latent_expand_contract(type, brief));
  }
}

}  // namespace hearth
