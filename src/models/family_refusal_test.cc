// Tests that every family refuses a damaged file with one sentence that names the key or the
// tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "formats/gguf.h"
#include "models/test_source.h"

namespace hearth {
namespace {

TestSource family(std::string_view architecture) {
  const bool sparse = architecture.ends_with("moe") || architecture == "gpt-oss" ||
                      architecture == "gemma4" || architecture == "qwen3next" ||
                      architecture == "minimax-m2";
  return made_source({.architecture = architecture,
                      .layers = 4,
                      .window = 8,
                      .experts = {.count = sparse ? 4u : 0u, .chosen = 2, .ffn = 32}});
}

void expect_named(const TestSource& source, std::string_view name) {
  const std::string error = spec_refusal(source, ErrorCode::kFile);
  EXPECT_NE(error.find(name), std::string::npos) << error;
  // The error is one sentence, behind the file's name.
  EXPECT_EQ(error.find(". "), std::string::npos) << error;
}

TEST(FamilyRefusal, ArraysShorterThanLayersOrOfAnotherType) {
  struct Case {
    const char *architecture, *key;
    uint32_t usual;  // the key's value in the first layers
    bool flags = false;
  };
  for (const Case& c :
       {Case{"gemma4", "attention.sliding_window_pattern", 1, true},
        Case{"gemma4", "attention.head_count_kv", 2}, Case{"gemma4", "feed_forward_length", 96},
        Case{"gemma3", "attention.sliding_window_pattern", 1, true},
        Case{"gpt-oss", "attention.sliding_window_pattern", 1, true},
        Case{"lfm2", "attention.head_count_kv", 0}, Case{"lfm2moe", "attention.head_count_kv", 0},
        Case{"qwen35", "attention.recurrent_layers", 1, true},
        Case{"qwen35moe", "attention.recurrent_layers", 1, true},
        Case{"qwen3next", "attention.recurrent_layers", 1, true},
        Case{"mistral3", "attention.head_count_kv", 2},
        Case{"seed_oss", "feed_forward_length", 96}}) {
    SCOPED_TRACE(std::string(c.architecture) + " " + c.key);
    const std::string key = std::string(c.architecture) + "." + c.key;
    TestSource shorter = family(c.architecture), other = family(c.architecture);
    if (c.flags) {
      expect_named(shorter.set(key, std::vector<bool>(2, c.usual != 0)), key);
    } else {
      expect_named(shorter.set(key, std::vector<uint32_t>(2, c.usual)), key);
    }
    expect_named(other.set(key, std::vector<std::string>{"a", "b", "c", "d"}), key);
  }
}

TEST(FamilyRefusal, ExpertsOfAnotherCount) {
  for (const char* architecture :
       {"gpt-oss", "gemma4", "qwen35moe", "qwen3next", "lfm2moe", "minimax-m2", "qwen3moe"}) {
    SCOPED_TRACE(architecture);
    for (const char* name : {"blk.2.ffn_gate_exps.weight", "blk.0.ffn_up_exps.weight"}) {
      expect_named(family(architecture).add(name, {64, 32, 5}),
                   std::string("tensor ") + name + " is 64 x 32 x 5, but");
    }
    expect_named(family(architecture).add("blk.1.ffn_down_exps.weight", {32, 64, 3}),
                 "tensor blk.1.ffn_down_exps.weight is 32 x 64 x 3, but");
  }
}

TEST(FamilyRefusal, WindowsOfNoPosition) {
  for (const char* architecture : {"gpt-oss", "gemma4"}) {
    const std::string key = std::string(architecture) + ".attention.sliding_window";
    expect_named(family(architecture).set(key, uint32_t{0}), key);
  }
}

// Gemma 4's files hold factors of RoPE that say which pairs of a head turn; damaged ones are
// refused.
TEST(FamilyRefusal, FactorsThatAreNone) {
  for (float factor : {0.0f, -1.0f, NAN, INFINITY}) {
    TestSource source = family("gemma4");
    source.set("gemma4.attention.sliding_window_pattern",
               std::vector<bool>{true, true, true, false});
    source.add("rope_freqs.weight", {8});
    const ModelSource file = parse_gguf(source.gguf([&](const TestTensor& tensor) {
      std::vector<std::byte> bytes(tensor_bytes(tensor));
      if (tensor.name != "rope_freqs.weight") return bytes;
      for (size_t i = 0; i < 8; ++i) {
        const float value = i == 5 ? factor : 1;
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
      }
      return bytes;
    }),
                                        "test.gguf");
    try {
      make_spec(file);
      ADD_FAILURE() << factor;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kFile);
      EXPECT_NE(std::string(error.what()).find("rope_freqs.weight"), std::string::npos)
          << error.what();
    }
  }
}

TEST(FamilyRefusal, TensorsThatAFamilyDoesNotKnow) {
  for (const char* architecture :
       {"gemma3", "gemma4", "gpt-oss", "lfm2", "lfm2moe", "minimax-m2", "mistral3", "phi3",
        "qwen35", "qwen35moe", "qwen3next", "seed_oss"}) {
    SCOPED_TRACE(architecture);
    TestSource source = family(architecture);
    source.add("blk.0.attn_another.weight", {64, 64});
    const std::string error = spec_refusal(source, ErrorCode::kUnsupported);
    EXPECT_NE(error.find("blk.0.attn_another.weight"), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace hearth
