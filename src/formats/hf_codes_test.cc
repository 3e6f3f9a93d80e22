// Tests Linears of other quantisers in folders that the tests make. Every layout's codes, scales
// and zeros must be read as they were written, and parts that do not fit must be refused.
#include "formats/hf_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "base/fp_types.h"
#include "formats/gguf_test_bytes.h"
#include "formats/test_hf_folder.h"

namespace hearth {
namespace {

using Dims = std::vector<uint64_t>;

constexpr const char* kModule = "model.layers.0.mlp.up_proj";

// A Linear as codes, bits of its scales, and zeros, which the writers below store.
struct Weights {
  uint64_t rows, k, group;
  uint32_t bits;
  std::vector<uint32_t> codes;   // [rows][k]
  std::vector<uint16_t> scales;  // bf16 [rows][groups]
  std::vector<uint32_t> zeros;   // [rows][groups]
  uint64_t groups = (k + group - 1) / group;

  Weights(uint64_t n, uint64_t columns, uint64_t columns_of_group, uint32_t code_bits)
      : rows(n), k(columns), group(columns_of_group), bits(code_bits) {
    std::mt19937 random(7);
    const uint32_t most = (1u << bits) - 1;
    for (uint64_t i = 0; i < rows * k; ++i) codes.push_back(random() & most);
    for (uint64_t i = 0; i < rows * groups; ++i) {
      scales.push_back(f32_to_bf16(0.01f * static_cast<float>(1 + random() % 100)));
      // A zero plus 1, which a form of GPTQ adds, still fits a code.
      zeros.push_back(random() % most);
    }
  }
  uint32_t code(uint64_t r, uint64_t c) const { return codes[r * k + c]; }
  float scale(uint64_t r, uint64_t g) const { return bf16_to_f32(scales[r * groups + g]); }
  uint32_t zero(uint64_t r, uint64_t g) const { return zeros[r * groups + g]; }
};

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& of) {
  return std::as_bytes(std::span(of));
}

// Packs a matrix of codes into words along its rows: `at(line, i)` is code i of a line, the first
// in the lowest bits.
template <typename At>
std::vector<uint32_t> words(uint64_t lines, uint64_t length, uint32_t bits, const At& at) {
  const uint64_t per = 32 / bits, each = (length + per - 1) / per;
  std::vector<uint32_t> out(lines * each);
  for (uint64_t line = 0; line < lines; ++line) {
    for (uint64_t i = 0; i < length; ++i) {
      out[line * each + i / per] |= at(line, i) << (bits * (i % per));
    }
  }
  return out;
}

std::vector<uint32_t> transposed(const std::vector<uint32_t>& of, uint64_t rows) {
  std::vector<uint32_t> out;
  for (uint64_t c = 0; c < of.size() / rows; ++c) {
    for (uint64_t r = 0; r < rows; ++r) out.push_back(of[r * (of.size() / rows) + c]);
  }
  return out;
}

class Folder {
 public:
  explicit Folder(const std::string& quant) {
    for (auto [key, value] : {std::pair{"num_hidden_layers", "1"}, std::pair{"hidden_size", "32"},
                              std::pair{"vocab_size", "9"}}) {
      writer_.set(key, value);
    }
    writer_.set("architectures", "[\"LlamaForCausalLM\"]");
    writer_.set("quantization_config", "{" + quant + "}");
  }
  template <typename T>
  Folder& add(const std::string& ending, const Dims& shape, const char* type,
              const std::vector<T>& data) {
    // Puts each part into another file than the part before.
    writer_.add(kModule + ending, shape, type, bytes(data), parts_++ % 3);
    return *this;
  }
  Folder& add_zeros(const std::string& ending, const Dims& shape, const char* type) {
    writer_.add_zeros(kModule + ending, shape, type, parts_++ % 3);
    return *this;
  }
  ModelSource source() const { return writer_.source(UnknownTypes::kKeep); }
  std::string error() const {
    return file_error([&] { source(); });
  }

