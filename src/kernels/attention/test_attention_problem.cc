#include "kernels/attention/test_attention_problem.h"

#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "base/check.h"
#include "base/fp_types.h"

namespace hearth {
namespace {

std::vector<float> normal_floats(size_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  // A sum of uniform numbers is used, since std::normal_distribution differs between libraries.
  auto uniform = [&] { return static_cast<float>(engine() >> 8) * 0x1p-24f - 0.5f; };
  std::vector<float> x(n);
  for (float& f : x) f = (uniform() + uniform() + uniform() + uniform()) * 1.7f;
  return x;
}

template <typename T>
T element(const std::byte* half, size_t index) {
  T x;
  std::memcpy(&x, half + index * sizeof(T), sizeof(T));
  return x;
}

// Asks for huge pages, which the engine's memory has. Decode from memory is faster with them. It is
// only advice: failing does no harm.
void advise_huge_pages(void* p, size_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + kHuge - 1) / kHuge * kHuge;
  uintptr_t end = (reinterpret_cast<uintptr_t>(p) + bytes) / kHuge * kHuge;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

KvHead::KvHead(KvType type, HeadLengths lengths, uint32_t positions)
    : type_(type), lengths_(lengths), positions_(positions) {
  const size_t key_bytes = kv_half_bytes(type, lengths.key);
  const size_t page_bytes = key_bytes + kv_half_bytes(type, lengths.value);
  const size_t count = pages_for(positions);
  CacheLine unset;
  std::memset(&unset, 0xff, sizeof unset);
  memory_.reserve(count * page_bytes / sizeof(CacheLine));
  advise_huge_pages(memory_.data(), count * page_bytes);
  memory_.assign(count * page_bytes / sizeof(CacheLine), unset);
  for (size_t i = 0; i < count; ++i) {
    std::byte* page = memory_.data()->bytes + i * page_bytes;
    pages_.push_back({page, page + key_bytes});
  }
}

void KvHead::fill(KvStoreFn store, uint32_t seed) {
  const size_t both = size_t{lengths_.key} + lengths_.value;
  std::vector<float> all = normal_floats(positions_ * both, seed);
  for (uint32_t i = 0; i < positions_; ++i) {
    const float* k = all.data() + i * both;
    store({k, k + lengths_.key, lengths_.key, lengths_.value, pages_[i / kPagePositions],
           i % kPagePositions});
  }
}

void KvHead::put(KvStoreFn store, uint32_t position, const std::vector<float>& k,
                 const std::vector<float>& v) {
  store({k.data(), v.data(), lengths_.key, lengths_.value, pages_[position / kPagePositions],
         position % kPagePositions});
}

namespace {

// Returns the element at `at` of a half of a page. With q8_0 it is the code at `code_at`, times the
// scale at `scale_at` of the scales for `length` elements.
double stored(KvType type, const std::byte* half, size_t at, size_t code_at, size_t scale_at,
              uint32_t length) {
  switch (type) {
    case KvType::kF32:
      return element<float>(half, at);
    case KvType::kF16:
      return f16_to_f32(element<f16_t>(half, at));
    case KvType::kBF16:
      return bf16_to_f32(element<bf16_t>(half, at));
    case KvType::kQ8_0:
      return static_cast<double>(element<int8_t>(half, code_at)) *
             f16_to_f32(element<f16_t>(half + kv_scales_offset(length), scale_at));
  }
  HEARTH_CHECK(false, "not a KvType");
}

}  // namespace

double KvHead::key(uint32_t position, uint32_t d) const {
  const uint32_t slot = position % kPagePositions;
  return stored(type_, pages_[position / kPagePositions].k, size_t{d} * kPagePositions + slot,
                (size_t{d / 2} * kPagePositions + slot) * 2 + d % 2,
                size_t{d / kKvBlock} * kPagePositions + slot, lengths_.key);
}

double KvHead::value(uint32_t position, uint32_t d) const {
  const uint32_t slot = position % kPagePositions;
  const size_t stride = padded_length(lengths_.value);
  return stored(type_, pages_[position / kPagePositions].v, slot * stride + d,
                (slot / 2 * stride + d) * 2 + slot % 2,
                size_t{d / kKvBlock} * kPagePositions + slot, lengths_.value);
}

Queries::Queries(uint32_t rows_, HeadLengths lengths_, uint32_t seed)
    : rows(rows_),
      lengths(lengths_),
      q(normal_floats(size_t{rows_} * (lengths_.key + kGap), seed)),
      last(rows_, 0),
      scale(1.0f / std::sqrt(static_cast<float>(lengths_.key))) {
  for (size_t i = 0; i < rows; ++i) {
    offset.push_back(i * (lengths.key + kGap));
    out_offset.push_back(i * (lengths.value + kGap));
  }
}

namespace {

// Memory for a call and a cache line behind it, filled with garbage.
class Guarded {
 public:
  explicit Guarded(size_t bytes) : lines_(bytes / sizeof(CacheLine) + 1) {
    std::memset(lines_.data(), 0xff, lines_.size() * sizeof(CacheLine));
    behind_ = lines_.back();
  }
  std::byte* bytes() { return lines_.data()->bytes; }
  float* floats() { return reinterpret_cast<float*>(bytes()); }
  void check() const {
    HEARTH_CHECK(std::memcmp(&lines_.back(), &behind_, sizeof behind_) == 0,
                 "a call wrote past its memory");
  }

