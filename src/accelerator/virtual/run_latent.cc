// Runs calls over latents with the reference kernels (kernels/attention/latent.h).
#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "accelerator/virtual/run_call.h"
#include "base/error.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/kernels.h"

namespace hearth {
namespace {

// Floats aligned to a cache line.
class AlignedFloats {
 public:
  explicit AlignedFloats(size_t floats) : lines_((floats + kFloats - 1) / kFloats) {}
  float* data() { return lines_.empty() ? nullptr : lines_.front().floats; }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(data()); }

 private:
  static constexpr size_t kFloats = 16;
  struct alignas(64) Line {
    float floats[kFloats] = {};
  };
  std::vector<Line> lines_;
};

float* row_of(const FloatRows& x, uint64_t i, const PlaceBytes& at) {
  return reinterpret_cast<float*>(at(x.at)) + x.stride * i;
}

std::vector<PagedRow> rows_of(const LatentAttendCall& call, const PlaceBytes& at) {
  std::vector<PagedRow> rows(call.rows);
  std::memcpy(rows.data(), at(call.rows_of), rows.size() * sizeof(PagedRow));
  for (const PagedRow& row : rows) {
    if (row.first != 0 || row.last >= call.positions) {
      fail(ErrorCode::kRequest, "a row sees latents {} to {}; it must see the first 1 to {}",
           row.first, row.last, call.positions);
    }
    const uint32_t more = row.last / kPagePositions;
    if (row.first_page >= call.pages.count || more >= call.pages.count - row.first_page) {
      fail(ErrorCode::kRequest,
           "a row cannot see page {} of latents and the {} after it: there are {} pages",
           row.first_page, more, call.pages.count);
    }
  }
  return rows;
}

// The matrices of a head in the layout that expand_latent reads.
struct HeadMatrices {
  AlignedFloats key, value;

  HeadMatrices(const LatentExpandCall& call, uint32_t head, const PlaceBytes& at)
      : key(expand_key_floats(call.nope_length(), call.kv_lora_rank)),
        value(expand_value_floats(call.to.value_length, call.kv_lora_rank)) {
    const uint32_t latent = call.kv_lora_rank, nope_length = call.nope_length();
    for (uint32_t i = 0; i < latent; ++i) {
      const float* row = row_of(call.key, uint64_t{head} * latent + i, at);
      for (uint32_t d = 0; d < nope_length; ++d) {
        key.data()[expand_key_at(nope_length, latent, d, i)] = row[d];
      }
    }
    for (uint32_t e = 0; e < call.to.value_length; ++e) {
      const float* row = row_of(call.value, uint64_t{head} * call.to.value_length + e, at);
      for (uint32_t i = 0; i < latent; ++i) {
        value.data()[expand_value_at(latent, e, i)] = row[i];
      }
    }
  }
};

// Copies positions [0, slots) of an expanded page into a page of keys and values in f32.
void copy_expanded(const float* keys, const float* values, uint32_t slots, const KvPages& to,
                   std::byte* head) {
  auto* to_keys = reinterpret_cast<float*>(head);
  auto* to_values = reinterpret_cast<float*>(head + kv_half_bytes(to.type, to.key_length));
  const uint32_t stride = padded_length(to.value_length);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    for (uint32_t d = 0; d < padded_length(to.key_length); ++d) {
      const size_t i = size_t{d} * kPagePositions + slot;
      to_keys[i] = keys[i];
    }
    for (uint32_t e = 0; e < stride; ++e) {
      const size_t of_column = size_t{e / kLatentValueColumns} * kPagePositions + slot;
      to_values[size_t{slot} * stride + e] =
          e < to.value_length ? values[of_column * kLatentValueColumns + e % kLatentValueColumns]
                              : 0.0f;
    }
  }
}

}  // namespace

