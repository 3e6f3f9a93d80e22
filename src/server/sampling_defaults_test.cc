#include "server/sampling_defaults.h"

#include <gtest/gtest.h>

#include <limits>

#include "formats/gguf.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

struct Read {
  SamplingParams params;
  std::vector<std::string> warnings;
};

Read read(const GgufWriter& writer) {
  Read read;
  Listener listener;
  listener.warn = [&](const std::string& text) { read.warnings.push_back(text); };
  ModelSource source = parse_gguf(writer.finish(), "m.gguf");
  read.params = file_sampling(source.metadata(), openai_sampling(), listener);
  return read;
}

TEST(SamplingDefaults, AreOpenAisWhereTheFileHasNone) {
  SamplingParams params = read(GgufWriter()).params;
  EXPECT_EQ(params.temperature, 1);
  EXPECT_EQ(params.top_k, 0u);
  EXPECT_EQ(params.top_p, 1);
  EXPECT_EQ(params.min_p, 0);
  EXPECT_EQ(params.repeat_penalty, 1);
  EXPECT_TRUE(params.penalise_generated);
}

TEST(SamplingDefaults, TheFileComesBeforeOpenAis) {
  GgufWriter writer;
  writer.set("general.sampling.temp", 0.5f);
  writer.set("general.sampling.top_k", 20);
  writer.set("general.sampling.top_p", 0.75f);
  writer.set("general.sampling.min_p", 0.0);
  writer.set("general.sampling.penalty_repeat", 1.25f);
  writer.set("general.sampling.penalty_last_n", -1);
  Read got = read(writer);
  EXPECT_EQ(got.params.temperature, 0.5f);
  EXPECT_EQ(got.params.top_k, 20u);
  EXPECT_EQ(got.params.top_p, 0.75f);
  EXPECT_EQ(got.params.min_p, 0);
  EXPECT_EQ(got.params.repeat_penalty, 1.25f);
  EXPECT_EQ(got.params.penalty_window, 2147483647u);
  EXPECT_TRUE(got.warnings.empty());
}

TEST(SamplingDefaults, ReportsAndIgnoresUnusableValues) {
  GgufWriter writer;
  writer.set("general.sampling.temp", "hot");
  writer.set("general.sampling.top_p", 1.5f);
  writer.set("general.sampling.min_p", std::numeric_limits<float>::quiet_NaN());
  writer.set("general.sampling.top_k", 0);
  writer.set("general.sampling.penalty_repeat", 1u);
  writer.set("general.sampling.mirostat", 2);
  writer.set("general.sampling.xtc_probability", 0.5f);
  Read got = read(writer);
  EXPECT_EQ(got.params.temperature, 1);
  EXPECT_EQ(got.params.top_p, 1);
  EXPECT_EQ(got.params.min_p, 0);
  EXPECT_EQ(got.params.repeat_penalty, 1) << "an integer will do";
  ASSERT_EQ(got.warnings.size(), 5u);
  EXPECT_NE(got.warnings[0].find("general.sampling.temp"), std::string::npos);
  EXPECT_EQ(got.warnings[1],
            "general.sampling.top_p in the model file is 1.5, not between 0 and 1, and is ignored");
  EXPECT_EQ(got.warnings[3],
            "general.sampling.mirostat in the model file asks for a sampler that is not supported, "
            "and is ignored");
}

}  // namespace
}  // namespace hearth