 private:
  HfFolderWriter writer_;
  size_t parts_ = 0;
};

const StoredCodes& codes_of(const ModelSource& source, std::string_view name = "") {
  const SourceTensor& tensor =
      source.require_tensor(name.empty() ? std::string(kModule) + ".weight" : std::string(name));
  EXPECT_TRUE(tensor.type_known);
  EXPECT_EQ(tensor.runs.size(), 1u);
  const StoredCodes& codes = *tensor.runs[0].codes;
  EXPECT_EQ(tensor.dims, (Dims{codes.k, codes.rows}));
  EXPECT_EQ(tensor.type_text, codes.name);
  EXPECT_EQ(tensor.n_bytes(), codes.rows * codes.k * codes.bits / 8);
  return codes;
}

// Expects that every element (r, c) reads back as `value(r, c)`.
template <typename Value>
void expect_values(const StoredCodes& codes, const Value& value) {
  std::vector<float> row(codes.k);
  for (uint64_t r = 0; r < codes.rows; ++r) {
    ASSERT_TRUE(codes.values(r, row.data()));
    for (uint64_t c = 0; c < codes.k; ++c) {
      ASSERT_EQ(row[c], static_cast<float>(value(r, c))) << codes.name << " " << r << ", " << c;
    }
  }
}

void expect_integers(const StoredCodes& codes, const Weights& w, uint32_t more,
                     const std::function<uint64_t(uint64_t)>& group) {
  uint8_t block[32];
  for (uint64_t r = 0; r < w.rows; ++r) {
    for (uint64_t at = 0; at < w.k; ++at) {
      if (at % 32 == 0) codes.read(r, at / 32, block);
      const uint64_t c = codes.column_order == nullptr ? at : (*codes.column_order)[at];
      ASSERT_EQ(block[at % 32], w.code(r, c)) << codes.name << " " << r << ", " << c;
      const uint64_t g = group(c);
      ASSERT_EQ(codes.group_of(c), g);
      ASSERT_EQ(codes.scale_value(r, g), w.scale(r, g));
      ASSERT_EQ(codes.zero_of(r, g), static_cast<int32_t>(w.zero(r, g) + more));
    }
  }
  expect_values(codes, [&](uint64_t r, uint64_t c) {
    const uint64_t g = group(c);
    return double{w.scale(r, g)} *
           (static_cast<double>(w.code(r, c)) - static_cast<double>(w.zero(r, g) + more));
  });
}

std::string compressed_group(uint32_t bits, uint64_t group, const char* format, const char* type,
                             const char* more = "") {
  return fmt::format(R"("quant_method": "compressed-tensors", "format": "{}", "config_groups":
      {{"group_0": {{"weights": {{"num_bits": {}, "type": "{}", "strategy": "group",
      "group_size": {} {}}}}}}})",
                     format, bits, type, group, more);
}

Folder packed_folder(const Weights& w, bool zeros) {
  Folder folder(compressed_group(w.bits, w.group, "pack-quantized", "int"));
  const uint64_t per = 32 / w.bits;
  const auto packed =
      words(w.rows, w.k, w.bits, [&](uint64_t r, uint64_t c) { return w.code(r, c); });
  folder.add(".weight_packed", {w.rows, packed.size() / w.rows}, "I32", packed)
      .add(".weight_scale", {w.rows, w.groups}, "BF16", w.scales)
      .add(".weight_shape", {2}, "I64",
           std::vector<int64_t>{static_cast<int64_t>(w.rows), static_cast<int64_t>(w.k)});
  if (!zeros) return folder;
  const auto down =
      words(w.groups, w.rows, w.bits, [&](uint64_t g, uint64_t r) { return w.zero(r, g); });
  folder.add(".weight_zero_point", {(w.rows + per - 1) / per, w.groups}, "I32",
             transposed(down, w.groups));
  return folder;
}

TEST(HfCodes, CompressedTensorsPacked) {
  for (uint32_t bits : {4u, 8u}) {
    for (const auto& [rows, k] : {std::pair<uint64_t, uint64_t>(24, 96), {13, 64}, {5, 44}}) {
      Weights w(rows, k, 32, bits);
      ModelSource with = packed_folder(w, true).source();
      const StoredCodes& codes = codes_of(with);
      EXPECT_EQ(codes.scale, ScaleForm::kBF16);
      EXPECT_EQ(codes.bits, bits);
      expect_integers(codes, w, 0, [](uint64_t c) { return c / 32; });
      for (uint32_t& zero : w.zeros) zero = 1u << (bits - 1);
      ModelSource without = packed_folder(w, false).source();
      expect_integers(codes_of(without), w, 0, [](uint64_t c) { return c / 32; });
    }
  }
}