 private:
  std::vector<CacheLine> lines_;
  CacheLine behind_;
};

}  // namespace

std::vector<float> Queries::poison() const {
  return std::vector<float>(size_t{rows} * (lengths.value + kGap), kPoison);
}

AttendArgs Queries::args(const std::vector<KvPage>& pages) const {
  return {.q = q.data(),
          .q_offset = offset.data(),
          .last = last.data(),
          .rows = rows,
          .window = window,
          .pages = pages.data(),
          .key_length = lengths.key,
          .value_length = lengths.value,
          .scale = scale,
          .out = nullptr,
          .out_offset = out_offset.data(),
          .scratch = nullptr,
          .after = after,
          .four_places = four_places,
          .slope = slope.empty() ? nullptr : slope.data(),
          .position = slope.empty() ? nullptr : position.data(),
          .sink = sink.empty() ? nullptr : sink.data()};
}

std::vector<float> Queries::run(AttendFn attend, const std::vector<KvPage>& pages,
                                const std::vector<uint32_t>& chosen) const {
  std::vector<size_t> offsets, out_offsets;
  std::vector<uint32_t> lasts, positions;
  std::vector<float> slopes, sinks;
  for (uint32_t i : chosen) {
    offsets.push_back(offset[i]);
    out_offsets.push_back(out_offset[i]);
    lasts.push_back(last[i]);
    if (!sink.empty()) sinks.push_back(sink[i]);
    if (slope.empty()) continue;
    slopes.push_back(slope[i]);
    positions.push_back(position[i]);
  }
  Guarded scratch(kAttendScratchBytes);
  std::vector<float> out = poison();
  AttendArgs call = args(pages);
  call.q_offset = offsets.data();
  call.last = lasts.data();
  if (!slope.empty()) {
    call.slope = slopes.data();
    call.position = positions.data();
  }
  if (!sink.empty()) call.sink = sinks.data();
  call.rows = static_cast<uint32_t>(chosen.size());
  call.out = out.data();
  call.out_offset = out_offsets.data();
  call.scratch = scratch.bytes();
  attend(call);
  scratch.check();
  return out;
}

std::vector<float> Queries::run_spans(AttendFn attend, MergeFn merge,
                                      const std::vector<KvPage>& pages,
                                      const std::vector<uint32_t>& cuts,
                                      size_t scratch_bytes) const {
  const size_t floats = row_sums_floats(rows, lengths.value);
  Guarded scratch(scratch_bytes), merged(floats * sizeof(float));
  std::vector<float> out = poison();
  uint32_t begin = 0;
  for (uint32_t end : cuts) {
    Guarded sums((end - begin) * floats * sizeof(float));
    AttendArgs call = args(pages);
    call.scratch = scratch.bytes();
    call.sums = sums.floats();
    call.span0 = begin;
    call.span1 = end;
    attend(call);
    sums.check();
    merge({.sums = sums.floats(),
           .spans = end - begin,
           .rows = rows,
           .value_length = lengths.value,
           .merged = merged.floats(),
           .first = begin == 0,
           .out = end == cuts.back() ? out.data() : nullptr,
           .out_offset = out_offset.data(),
           .sink = sink.empty() ? nullptr : sink.data()});
    begin = end;
  }
  scratch.check();
  merged.check();
  return out;
}

std::vector<float> Queries::run(AttendFn attend, const std::vector<KvPage>& pages) const {
  std::vector<uint32_t> all(rows);
  std::iota(all.begin(), all.end(), 0u);
  return run(attend, pages, all);
}

}  // namespace hearth
