#include "cli/describe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "formats/test_model.h"

namespace hearth {
namespace {

ModelSource parse(const GgufWriter& writer) {
  return parse_gguf(writer.finish(), "test.gguf", UnknownTypes::kKeep);
}

TEST(DescribeModel, ReadsWhatTheFileSays) {
  GgufWriter writer;
  writer.set("general.architecture", std::string_view("llama"));
  writer.set("llama.context_length", 2048u);
  writer.set("llama.block_count", 2u);
  writer.set("llama.embedding_length", 64u);
  writer.set("llama.attention.head_count", 4u);
  writer.set("tokenizer.ggml.model", std::string_view("gpt2"));
  writer.set("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
  std::vector<float> values(32);
  std::vector<std::byte> quantised(18);
  writer.add_tensor("x", {32, 1}, values);
  writer.add_tensor("y", {32, 1}, DType::kQ4_0, quantised);
  ModelDescription model = describe_model(parse(writer));
  EXPECT_EQ(model.architecture, "llama");
  EXPECT_TRUE(model.runs);
  EXPECT_EQ(model.parameters, 64u);
  EXPECT_EQ(model.context, 2048u);
  EXPECT_EQ(model.kv_heads, 4u);
  EXPECT_EQ(model.head_dim, 16u);
  EXPECT_EQ(model.vocabulary, 3u);
  EXPECT_EQ(model.tokenizer, "gpt2");
  ASSERT_EQ(model.types.size(), 2u);
  EXPECT_EQ(model.types[0].type, "f32");
  EXPECT_EQ(model.types[0].bytes, 128u);
  EXPECT_EQ(model.types[1].bytes, 18u);
}

// RoPE's factors lie in the tensor rope_freqs.weight. If this program cannot read its type, the
// description has no blocks.
TEST(DescribeModel, HasNoBlocksWhereFactorsHaveATypeThatIsNotRead) {
  TestSource source = made_source({.architecture = "llama"});
  source.add("rope_freqs.weight", {8});
  for (uint32_t type : {24u, 99u}) {
    std::vector<std::byte> bytes = source.gguf();
    constexpr std::string_view kName = "rope_freqs.weight";
    const auto at = std::search(bytes.begin(), bytes.end(), kName.begin(), kName.end(),
                                [](std::byte a, char b) { return a == std::byte(b); });
    // The entry continues after the name with the number of dimensions, one dimension, and the
    // type.
    std::memcpy(&*at + kName.size() + 12, &type, sizeof type);
    const ModelSource file = parse_gguf(std::move(bytes), "test.gguf", UnknownTypes::kKeep);
    EXPECT_TRUE(describe_model(file).blocks.empty()) << type;
  }
  EXPECT_FALSE(describe_model(parse_gguf(made_source({}).gguf(), "test.gguf")).blocks.empty());
}

TEST(DescribeModel, DescribesUnsupportedFiles) {
  GgufWriter writer;
  writer.set("general.architecture", std::string_view("martian"));
  writer.set("martian.attention.head_count", std::vector<uint32_t>{4, 8});
  writer.set("martian.context_length", std::string_view("long"));
  ModelDescription model = describe_model(parse(writer));
  EXPECT_EQ(model.architecture, "martian");
  EXPECT_FALSE(model.runs);
  EXPECT_FALSE(model.heads.has_value());
  EXPECT_FALSE(model.context.has_value());
  EXPECT_EQ(model.tokenizer, "");
}

TEST(DescribeModel, DescribesAFileWithoutMetadata) {
  ModelDescription model = describe_model(parse(GgufWriter()));
  EXPECT_EQ(model.architecture, "");
  EXPECT_EQ(model.parameters, 0u);
}

TEST(ParametersText, RoundsAndAddsAUnit) {
  EXPECT_EQ(parameters_text(7), "7");
  EXPECT_EQ(parameters_text(260032), "260.03 K");
  EXPECT_EQ(parameters_text(1235814400), "1.24 B");
}

}  // namespace
}  // namespace hearth