// If every group but the last is full, columns are sorted by group, ascending within each.
TEST(HfCodes, ColumnsInGroupsOfTheirOwn) {
  const Weights w(8, 80, 32, 4);
  std::vector<int32_t> groups(80);
  for (int32_t c = 0; c < 80; ++c) groups[static_cast<size_t>(c)] = c < 16 ? 2 : c % 2;
  auto with = [&] { return packed_folder(w, true).add(".weight_g_idx", {80}, "I32", groups); };
  ModelSource source = with().source();
  expect_integers(codes_of(source), w, 0, [](uint64_t c) { return c < 16 ? 2 : c % 2; });
  for (uint32_t j = 0; j < 80; ++j) {
    const uint32_t column = j < 32 ? 16 + 2 * j : j < 64 ? 2 * j - 47 : j - 64;
    ASSERT_EQ((*codes_of(source).column_order)[j], column);
  }
  groups[0] = 1;
  ModelSource uneven = with().source();
  EXPECT_EQ(codes_of(uneven).column_order, nullptr);
  EXPECT_FALSE(codes_of(uneven).column_groups.data.empty());
  for (int32_t wrong : {-1, 3}) {
    groups[3] = wrong;
    const std::string error = with().error();
    EXPECT_NE(error.find(fmt::format("group {}, but there are 3 groups", wrong)), std::string::npos)
        << error;
  }
}

Folder gptq_folder(const Weights& w, const char* format, const std::string& more = "") {
  Folder folder(fmt::format(R"("quant_method": "gptq", "bits": {}, "group_size": {},
      "checkpoint_format": "{}" {})",
                            w.bits, w.group, format, more));
  const auto along =
      words(w.rows, w.k, w.bits, [&](uint64_t r, uint64_t c) { return w.code(r, c); });
  const auto zeros =
      words(w.groups, w.rows, w.bits, [&](uint64_t g, uint64_t r) { return w.zero(r, g); });
  std::vector<uint16_t> scales;
  for (uint64_t g = 0; g < w.groups; ++g) {
    for (uint64_t r = 0; r < w.rows; ++r) scales.push_back(w.scales[r * w.groups + g]);
  }
  folder.add(".qweight", {along.size() / w.rows, w.rows}, "I32", transposed(along, w.rows))
      .add(".qzeros", {w.groups, zeros.size() / w.groups}, "I32", zeros)
      .add(".scales", {w.groups, w.rows}, "BF16", scales);
  return folder;
}

TEST(HfCodes, Gptq) {
  for (uint32_t bits : {4u, 8u}) {
    const Weights w(24, 128, 64, bits);
    for (const auto& [format, more] : {std::pair("gptq", 1u), std::pair("gptq_v2", 0u)}) {
      std::vector<int32_t> groups(128);
      for (int32_t c = 0; c < 128; ++c) groups[static_cast<size_t>(c)] = c / 64;
      Folder folder = gptq_folder(w, format);
      folder.add(".g_idx", {128}, "I32", groups);
      ModelSource source = folder.source();
      EXPECT_TRUE(codes_of(source).column_groups.data.empty());
      expect_integers(codes_of(source), w, more, [](uint64_t c) { return c / 64; });
      for (int32_t& group : groups) group = 1 - group;
      Folder turned = gptq_folder(w, format);
      turned.add(".g_idx", {128}, "I32", groups);
      ModelSource other = turned.source();
      expect_integers(codes_of(other), w, more, [](uint64_t c) { return 1 - c / 64; });
    }
  }
}

// Zeros that are all the middle of the codes are dropped if the configuration says symmetric.
TEST(HfCodes, SymmetricZeros) {
  for (uint32_t bits : {4u, 8u}) {
    Weights w(24, 128, 64, bits);
    w.zeros.assign(w.zeros.size(), (1u << (bits - 1)) - 1);
    ModelSource source = gptq_folder(w, "gptq").source();
    EXPECT_EQ(codes_of(source).zero_order, ZeroOrder::kNone);
    expect_integers(codes_of(source), w, 1, [](uint64_t c) { return c / 64; });
    ModelSource other = gptq_folder(w, "gptq", R"(, "sym": false)").source();
    EXPECT_FALSE(codes_of(other).wide_zeros);
    w.zeros.back() = (1u << bits) - 1;
    ModelSource last = gptq_folder(w, "gptq", R"(, "sym": false)").source();
    EXPECT_EQ(codes_of(last).wide_zeros, bits == 8);
    ModelSource second = gptq_folder(w, "gptq_v2").source();
    EXPECT_EQ(codes_of(second).zero_order, ZeroOrder::kAlongRows);
    EXPECT_FALSE(codes_of(second).wide_zeros);
  }
}

