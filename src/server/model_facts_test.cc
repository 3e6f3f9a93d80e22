#include "server/model_facts.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(ModelFacts, NamesWithAndWithoutTags) {
  for (const char* asked : {"", "demo", "demo:latest", "demo:q8_0"}) {
    EXPECT_TRUE(ollama_names(asked, "demo")) << asked;
  }
  for (const char* asked : {"dem", "demos", "demo2:latest", ":latest", "latest", "demo:a:b"}) {
    EXPECT_FALSE(ollama_names(asked, "demo")) << asked;
  }
  for (const char* asked : {"qwen3", "qwen3:latest", "qwen3:4b"}) {
    EXPECT_TRUE(ollama_names(asked, "qwen3:4b")) << asked;
  }
  EXPECT_FALSE(ollama_names("qwen3:8b", "qwen3:4b"));
  EXPECT_TRUE(ollama_names("host:80/org/name:tag", "host:80/org/name"));
  EXPECT_EQ(tagged_name("demo"), "demo:latest");
  EXPECT_EQ(tagged_name("qwen3:4b"), "qwen3:4b");
  EXPECT_EQ(tagged_name("host:80/org/name"), "host:80/org/name:latest");
}

TEST(ModelFacts, ParametersAreShort) {
  EXPECT_EQ(short_parameters(4'022'468'096), "4.0B");
  EXPECT_EQ(short_parameters(751'632'384), "751.63M");
  EXPECT_EQ(short_parameters(260'032), "260K");
  EXPECT_EQ(short_parameters(12), "12");
  EXPECT_EQ(short_parameters(1'040'000'000'000), "1.0T");
}

}  // namespace
}  // namespace hearth