void run_call(const LatentStoreCall& call, const PlaceBytes& at) {
  const LatentPages& pages = call.pages;
  const KvStoreFn store =
      kernels_for(Isa::kReference).store_latent[static_cast<size_t>(pages.type)];
  std::vector<uint32_t> slots(call.rows);
  std::memcpy(slots.data(), at(call.slots), slots.size() * sizeof(uint32_t));
  for (uint32_t i = 0; i < call.rows; ++i) {
    const uint32_t page = slots[i] / kPagePositions;
    if (page >= pages.count) {
      fail(ErrorCode::kRequest, "a latent cannot be stored in page {}: there are {} pages", page,
           pages.count);
    }
    for (uint32_t copy = 0; copy < pages.copies; ++copy) {
      std::byte* to = at(pages.at) + page * pages.stride + copy * pages.copy_bytes();
      store({.k = row_of(call.x, i, at),
             .v = nullptr,
             .key_length = pages.length,
             .value_length = 0,
             .page = {to, nullptr},
             .slot = slots[i] % kPagePositions});
    }
  }
}

// The kernel computes the sums of one span at a time. merge_spans() then merges the spans.
void run_call(const LatentAttendCall& call, const PlaceBytes& at) {
  const LatentPages& pages = call.pages;
  const Kernels& kernels = kernels_for(Isa::kReference);
  const uint32_t latent = call.kv_lora_rank;
  AlignedFloats scratch(kLatentScratchBytes / sizeof(float)), sums(row_sums_floats(1, latent)),
      merged(row_sums_floats(1, latent)), query(pages.length);
  const size_t nowhere = 0;
  const std::vector<PagedRow> rows = rows_of(call, at);
  for (uint32_t i = 0; i < call.rows; ++i) {
    const auto& [first_page, first, last, zero] = rows[i];
    std::vector<KvPage> seen(pages_for(last + 1));
    for (uint32_t page = 0; page < seen.size(); ++page) {
      seen[page].k = at(pages.at) + (uint64_t{first_page} + page) * pages.stride;
    }
    const uint32_t spans = last / kSpanPositions + 1;
    for (uint64_t head = 0; head < call.heads; ++head) {
      std::copy_n(row_of(call.q, i, at) + head * call.q_head, latent, query.data());
      std::copy_n(row_of(call.q_rope, i, at) + head * call.rope_head, call.rope_length(),
                  query.data() + latent);
      for (uint32_t span = 0; span < spans; ++span) {
        kernels.attend_latent[static_cast<size_t>(pages.type)]({.q = query.data(),
                                                                .q_offset = &nowhere,
                                                                .last = &last,
                                                                .rows = 1,
                                                                .window = 0,
                                                                .pages = seen.data(),
                                                                .key_length = pages.length,
                                                                .value_length = latent,
                                                                .scale = call.scale,
                                                                .out = nullptr,
                                                                .out_offset = nullptr,
                                                                .scratch = scratch.bytes(),
                                                                .sums = sums.data(),
                                                                .span0 = span,
                                                                .span1 = span + 1});
        kernels.merge_spans(
            {.sums = sums.data(),
             .spans = 1,
             .rows = 1,
             .value_length = latent,
             .merged = merged.data(),
             .first = span == 0,
             .out = span + 1 == spans ? row_of(call.out, i, at) + head * latent : nullptr,
             .out_offset = &nowhere});
      }
    }
  }
}

void run_call(const LatentExpandCall& call, const PlaceBytes& at) {
  const KvPages& to = call.to;
  const ExpandFn expand =
      kernels_for(Isa::kReference).expand_latent[static_cast<size_t>(call.from.type)];
  AlignedFloats scratch(kLatentScratchBytes / sizeof(float));
  AlignedFloats keys(expanded_key_floats(to.key_length)),
      values(expanded_value_floats(to.value_length));
  for (uint32_t head = 0; head < to.heads; ++head) {
    HeadMatrices matrices(call, head, at);
    for (uint32_t page = 0; page < pages_for(call.positions); ++page) {
      const uint32_t slots = std::min(kPagePositions, call.positions - page * kPagePositions);
      expand({.page = at(call.from.at) + page * call.from.stride,
              .slots = slots,
              .kv_lora_rank = call.kv_lora_rank,
              .rope_length = call.from.length - call.kv_lora_rank,
              .nope_length = call.nope_length(),
              .value_length = to.value_length,
              .key = matrices.key.data(),
              .value = matrices.value.data(),
              .keys = keys.data(),
              .values = values.data(),
              .scratch = scratch.bytes(),
              .next = nullptr});
      copy_expanded(keys.data(), values.data(), slots, to,
                    at(to.at) + page * to.stride + head * to.head_bytes());
    }
  }
}

}  // namespace hearth