TEST(HfCodes, Awq) {
  constexpr uint32_t kOrder[] = {0, 2, 4, 6, 1, 3, 5, 7};
  const Weights w(16, 64, 32, 4);
  auto across = [&](uint64_t lines, const auto& at) {
    return words(lines, w.rows, 4,
                 [&](uint64_t line, uint64_t i) { return at(line, i / 8 * 8 + kOrder[i % 8]); });
  };
  std::vector<uint16_t> scales;
  for (uint64_t g = 0; g < w.groups; ++g) {
    for (uint64_t r = 0; r < w.rows; ++r) scales.push_back(w.scales[r * w.groups + g]);
  }
  Folder folder(R"("quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm")");
  folder
      .add(".qweight", {64, 2}, "I32",
           across(64, [&](uint64_t c, uint64_t r) { return w.code(r, c); }))
      .add(".qzeros", {2, 2}, "I32",
           across(2, [&](uint64_t g, uint64_t r) { return w.zero(r, g); }))
      .add(".scales", {2, 16}, "BF16", scales);
  ModelSource source = folder.source();
  expect_integers(codes_of(source), w, 0, [](uint64_t c) { return c / 32; });
}

// The words are those of the quantisers' own documents.
TEST(HfCodes, WordsOfKnownCodes) {
  const std::vector<uint32_t> in_order(8, 0x76543210), awq(8, 0x75316420);
  StoredCodes of = {};
  of.rows = 8;
  of.k = 8;
  of.bits = 4;
  of.order = CodeOrder::kAcrossRows;
  of.codes.data = bytes(awq);
  uint8_t block[32];
  for (uint64_t r = 0; r < 8; ++r) {
    of.read(r, 0, block);
    for (int c = 0; c < 8; ++c) EXPECT_EQ(block[c], r);
    EXPECT_EQ(block[8], 0);
  }
  of.codes.data = bytes(in_order);
  of.line_bytes = 4;
  for (CodeOrder order : {CodeOrder::kAlongColumns, CodeOrder::kAlongRows}) {
    of.order = order;
    of.read(5, 0, block);
    for (int c = 0; c < 8; ++c) EXPECT_EQ(block[c], c);
  }
}

std::vector<uint8_t> random_bytes(size_t n, uint8_t most) {
  std::mt19937 random(8);
  std::vector<uint8_t> out(n);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random() % (most + 1u));
  return out;
}

double e2m1(uint8_t code) {
  constexpr double kSizes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return (code & 8) != 0 ? -kSizes[code & 7] : kSizes[code & 7];
}
double pair_value(const std::vector<uint8_t>& pairs, uint64_t i) {
  return e2m1(i % 2 == 0 ? pairs[i / 2] & 15 : pairs[i / 2] >> 4);
}

TEST(HfCodes, Nvfp4) {
  constexpr uint64_t kRows = 5, kColumns = 64;
  const std::vector<uint8_t> pairs = random_bytes(kRows * kColumns / 2, 255),
                             scales = random_bytes(kRows * kColumns / 16, 0x7e);
  auto scale = [&](uint64_t r, uint64_t c) { return e4m3_to_f32(scales[r * 4 + c / 16]); };
  const std::vector<float> factor = {0.0123f};
  Folder packed(compressed_group(4, 16, "nvfp4-pack-quantized", "float"));
  packed.add(".weight_packed", {kRows, kColumns / 2}, "U8", pairs)
      .add(".weight_scale", {kRows, 4}, "F8_E4M3", scales)
      .add(".weight_global_scale", {1}, "F32", factor)
      .add_zeros(".input_global_scale", {1}, "F32");
  ModelSource source = packed.source();
  expect_values(codes_of(source), [&](uint64_t r, uint64_t c) {
    return pair_value(pairs, r * kColumns + c) * scale(r, c) / factor[0];
  });
  ASSERT_FALSE(source.notes().empty());
  EXPECT_EQ(source.notes()[0],
            "1 scales of activations, or of cached keys and values, are not used");
  Folder modelopt(R"("quant_method": "modelopt", "quant_algo": "NVFP4")");
  modelopt.add(".weight", {kRows, kColumns / 2}, "U8", pairs)
      .add(".weight_scale", {kRows, 4}, "F8_E4M3", scales)
      .add(".weight_scale_2", {}, "F32", factor)
      .add_zeros(".input_scale", {}, "F32");
  ModelSource other = modelopt.source();
  expect_values(codes_of(other), [&](uint64_t r, uint64_t c) {
    return pair_value(pairs, r * kColumns + c) * scale(r, c) * factor[0];
  });
}

