// Tests the scale of a whole NVFP4 matrix, the tensor NAME.scale.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "formats/gguf.h"
#include "models/registry.h"
#include "models/test_source.h"

namespace hearth {
namespace {

// Returns a model whose attn_q is of `type`, with a scale tensor of `numbers` elements.
TestSource scaled_source(DType type, uint64_t numbers, DType scale_type = DType::kF32) {
  TestSource source = llama_source({.layers = 1, .width = 64, .ffn = 64});
  const ModelSource whole = source.source();
  source.add("blk.0.attn_q.weight", whole.require_tensor("blk.0.attn_q.weight").dims, type);
  source.add("blk.0.attn_q.scale", {numbers}, scale_type);
  return source;
}

std::vector<std::byte> bytes_with(const TestSource& source, float scale) {
  return source.gguf([&](const TestTensor& tensor) {
    std::vector<std::byte> data(tensor_bytes(tensor));
    if (tensor.name.ends_with(".scale")) std::memcpy(data.data(), &scale, sizeof scale);
    return data;
  });
}

// Makes the source's spec and returns the message of its error. On success returns "", and checks
// that q has this scale.
std::string refusal(const TestSource& source, float scale, ErrorCode code = ErrorCode::kFile) {
  const std::vector<std::byte> bytes = bytes_with(source, scale);
  const ModelSource model = parse_gguf(bytes, "test.gguf");
  try {
    const ModelSpec spec = make_spec(model);
    EXPECT_EQ(weight_named(spec, 0, "q")->scale, scale);
    EXPECT_EQ(weight_named(spec, 0, "k")->scale, 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return {};
}

TEST(MatrixScale, IsReadWithItsMatrix) {
  EXPECT_EQ(refusal(scaled_source(DType::kNVFP4, 1), 0.375f), "");
}

TEST(MatrixScale, IsAPositiveNumber) {
  const TestSource source = scaled_source(DType::kNVFP4, 1);
  for (float none : {0.0f, -1.0f, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    EXPECT_NE(refusal(source, none).find("attn_q.scale has the scale"), std::string::npos) << none;
  }
}

TEST(MatrixScale, HasOneNumberInF32) {
  for (const TestSource& source :
       {scaled_source(DType::kNVFP4, 2), scaled_source(DType::kNVFP4, 4, DType::kF16)}) {
    EXPECT_NE(refusal(source, 1).find("but must be 1 in F32"), std::string::npos);
  }
}

TEST(MatrixScale, IsOfNoOtherType) {
  const std::string says = refusal(scaled_source(DType::kQ4_0, 1), 1, ErrorCode::kUnsupported);
  EXPECT_NE(says.find("a tensor blk.0.attn_q.scale, which this version ignores"), std::string::npos)
      << says;
}

}  // namespace
}  // namespace hearth
