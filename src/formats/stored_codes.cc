#include "formats/stored_codes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/fp_types.h"

namespace hearth {
namespace {

constexpr uint32_t kCodeWordBits = 32, kSignedZero = 128;
// The index, for row i of eight, of its nibble in AWQ's word.
constexpr std::array<uint32_t, 8> kAwqPlaces = {0, 4, 1, 5, 2, 6, 3, 7};
constexpr std::array<float, 8> kE2M1Values = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

template <typename T>
T number_at(std::span<const std::byte> data, uint64_t i) {
  T number;
  std::memcpy(&number, data.data() + i * sizeof(T), sizeof(T));
  return number;
}

uint32_t code_in(uint32_t word, uint32_t bits, uint64_t place) {
  return word >> (bits * place) & ((1u << bits) - 1);
}

// Returns the code of `line` in the word at index `i`. The word has the codes of several lines, in
// AWQ's order or with the first line's in the lowest bits.
uint32_t code_at(const StoredPart& part, uint64_t i, uint32_t bits, uint64_t line, bool awq) {
  const uint64_t place = line % (kCodeWordBits / bits);
  return code_in(number_at<uint32_t>(part.data, i), bits, awq ? kAwqPlaces[place] : place);
}

void read_along_row(const StoredCodes& of, uint64_t row, uint64_t first, uint64_t count,
                    uint8_t* out) {
  const std::byte* line = of.codes.data.data() + row * of.line_bytes + first * of.bits / 8;
  if (of.bits == 8) {
    std::memcpy(out, line, count);
    return;
  }
  for (uint64_t i = 0; i < count; ++i) {
    const auto both = std::to_integer<uint8_t>(line[i / 2]);
    out[i] = i % 2 == 0 ? both & 15 : both >> 4;
  }
}

// Reads codes from words that have `per` columns of the row.
void read_along_column(const StoredCodes& of, uint64_t row, uint64_t first, uint64_t count,
                       uint8_t* out) {
  const uint64_t per = kCodeWordBits / of.bits;
  for (uint64_t i = 0; i < count; i += per) {
    const auto word = number_at<uint32_t>(of.codes.data, (first + i) / per * of.rows + row);
    for (uint64_t j = 0; j < std::min(per, count - i); ++j) {
      out[i + j] = static_cast<uint8_t>(code_in(word, of.bits, j));
    }
  }
}

// Reads codes from words that have eight rows of a column.
void read_across_rows(const StoredCodes& of, uint64_t row, uint64_t first, uint64_t count,
                      uint8_t* out) {
  const uint64_t words = of.rows / 8, place = kAwqPlaces[row % 8];
  for (uint64_t i = 0; i < count; ++i) {
    const auto word = number_at<uint32_t>(of.codes.data, (first + i) * words + row / 8);
    out[i] = static_cast<uint8_t>(code_in(word, 4, place));
  }
}

// Returns the code of an element.
uint8_t stored_code(const StoredCodes& of, uint64_t row, uint64_t column) {
  uint8_t code;
  switch (of.order) {
    case CodeOrder::kAlongRows: {
      const uint64_t even = column - column % 2;
      uint8_t both[2];
      read_along_row(of, row, even, std::min<uint64_t>(2, of.k - even), both);
      return both[column % 2];
    }
    case CodeOrder::kAlongColumns: {
      const uint64_t per = kCodeWordBits / of.bits;
      const auto word = number_at<uint32_t>(of.codes.data, column / per * of.rows + row);
      return static_cast<uint8_t>(code_in(word, of.bits, column % per));
    }
    default:
      read_across_rows(of, row, column, 1, &code);
      return code;
  }
}

float code_value(const StoredCodes& of, uint8_t code, int32_t zero) {
  switch (of.value) {
    case CodeValue::kE2M1:
      return code < 8 ? kE2M1Values[code] : -kE2M1Values[code - 8];
    case CodeValue::kE4M3:
      return e4m3_to_f32(code);
    default:
      return static_cast<float>(code - zero);
  }
}

}  // namespace

uint64_t StoredCodes::group_of(uint64_t column) const {
  if (column_groups.data.empty()) return column / group;
  return static_cast<uint64_t>(number_at<int32_t>(column_groups.data, column));
}

uint32_t StoredCodes::scale_bits(uint64_t row, uint64_t of) const {
  const uint64_t i = row * scale_row + of * scale_group;
  switch (scale) {
    case ScaleForm::kF32:
      return number_at<uint32_t>(scales.data, i);
    case ScaleForm::kF16:
    case ScaleForm::kBF16:
      return number_at<uint16_t>(scales.data, i);
    default:
      return number_at<uint8_t>(scales.data, i);
  }
}

float StoredCodes::scale_value(uint64_t row, uint64_t of) const {
  const uint32_t stored = scale_bits(row, of);
  switch (scale) {
    case ScaleForm::kF32:
      return std::bit_cast<float>(stored);
    case ScaleForm::kF16:
      return f16_to_f32(static_cast<f16_t>(stored));
    case ScaleForm::kBF16:
      return bf16_to_f32(static_cast<bf16_t>(stored));
    case ScaleForm::kE8M0:
      return e8m0_to_f32(static_cast<uint8_t>(stored));
    default:
      return e4m3_to_f32(static_cast<e4m3_t>(stored));
  }
}

bool StoredCodes::is_scale(float of) const {
  const bool integers = value == CodeValue::kInteger || value == CodeValue::kSigned;
  return std::isfinite(of) && (integers || of >= 0);
}

int32_t StoredCodes::zero_of(uint64_t row, uint64_t of) const {
  if (value == CodeValue::kSigned) return kSignedZero;
  const uint64_t per = kCodeWordBits / bits;
  uint64_t word = 0;
  switch (zero_order) {
    case ZeroOrder::kNone:
      return zero;
    case ZeroOrder::kDownGroups:
      word = row / per * groups + of;
      break;
    default:
      word = of * (rows / per) + row / per;
  }
  const bool awq = zero_order == ZeroOrder::kAwq;
  return static_cast<int32_t>(code_at(zeros, word, bits, row, awq)) + zero_offset;
}

void StoredCodes::read(uint64_t row, uint64_t block, uint8_t* out) const {
  if (column_order == nullptr) return read_as_stored(row, block, out);
  const uint64_t first = block * kBlock, count = std::min<uint64_t>(kBlock, k - first);
  std::fill_n(out, kBlock, uint8_t{0});
  const uint8_t flipped = value == CodeValue::kSigned ? kSignedZero : 0;
  for (uint64_t i = 0; i < count; ++i) {
    out[i] = stored_code(*this, row, (*column_order)[first + i]) ^ flipped;
  }
}

void StoredCodes::read_as_stored(uint64_t row, uint64_t block, uint8_t* out) const {
  const uint64_t first = block * kBlock, count = std::min<uint64_t>(kBlock, k - first);
  std::fill_n(out, kBlock, uint8_t{0});
  switch (order) {
    case CodeOrder::kAlongRows:
      read_along_row(*this, row, first, count, out);
      break;
    case CodeOrder::kAlongColumns:
      read_along_column(*this, row, first, count, out);
      break;
    case CodeOrder::kAcrossRows:
      read_across_rows(*this, row, first, count, out);
      break;
  }
  if (value != CodeValue::kSigned) return;
  for (uint64_t i = 0; i < count; ++i) out[i] ^= kSignedZero;
}

bool StoredCodes::value_at(uint64_t row, uint64_t column, uint8_t code, float* out) const {
  const uint64_t of = group_of(column);
  const float by = scale_value(row, of);
  const float product = by * code_value(*this, code, zero_of(row, of));
  *out = divided ? product / factor : product * factor;
  return is_scale(by);
}

bool StoredCodes::values(uint64_t row, float* out) const {
  std::array<uint8_t, kBlock> code;
  bool good = true;
  for (uint64_t c = 0; c < k; ++c) {
    if (c % kBlock == 0) read_as_stored(row, c / kBlock, code.data());
    good = value_at(row, c, code[c % kBlock], out + c) && good;
  }
  return good;
}

bool StoredCodes::column_values(uint64_t column, uint64_t first, uint64_t count, float* out) const {
  std::array<uint8_t, kBlock> code;
  bool good = true;
  for (uint64_t i = 0; i < count; ++i) {
    read_as_stored(first + i, column / kBlock, code.data());
    good = value_at(first + i, column, code[column % kBlock], out + i) && good;
  }
  return good;
}

}  // namespace hearth