TEST(HfCodes, Microscaling) {
  constexpr uint64_t kRows = 6, kColumns = 96;
  const std::vector<uint8_t> pairs = random_bytes(kRows * kColumns / 2, 255),
                             exponents = random_bytes(kRows * 3, 200);
  auto value = [&](uint64_t r, uint64_t c) {
    return std::ldexp(pair_value(pairs, r * kColumns + c), exponents[r * 3 + c / 32] - 127);
  };
  Folder packed(compressed_group(4, 32, "mxfp4-pack-quantized", "float"));
  packed.add(".weight_packed", {kRows, kColumns / 2}, "U8", pairs)
      .add(".weight_scale", {kRows, 3}, "U8", exponents);
  ModelSource source = packed.source();
  expect_values(codes_of(source), value);
  // Two experts of three rows each.
  Folder blocks(R"("quant_method": "mxfp4")");
  blocks.add("_blocks", {2, 3, 3, 16}, "U8", pairs).add("_scales", {2, 3, 3}, "U8", exponents);
  ModelSource experts = blocks.source();
  const SourceTensor& tensor = experts.require_tensor(kModule);
  EXPECT_EQ(tensor.dims, (Dims{kColumns, 3, 2}));
  expect_values(*tensor.runs[0].codes, value);
  const std::vector<uint8_t> codes = random_bytes(kRows * kColumns, 0x7e);
  for (const char* type : {"U8", "F8_E8M0"}) {
    Folder fp8(R"("quant_method": "mxfp8")");
    fp8.add(".weight", {kRows, kColumns}, "F8_E4M3", codes)
        .add(".weight_scale_inv", {kRows, 3}, type, exponents);
    ModelSource mx = fp8.source();
    expect_values(codes_of(mx), [&](uint64_t r, uint64_t c) {
      return std::ldexp(e4m3_to_f32(codes[r * kColumns + c]), exponents[r * 3 + c / 32] - 127);
    });
  }
}

TEST(HfCodes, Int8) {
  const std::vector<uint8_t> codes = random_bytes(6 * 40, 255);
  auto folder = [&](const Dims& shape, const std::vector<float>& scales, const char* strategy) {
    Folder out(fmt::format(R"("quant_method": "compressed-tensors", "format": "int-quantized",
        "config_groups": {{"a": {{"weights": {{"num_bits": 8, "strategy": "{}"}}}}}})",
                           strategy));
    out.add(".weight", {6, 40}, "I8", codes).add(".weight_scale", shape, "F32", scales);
    return out;
  };
  const std::vector<float> scales = {0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f};
  for (const Dims& shape : {Dims{6, 1}, Dims{6}}) {
    ModelSource source = folder(shape, scales, "channel").source();
    EXPECT_EQ(codes_of(source).zero_of(0, 0), 128);
    expect_values(codes_of(source), [&](uint64_t r, uint64_t c) {
      return scales[r] * static_cast<float>(static_cast<int8_t>(codes[r * 40 + c]));
    });
  }
  ModelSource source = folder({1}, {0.7f}, "tensor").source();
  expect_values(codes_of(source), [&](uint64_t r, uint64_t c) {
    return 0.7f * static_cast<float>(static_cast<int8_t>(codes[r * 40 + c]));
  });
}

TEST(HfCodes, ScalesThatAreNone) {
  Weights w(8, 64, 32, 4);
  std::vector<float> row(64);
  auto good = [&](float scale) {
    w.scales[5] = f32_to_bf16(scale);
    ModelSource source = packed_folder(w, true).source();
    return codes_of(source).values(2, row.data());
  };
  EXPECT_TRUE(good(0));
  EXPECT_TRUE(good(-1)) << "a quantiser turned the range around";
  EXPECT_FALSE(good(std::numeric_limits<float>::infinity()));
  EXPECT_FALSE(good(std::numeric_limits<float>::quiet_NaN()));
}

