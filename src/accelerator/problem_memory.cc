#include "accelerator/problem_memory.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/check.h"

namespace hearth {
namespace {

float plain_value(std::mt19937& random) { return std::normal_distribution<float>()(random); }
float wide_value(std::mt19937& random) {
  const int exponent = std::uniform_int_distribution(-126, 100)(random);
  return std::ldexp(plain_value(random), exponent);
}
float hostile_value(std::mt19937& random) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr std::array kValues = {0.0f,
                                         -0.0f,
                                         1.0f,
                                         -1.0f,
                                         0x1p-149f,
                                         -0x1p-127f,
                                         0x1.fffffep-127f,
                                         0x1p-126f,
                                         0x1p-118f,
                                         -88.0f,
                                         -87.3366f,
                                         -87.33654f,
                                         -5.5f,
                                         5.5f,
                                         0x1.fffffep127f,
                                         -0x1.8p126f,
                                         16777216.f,
                                         0.5f,
                                         2.5f,
                                         -3.5f,
                                         127.5f};
  const auto draw = static_cast<uint32_t>(random() % 200);
  if (draw == 0) return kInfinity;
  if (draw == 1) return -kInfinity;
  if (draw == 2) return std::numeric_limits<float>::quiet_NaN();
  return draw < 60 ? kValues[draw % kValues.size()] : plain_value(random);
}
// Returns a random value. Half of the values are about as small as the smallest numbers of
// binary16.
float small_value(std::mt19937& random) {
  const int exponent = std::uniform_int_distribution(-30, -12)(random);
  return random() % 2 == 0 ? plain_value(random) : std::ldexp(plain_value(random), exponent);
}

// Replaces every NaN among the numbers at `all` by `nan`, so that NaNs with different bits compare
// equal. A number has the size of Bits.
template <typename Bits, typename IsNan>
void settle(const std::vector<Access>& all, Bits nan, const IsNan& is_nan,
            std::span<std::byte> memory) {
  for (const Access& numbers : all) {
    for (uint32_t row = 0; row < numbers.rows; ++row) {
      const size_t begin = numbers.at.offset + row * numbers.stride;
      for (size_t at = begin; at < begin + numbers.bytes; at += sizeof nan) {
        Bits bits;
        std::memcpy(&bits, &memory[at], sizeof bits);
        if (is_nan(bits)) std::memcpy(&memory[at], &nan, sizeof nan);
      }
    }
  }
}

}  // namespace

void settle_nans(const CallProblem& problem, std::span<std::byte> memory) {
  settle(
      problem.floats, uint32_t{0x7fc00000},
      [](uint32_t bits) { return (bits & 0x7fffffff) > 0x7f800000; }, memory);
  settle(
      problem.halves, uint16_t{0x7e00}, [](uint16_t bits) { return (bits & 0x7fff) > 0x7c00; },
      memory);
}

const char* name_of(ProblemValues values) {
  static constexpr std::array kNames = {"normal values", "values of all sizes", "hostile values",
                                        "values that round to little"};
  return kNames[static_cast<size_t>(values)];
}

float problem_value(ProblemValues values, std::mt19937& random) {
  switch (values) {
    case ProblemValues::kPlain:
      return plain_value(random);
    case ProblemValues::kWide:
      return wide_value(random);
    case ProblemValues::kHostile:
      return hostile_value(random);
    case ProblemValues::kSmall:
      return small_value(random);
  }
  HEARTH_CHECK(false, "values of a kind");
  return 0;
}

Place ProblemMemory::add(uint64_t bytes) {
  const uint64_t at = (memory_.size() + kAlign - 1) / kAlign * kAlign;
  memory_.resize(at + bytes, kPattern);
  return {buffer_, at};
}

Place ProblemMemory::add(std::span<const std::byte> bytes) {
  const Place place = add(bytes.size());
  std::memcpy(&memory_[place.offset], bytes.data(), bytes.size());
  return place;
}

std::vector<float> ProblemMemory::draw(uint64_t count) {
  std::vector<float> floats(count);
  for (float& x : floats) x = problem_value(values_, random_);
  return floats;
}

FloatRows ProblemMemory::moments(uint32_t count, uint32_t heads) {
  const uint64_t stride = 2 * heads + 1;
  std::vector<float> floats = draw(count * stride);
  for (size_t i = 0; i < floats.size(); ++i) {
    if (i % stride % 2 != 0) floats[i] = std::fabs(floats[i]);
  }
  return {add(std::as_bytes(std::span(floats))), stride};
}

void ProblemMemory::note_scales(const Place& codes, uint32_t length, uint64_t stride,
                                uint32_t pages) {
  halves_.push_back({.at = codes + kv_scales_offset(length),
                     .bytes = uint64_t{2} * kPagePositions * kv_blocks(length),
                     .stride = stride,
                     .rows = pages,
                     .writes = true});
}

Place ProblemMemory::slots(uint32_t rows, uint32_t pages) {
  std::vector<uint32_t> slots(pages * kPagePositions);
  std::iota(slots.begin(), slots.end(), 0);
  std::shuffle(slots.begin(), slots.end(), random_);
  slots.resize(rows);
  return add(std::as_bytes(std::span(slots)));
}

FloatRows ProblemMemory::results(uint32_t count, uint64_t stride, uint32_t n) {
  FloatRows out{add(count * stride * sizeof(float)), stride};
  note_floats(out, count, n);
  return out;
}

void ProblemMemory::note_floats(const FloatRows& out, uint32_t count, uint32_t n) {
  floats_.push_back({out.at, n * sizeof(float), out.stride * sizeof(float), count, true});
}

CallProblem ProblemMemory::finish(KernelCall call, std::string sizes) {
  add(kAlign);  // shows a write behind the last place
  sizes += std::string(", ") + name_of(values_);
  return {std::move(call), std::move(sizes), std::move(memory_), std::move(floats_),
          std::move(halves_)};
}

}  // namespace hearth
