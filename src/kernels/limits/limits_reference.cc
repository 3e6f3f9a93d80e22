// Plain loops in the form that compilers optimise best. The speed of that code is this level's
// limit.
#include <algorithm>
#include <cstring>

#include "kernels/limits/limits_kernels.h"
#include "kernels/limits/read-inl.h"

namespace hearth {
namespace {

// The chains take 12 of the usual 16 registers of four lanes.
constexpr size_t kLanes = 48;

// Makes the compiler assume that `values` is read and changed here.
template <typename T>
void keep(T* values) {
  __asm__ volatile("" : : "r"(values) : "memory");
}

// Multiplies kLanes integers with themselves, round after round, and returns the operations done.
template <typename T>
double products(size_t rounds) {
  T a[kLanes];
  std::fill_n(a, kLanes, T{1});
  int32_t sum = 0;
  for (size_t i = 0; i < rounds; ++i) {
    // The compiler would compute the products only once without this.
    keep(a);
    for (T lane : a) sum += lane * lane;
  }
  // keep() gets a copy: if it got the address of `sum`, the sum would be stored after every
  // addition.
  int32_t result = sum;
  keep(&result);
  return static_cast<double>(rounds) * kLanes * 2;
}

}  // namespace

double ops_f32_fma_reference(size_t rounds) {
  float x[kLanes] = {};
  for (size_t i = 0; i < rounds; ++i) {
    for (float& lane : x) lane = lane * 0.5f + 0.5f;
  }
  keep(x);
  return static_cast<double>(rounds) * kLanes * 2;
}

double ops_bf16_dot_reference(size_t) { return 0; }

double ops_int8_dot_reference(size_t rounds) { return products<int8_t>(rounds); }
double ops_int16_dot_reference(size_t rounds) { return products<int16_t>(rounds); }

uint64_t read_reference(const std::byte* p, size_t bytes) {
  constexpr size_t kWords = 8;
  uint64_t x[kWords] = {}, all = 0;
  read_streams(p, bytes, [&](const std::byte* q) {
    uint64_t line[kWords];
    std::memcpy(line, q, sizeof(line));
    for (size_t j = 0; j < kWords; ++j) x[j] ^= line[j];
  });
  for (uint64_t part : x) all ^= part;
  return all;
}

}  // namespace hearth
