#include "kernels/attention/attention_problem.h"

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
  // A sum of uniforms: std::normal_distribution differs between libraries.
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

// As the engine's memory has them; decode from memory is faster so. Only advice: failing does no
// harm.
void advise_huge_pages(void* p, size_t bytes) {
  constexpr uintptr_t kHuge = uintptr_t{2} << 20;
  uintptr_t begin = (reinterpret_cast<uintptr_t>(p) + kHuge - 1) / kHuge * kHuge;
  uintptr_t end = (reinterpret_cast<uintptr_t>(p) + bytes) / kHuge * kHuge;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

KvHead::KvHead(KvType type, uint32_t head_dim, uint32_t positions)
    : type_(type), head_dim_(head_dim), positions_(positions) {
  size_t half = kv_half_bytes(type, head_dim);
  size_t count = (positions + kPagePositions - 1) / kPagePositions;
  CacheLine unset;
  std::memset(&unset, 0xff, sizeof unset);
  memory_.reserve(count * 2 * half / sizeof(CacheLine));
  advise_huge_pages(memory_.data(), count * 2 * half);
  memory_.assign(count * 2 * half / sizeof(CacheLine), unset);
  for (size_t i = 0; i < count; ++i) {
    std::byte* page = memory_.data()->bytes + i * 2 * half;
    pages_.push_back({page, page + half});
  }
}

void KvHead::fill(KvStoreFn store, uint32_t seed) {
  std::vector<float> all = normal_floats(size_t{positions_} * 2 * head_dim_, seed);
  for (uint32_t i = 0; i < positions_; ++i) {
    const float* k = all.data() + size_t{i} * 2 * head_dim_;
    store({k, k + head_dim_, head_dim_, pages_[i / kPagePositions], i % kPagePositions});
  }
}

void KvHead::put(KvStoreFn store, uint32_t position, const std::vector<float>& k,
                 const std::vector<float>& v) {
  store({k.data(), v.data(), head_dim_, pages_[position / kPagePositions],
         position % kPagePositions});
}

double KvHead::key(uint32_t position, uint32_t d) const {
  const std::byte* half = pages_[position / kPagePositions].k;
  uint32_t slot = position % kPagePositions;
  size_t at = size_t{d} * kPagePositions + slot;
  switch (type_) {
    case KvType::kF32:
      return element<float>(half, at);
    case KvType::kF16:
      return f16_to_f32(element<f16_t>(half, at));
    case KvType::kBF16:
      return bf16_to_f32(element<bf16_t>(half, at));
    case KvType::kQ8_0: {
      size_t scale = size_t{d / kKvBlock} * kPagePositions + slot;
      at = (size_t{d / 2} * kPagePositions + slot) * 2 + d % 2;
      return static_cast<double>(element<int8_t>(half, at)) *
             f16_to_f32(element<f16_t>(half + kv_scales_offset(head_dim_), scale));
    }
  }
  HEARTH_CHECK(false, "not a KvType");
}

double KvHead::value(uint32_t position, uint32_t d) const {
  const std::byte* half = pages_[position / kPagePositions].v;
  uint32_t slot = position % kPagePositions;
  size_t at = size_t{slot} * padded_head_dim(head_dim_) + d;
  switch (type_) {
    case KvType::kF32:
      return element<float>(half, at);
    case KvType::kF16:
      return f16_to_f32(element<f16_t>(half, at));
    case KvType::kBF16:
      return bf16_to_f32(element<bf16_t>(half, at));
    case KvType::kQ8_0: {
      size_t scale = size_t{d / kKvBlock} * kPagePositions + slot;
      at = (size_t{slot / 2} * padded_head_dim(head_dim_) + d) * 2 + slot % 2;
      return static_cast<double>(element<int8_t>(half, at)) *
             f16_to_f32(element<f16_t>(half + kv_scales_offset(head_dim_), scale));
    }
  }
  HEARTH_CHECK(false, "not a KvType");
}

Queries::Queries(uint32_t rows_, uint32_t head_dim_, uint32_t seed)
    : rows(rows_),
      head_dim(head_dim_),
      q(normal_floats(size_t{rows_} * (head_dim_ + kGap), seed)),
      offset(rows_),
      last(rows_, 0),
      scale(1.0f / std::sqrt(static_cast<float>(head_dim_))) {
  for (uint32_t i = 0; i < rows; ++i) offset[i] = size_t{i} * (head_dim + kGap);
}

namespace {

// Memory for a call with a line behind it, all garbage.
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

AttendArgs Queries::args(const std::vector<KvPage>& pages) const {
  return {.q = q.data(),
          .q_offset = offset.data(),
          .last = last.data(),
          .rows = rows,
          .window = window,
          .pages = pages.data(),
          .head_dim = head_dim,
          .scale = scale,
          .out = nullptr,
          .out_offset = offset.data(),
          .scratch = nullptr,
          .after = after,
          .four_places = four_places};
}

std::vector<float> Queries::run(AttendFn attend, const std::vector<KvPage>& pages,
                                const std::vector<uint32_t>& chosen) const {
  std::vector<size_t> offsets;
  std::vector<uint32_t> lasts;
  for (uint32_t i : chosen) {
    offsets.push_back(offset[i]);
    lasts.push_back(last[i]);
  }
  Guarded scratch(kAttendScratchBytes);
  std::vector<float> out(q.size(), kPoison);
  AttendArgs call = args(pages);
  call.q_offset = offsets.data();
  call.last = lasts.data();
  call.rows = static_cast<uint32_t>(chosen.size());
  call.out = out.data();
  call.out_offset = offsets.data();
  call.scratch = scratch.bytes();
  attend(call);
  scratch.check();
  return out;
}

std::vector<float> Queries::run_spans(AttendFn attend, MergeFn merge,
                                      const std::vector<KvPage>& pages,
                                      const std::vector<uint32_t>& cuts) const {
  const size_t floats = row_sums_floats(rows, head_dim);
  Guarded scratch(kAttendScratchBytes), merged(floats * sizeof(float));
  std::vector<float> out(q.size(), kPoison);
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
           .head_dim = head_dim,
           .merged = merged.floats(),
           .first = begin == 0,
           .out = end == cuts.back() ? out.data() : nullptr,
           .out_offset = offset.data()});
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
