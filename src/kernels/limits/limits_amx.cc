#include "kernels/limits/limits_kernels.h"
#include "kernels/simd/tiles_amx-inl.h"

namespace hearth {
namespace {

// Four tiles of sums take turns, since a product takes 52 cycles, and the unit begins one every 16.
template <typename Products>
double in_turn(size_t rounds, double ops_of_one, const Products& four_products) {
  static constexpr amx::Shape kWhole = [] {
    amx::Shape shape;
    for (uint32_t tile = 0; tile < 8; ++tile) shape.set(tile, 16, 64);
    return shape;
  }();
  amx::configure(kWhole);
  for (size_t i = 0; i < rounds; ++i) four_products();
  amx::release();
  return 4 * ops_of_one * static_cast<double>(rounds);
}

}  // namespace

double ops_bf16_dot_amx(size_t rounds) {
  return in_turn(rounds, 2.0 * 16 * 16 * 32, [] {
    amx::dot_bf16<0, 4, 5>();
    amx::dot_bf16<1, 4, 5>();
    amx::dot_bf16<2, 4, 5>();
    amx::dot_bf16<3, 4, 5>();
  });
}

double ops_int8_dot_amx(size_t rounds) {
  return in_turn(rounds, 2.0 * 16 * 16 * 64, [] {
    amx::dot_signed<0, 4, 5>();
    amx::dot_signed<1, 4, 5>();
    amx::dot_signed<2, 4, 5>();
    amx::dot_signed<3, 4, 5>();
  });
}

}  // namespace hearth
