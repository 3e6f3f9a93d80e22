// FP8 from the codes and scales of a file to the outputs, at every ISA level, against sums in
// double precision that do not use packs. (gemm_test.cc tests for all kinds that rows, ranges and
// panels change no bits.)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/gemm/gemm_problem.h"
#include "kernels/kernels.h"
#include "kernels/test_levels.h"
#include "tensor/test_pack_fp8.h"

namespace hearth {
namespace {

// Computes the value of a code from its fields.
double code_value(uint8_t code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  if (exponent == 15 && mantissa == 7) return std::nan("");
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

struct Matrix {
  uint32_t n, k;
  std::vector<std::byte> codes = std::vector<std::byte>(size_t{n} * k);
  size_t scale_columns = (k + 127) / 128;
  std::vector<float> scales = std::vector<float>((n + 127) / 128 * scale_columns, 1.0f);

  uint8_t& code(size_t row, size_t column) {
    return reinterpret_cast<uint8_t*>(codes.data())[row * k + column];
  }
  double value(size_t row, size_t column) const {
    return scales[row / 128 * scale_columns + column / 128] *
           code_value(std::to_integer<uint8_t>(codes[row * k + column]));
  }
};

struct Activations {
  uint32_t m, k;
  PaddedBytes bytes = PaddedBytes(act_bytes(ActFormat::kBF16, m, k));
  ActBuffer rows = act_buffer(ActFormat::kBF16, bytes.data(), m, k);

  Activations(uint32_t m_rows, uint32_t columns) : m(m_rows), k(columns) {
    std::memset(bytes.data(), 0, act_bytes(ActFormat::kBF16, m, k));
  }
  bf16_t& at(size_t row, size_t column) { return rows.bf16[row * rows.row_stride + column]; }
};

class Fp8Test : public testing::TestWithParam<Isa> {
 protected:
  // Returns out[row][padded n].
  std::vector<std::vector<float>> multiply(const Matrix& w, const Activations& x,
                                           PackKind kind = PackKind::kFP8) const {
    const PackSpec spec{kind, w.n, w.k, 0};
    PaddedBytes codes(spec.codes_bytes()), scales(spec.scales_bytes()), scratch(kGemmScratchBytes);
    pack_fp8_panels(spec, {w.codes.data(), w.k, w.scales.data(), w.scale_columns, 0}, 0,
                    spec.panels(), codes.data(), scales.data());
    const size_t columns = size_t{kPanelRows} * spec.panels();
    std::vector<float> out(columns * x.m);
    kernels_for(GetParam())
        .gemm[static_cast<size_t>(spec.kind)]({.w = weight_view(spec, codes.data(), scales.data()),
                                               .panel0 = 0,
                                               .panels = spec.panels(),
                                               .block0 = 0,
                                               .block1 = spec.blocks(),
                                               .a = act_view(x.rows),
                                               .m = x.m,
                                               .out = out.data(),
                                               .out_stride = columns,
                                               .scratch = scratch.data()});
    std::vector<std::vector<float>> rows;
    for (size_t r = 0; r < x.m; ++r) {
      rows.emplace_back(out.begin() + columns * r, out.begin() + columns * (r + 1));
    }
    return rows;
  }
};

// One activation is 1 and the others are 0, so that the output is one weight.
TEST_P(Fp8Test, EveryCodeDecodesExactly) {
  Matrix w{16, 16};
  for (uint32_t n = 0; n < 16; ++n) {
    for (uint32_t k = 0; k < 16; ++k) {
      const auto code = static_cast<uint8_t>(16 * n + k);
      w.code(n, k) = (code & 0x7f) == 0x7f ? 0 : code;
    }
  }
  Activations x(16, 16);
  for (size_t k = 0; k < 16; ++k) x.at(k, k) = f32_to_bf16(1.0f);
  for (uint32_t m : {1u, 3u, 8u, 16u}) {
    x.m = m;
    auto out = multiply(w, x);
    for (size_t k = 0; k < m; ++k) {
      for (size_t n = 0; n < 16; ++n) {
        EXPECT_EQ(out[k][n], w.value(n, k)) << "code " << 16 * n + k << " m " << m;
      }
    }
  }
}

TEST_P(Fp8Test, NanCodesGiveNanInTheirRowsAlone) {
  for (uint8_t nan : {uint8_t{0x7f}, uint8_t{0xff}}) {
    Matrix w{40, 300};
    std::fill(w.codes.begin(), w.codes.end(), std::byte{0x38});
    w.code(3, 0) = nan;
    w.code(17, 130) = nan;
    w.code(39, 299) = nan;
    Activations x(9, 300);
    for (uint32_t m : {1u, 2u, 5u, 9u}) {
      x.m = m;
      for (PackKind kind : {PackKind::kFP8, PackKind::kFP8R}) {
        for (const auto& row : multiply(w, x, kind)) {
          for (size_t n = 0; n < 40; ++n) {
            EXPECT_EQ(std::isnan(row[n]), n == 3 || n == 17 || n == 39) << "column " << n;
          }
        }
      }
    }
  }
}

// The scales of this matrix are those of blocks of 128 rows, which both kinds can pack.
TEST_P(Fp8Test, BothKindsGiveTheSameBits) {
  Matrix w{300, 427};
  std::mt19937 random(3);
  for (std::byte& b : w.codes) b = static_cast<std::byte>(random() % 120);
  for (float& s : w.scales) s = 1e-4f * static_cast<float>(1 + random() % 100);
  Activations x(20, 427);
  for (size_t r = 0; r < x.m; ++r) {
    for (size_t c = 0; c < x.k; ++c) {
      x.at(r, c) = f32_to_bf16(static_cast<float>(random() % 1000) - 500);
    }
  }
  for (uint32_t m : {1u, 4u, 20u}) {
    x.m = m;
    EXPECT_EQ(multiply(w, x, PackKind::kFP8), multiply(w, x, PackKind::kFP8R)) << "m " << m;
  }
}

enum class Data { kGaussian, kAnyCode, kPositive };

// Rounds numbers to the nearest code that is not NaN.
class Encoder {
 public:
  Encoder() {
    for (int c = 0; c < 256; ++c) values_[c] = code_value(static_cast<uint8_t>(c));
  }
  uint8_t operator()(double value) const {
    const int sign = value < 0 ? 0x80 : 0;
    int best = sign;
    for (int c = sign; c < sign + 0x7f; ++c) {
      if (std::abs(values_[c] - value) < std::abs(values_[best] - value)) best = c;
    }
    return static_cast<uint8_t>(best);
  }

 private:
  double values_[256];
};

// The bound is measured, not proved: 1e-8 to 4e-8 for data of both signs, up to 3.5e-7 where no
// term cancels. The bound for any data, (128 + K / 128) 2^-24, is tested in gemm_test.cc.
TEST_P(Fp8Test, ErrorIsBelowAMillionthOfTheMagnitudes) {
  for (auto [n, k, data] : {std::tuple{200u, 300u, Data::kGaussian},
                            {33u, 2048u, Data::kAnyCode},
                            {33u, 2048u, Data::kPositive},
                            {17u, 7168u, Data::kGaussian},
                            {17u, 7168u, Data::kPositive}}) {
    std::mt19937 random(n + k);
    std::normal_distribution<float> normal;
    const Encoder encode;
    Matrix w{n, k};
    for (std::byte& b : w.codes) {
      auto code =
          data == Data::kAnyCode ? static_cast<uint8_t>(random()) : encode(100 * normal(random));
      if ((code & 0x7f) == 0x7f) code = 1;
      if (data == Data::kPositive) code &= 0x7f;
      b = std::byte{code};
    }
    for (float& s : w.scales) s = 1e-4f * (1 + std::abs(normal(random)));
    Activations x(10, k);
    for (size_t r = 0; r < 10; ++r) {
      for (size_t c = 0; c < k; ++c) {
        const float a = normal(random);
        x.at(r, c) = f32_to_bf16(data == Data::kPositive ? std::abs(a) : a);
      }
    }
    double worst = 0;
    auto out = multiply(w, x);
    for (size_t r = 0; r < 10; ++r) {
      for (size_t i = 0; i < n; ++i) {
        double truth = 0, magnitude = 0;
        for (size_t c = 0; c < k; ++c) {
          const double term = w.value(i, c) * bf16_to_f32(x.at(r, c));
          truth += term;
          magnitude += std::abs(term);
        }
        worst = std::max(worst, std::abs(out[r][i] - truth) / magnitude);
      }
    }
    EXPECT_LT(worst, 1e-6) << "N " << n << " K " << k;
  }
}

// The last panel has rows of padding from N on, and the last block columns of padding from K on.
TEST_P(Fp8Test, PaddingAddsNothing) {
  Matrix w{130, 161};
  std::fill(w.codes.begin(), w.codes.end(), std::byte{0x38});
  w.scales = {1, 2, 4, 8};
  Activations x(1, 161);
  for (size_t c = 0; c < 161; ++c) x.at(0, c) = f32_to_bf16(1.0f);
  auto out = multiply(w, x);
  for (size_t n = 0; n < out[0].size(); ++n) {
    EXPECT_EQ(out[0][n], n < 128 ? 128 + 2 * 33 : n < 130 ? 4 * 128 + 8 * 33 : 0) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Fp8Test, testing::ValuesIn(test_levels()),
                         [](const auto& instance) {
                           return std::string(isa_name(instance.param));
                         });

}  // namespace
}  // namespace hearth