TEST(HfCodes, PartsThatDoNotFit) {
  const Weights w(16, 64, 32, 4);
  auto expect = [](const Folder& folder, std::string_view part) {
    const std::string error = folder.error();
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  const std::string packed = compressed_group(4, 32, "pack-quantized", "int");
  Folder lone(packed);
  lone.add_zeros(".weight_packed", {16, 8}, "I32");
  expect(lone,
         "weight_packed' holds quantised codes of packed4, but their part "
         "'model.layers.0.mlp.up_proj.weight_shape' is missing");
  Folder orphan(packed);
  orphan.add_zeros(".weight_scale", {16, 2}, "BF16");
  expect(orphan, "weight_scale' belongs to no tensor that can have such a part");
  Folder more = packed_folder(w, true);
  more.add_zeros(".qzeros", {2, 2}, "I32");
  expect(more, "qzeros' belongs to no tensor that can have such a part");
  Folder beside = packed_folder(w, true);
  beside.add_zeros(".weight", {16, 64}, "BF16");
  expect(beside, "weight' is there as well as 'model.layers.0.mlp.up_proj.weight_packed'");
  Folder columns(packed);
  columns.add_zeros(".weight_packed", {16, 9}, "I32")
      .add(".weight_shape", {2}, "I64", std::vector<int64_t>{16, 64});
  expect(columns, "weight_packed' is 16 x 9 instead of the 16 x 16 that its Linear needs");
  for (const auto& shape : {std::vector<int64_t>{0, 64}, {-1, 64}, {16, int64_t{1} << 60}}) {
    Folder sizes(packed);
    sizes.add_zeros(".weight_packed", {16, 8}, "I32").add(".weight_shape", {2}, "I64", shape);
    expect(sizes, "which is not a matrix");
  }
  Folder scales(packed);
  scales.add_zeros(".weight_packed", {16, 8}, "I32")
      .add(".weight_shape", {2}, "I64", std::vector<int64_t>{16, 64})
      .add_zeros(".weight_scale", {16, 4}, "BF16");
  expect(scales, "weight_scale' is 16 x 4: its number of scales for 64 columns does not fit");
  Folder types(packed);
  types.add_zeros(".weight_packed", {16, 8}, "I32")
      .add(".weight_shape", {2}, "I64", std::vector<int64_t>{16, 64})
      .add_zeros(".weight_scale", {16, 2}, "I32");
  expect(types, "weight_scale' is stored as I32 instead of one of F32 BF16 F16");
  Folder other(R"("quant_method": "fp8")");
  other.add_zeros(".qweight", {8, 16}, "I32");
  expect(other,
         "qweight' holds quantised codes of gptq, which quantization_config does not mention");
  Folder bits = gptq_folder(Weights(16, 64, 32, 4), "gptq", R"(, "bits": 8)");
  expect(bits, "qweight' has 4 bits a code, which quantization_config does not mention");
  Folder factor(R"("quant_method": "modelopt", "quant_algo": "NVFP4")");
  factor.add_zeros(".weight", {4, 16}, "U8")
      .add_zeros(".weight_scale", {4, 2}, "F8_E4M3")
      .add_zeros(".weight_scale_2", {}, "F32");
  expect(factor, "weight_scale_2' is 0, which is not a scale");
  Folder rows(R"("quant_method": "awq", "bits": 4, "group_size": 32)");
  rows.add_zeros(".qweight", {64, 2}, "I32")
      .add_zeros(".qzeros", {2, 3}, "I32")
      .add_zeros(".scales", {2, 16}, "F16");
  expect(rows, "qzeros' is 2 x 3 instead of the 2 x 2 that its Linear needs");
}

// Bits and groups that the configuration leaves open follow from each Linear's parts.
TEST(HfCodes, LinearsThatDiffer) {
  const Weights w(16, 128, 32, 8);
  Folder folder = gptq_folder(w, "gptq_v2", R"(, "bits": 4, "group_size": 64, "dynamic": {})");
  ModelSource source = folder.source();
  EXPECT_EQ(codes_of(source).group, 32u);
  expect_integers(codes_of(source), w, 0, [](uint64_t c) { return c / 32; });
}

}  // namespace
}  // namespace hearth
