#include "kernels/quantize/quantize.h"

#include <cstring>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kAlignment = 64;
// Rows that lie a multiple of this many bytes apart share a cache's sets.
constexpr size_t kSetBytes = 2048;

// Hands out 64-byte aligned arrays one after the other; with a null base it only counts.
class Arrays {
 public:
  explicit Arrays(std::byte* base) : base_(base) {}

  template <typename T>
  void take(T*& array, size_t count) {
    array = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + bytes_);
    bytes_ += round_up(count * sizeof(T), kAlignment);
  }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* base_;
  size_t bytes_ = 0;
};

// Returns the distance of rows in elements. With this distance the 16 rows of a tile do not all lie
// in one or two sets of an L1 at the same column; a set holds 8 or 12 lines.
size_t stride_of(ActFormat format, size_t k) {
  const size_t bytes = format == ActFormat::kF32    ? sizeof(float)
                       : format == ActFormat::kBF16 ? sizeof(bf16_t)
                                                    : sizeof(int8_t);
  const size_t stride = round_up(k, kBlock);
  return stride * bytes % kSetBytes == 0 ? stride + 2 * kBlock : stride;
}

ActBuffer lay_out(ActFormat format, Arrays& arrays, size_t m, size_t k) {
  ActBuffer buffer = {};
  buffer.row_stride = stride_of(format, k);
  const size_t elements = m * buffer.row_stride;
  switch (format) {
    case ActFormat::kF32:
      arrays.take(buffer.f32, elements);
      break;
    case ActFormat::kBF16:
      arrays.take(buffer.bf16, elements);
      break;
    case ActFormat::kQ8:
      arrays.take(buffer.codes, elements);
      arrays.take(buffer.scale, elements / kBlock);
      arrays.take(buffer.bias32, elements / kBlock);
      arrays.take(buffer.sum32, elements / kBlock);
      arrays.take(buffer.bias16, elements / kBlock * 2);
      arrays.take(buffer.sum16, elements / kBlock * 2);
      break;
  }
  return buffer;
}

// Copies row `row` of one array to row `to_row` of another; both have `count` entries a row.
template <typename T>
void copy_row(const T* from, T* to, size_t row, size_t to_row, size_t count) {
  std::memcpy(to + to_row * count, from + row * count, count * sizeof(T));
}

template <typename T>
void advance(T*& array, ptrdiff_t count) {
  if (array != nullptr) array += count;
}

}  // namespace

size_t act_bytes(ActFormat format, size_t m, size_t k) {
  Arrays arrays(nullptr);
  lay_out(format, arrays, m, k);
  return arrays.bytes();
}

ActBuffer act_buffer(ActFormat format, std::byte* base, size_t m, size_t k) {
  HEARTH_CHECK(reinterpret_cast<uintptr_t>(base) % kAlignment == 0, "the buffer is aligned");
  Arrays arrays(base);
  return lay_out(format, arrays, m, k);
}

ActView act_view(const ActBuffer& buffer) {
  return {.f32 = buffer.f32,
          .bf16 = buffer.bf16,
          .codes = buffer.codes,
          .scale = buffer.scale,
          .bias32 = buffer.bias32,
          .sum32 = buffer.sum32,
          .bias16 = buffer.bias16,
          .sum16 = buffer.sum16,
          .row_stride = buffer.row_stride};
}

ActView act_rows(const ActView& view, size_t row, ptrdiff_t block) {
  const auto blocks = static_cast<ptrdiff_t>(row * (view.row_stride / kBlock)) + block;
  const auto elements = blocks * static_cast<ptrdiff_t>(kBlock);
  ActView moved = view;
  advance(moved.f32, elements);
  advance(moved.bf16, elements);
  advance(moved.codes, elements);
  advance(moved.scale, blocks);
  advance(moved.bias32, blocks);
  advance(moved.sum32, blocks);
  advance(moved.bias16, 2 * blocks);
  advance(moved.sum16, 2 * blocks);
  return moved;
}

void copy_act_row(ActFormat format, const ActView& from, size_t row, const ActBuffer& to,
                  size_t to_row) {
  const size_t n = from.row_stride;
  HEARTH_CHECK(n == to.row_stride, "rows of one length");
  switch (format) {
    case ActFormat::kF32:
      return copy_row(from.f32, to.f32, row, to_row, n);
    case ActFormat::kBF16:
      return copy_row(from.bf16, to.bf16, row, to_row, n);
    case ActFormat::kQ8:
      copy_row(from.codes, to.codes, row, to_row, n);
      copy_row(from.scale, to.scale, row, to_row, n / kBlock);
      copy_row(from.bias32, to.bias32, row, to_row, n / kBlock);
      copy_row(from.sum32, to.sum32, row, to_row, n / kBlock);
      copy_row(from.bias16, to.bias16, row, to_row, n / kBlock * 2);
      copy_row(from.sum16, to.sum16, row, to_row, n / kBlock * 2);
      return;
  }
}

}  // namespace hearth
