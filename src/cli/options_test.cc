#include "cli/options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace hearth {
namespace {

struct Parsed {
  EngineArgs engine;
  float real = 1;
  std::optional<uint64_t> seed;
  std::vector<uint32_t> counts = {7};
};

// Returns the parse error's message, or "".
std::string parse(std::vector<std::string> words, Parsed* parsed) {
  CLI::App app;
  add_engine_options(app, &parsed->engine, "Positions");
  add_real(app, "--real", &parsed->real, "A number");
  add_seed(app, &parsed->seed);
  add_counts(app, "--counts", &parsed->counts, 0, 4096, "Some numbers");
  std::reverse(words.begin(), words.end());
  try {
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return {};
}

TEST(Options, ReadsNumbersAsDecimal) {
  Parsed parsed;
  EXPECT_EQ(parse({"-t", "010", "--ctx=8192", "--seed", "18446744073709551615", "--real", "-0.5"},
                  &parsed),
            "");
  EXPECT_EQ(parsed.engine.plan.threads, 10u);
  EXPECT_EQ(parsed.engine.context, 8192u);
  EXPECT_EQ(parsed.seed, UINT64_MAX);
  EXPECT_EQ(parsed.real, -0.5f);
}

TEST(Options, NamesOptionValueAndRange) {
  Parsed parsed;
  EXPECT_EQ(parse({"-t", "5000"}, &parsed),
            "--threads: '5000' is not a whole number from 1 to 4096");
  EXPECT_EQ(parse({"-t", "-1"}, &parsed), "--threads: '-1' is not a whole number from 1 to 4096");
  EXPECT_EQ(parse({"--threads", "2x"}, &parsed),
            "--threads: '2x' is not a whole number from 1 to 4096");
  EXPECT_EQ(parse({"--real", "warm"}, &parsed), "--real: 'warm' is not a number");
  EXPECT_EQ(parse({"--kv-type", "f12"}, &parsed),
            "--kv-type: 'f12' is not one of f32, f16, bf16, q8_0");
}

TEST(Options, ReadsSizes) {
  constexpr uint64_t kMiB = 1 << 20;
  for (auto [text, bytes] : std::vector<std::pair<std::string, uint64_t>>{{"4096", 4096},
                                                                          {"2K", 2048},
                                                                          {"3KiB", 3072},
                                                                          {"1.5M", 3 * kMiB / 2},
                                                                          {"512MiB", 512 * kMiB},
                                                                          {"2G", 2048 * kMiB},
                                                                          {"0.25GiB", 256 * kMiB},
                                                                          {"1TiB", kMiB * kMiB}}) {
    Parsed parsed;
    EXPECT_EQ(parse({"--kv-cache", text}, &parsed), "");
    EXPECT_EQ(parsed.engine.kv_bytes, bytes) << text;
  }
  for (const char* text : {"0", "-1", "much", "1X", "1KB", "1 G", "1GiBs", "1iB", "0.5", "nan",
                           "inf", "1e300", "M", ""}) {
    Parsed parsed;
    EXPECT_NE(parse({"--kv-cache", text}, &parsed), "") << text;
  }
  Parsed parsed;
  EXPECT_EQ(parse({"--kv-cache", "1KB"}, &parsed),
            "--kv-cache: '1KB' is not a size such as 512MiB, 1.5G or 1000000");
}

TEST(Options, ReadsListsOfNumbers) {
  Parsed parsed;
  EXPECT_EQ(parse({"--counts", "15,010,0,2048"}, &parsed), "");
  EXPECT_EQ(parsed.counts, (std::vector<uint32_t>{15, 10, 0, 2048}));
  EXPECT_EQ(parse({"--counts=3"}, &parsed), "");
  EXPECT_EQ(parsed.counts, (std::vector<uint32_t>{3}));
  EXPECT_EQ(parse({"--counts", "1", "--counts", "2,3"}, &parsed), "");
  EXPECT_EQ(parsed.counts, (std::vector<uint32_t>{1, 2, 3}));
  for (const char* wrong : {"1,5000", "1,-2", "1,x", "1;2", "1.5"}) {
    EXPECT_NE(parse({"--counts", wrong}, &parsed).find("not a whole number from 0 to 4096"),
              std::string::npos)
        << wrong;
  }
}

TEST(WithoutOptions, DefaultsStand) {
  Parsed parsed;
  EXPECT_EQ(parse({}, &parsed), "");
  EXPECT_EQ(parsed.engine.plan.threads, 0u);
  EXPECT_EQ(parsed.engine.kv_type, "f16");
  EXPECT_FALSE(parsed.seed.has_value());
  EXPECT_EQ(parsed.counts, (std::vector<uint32_t>{7}));
}

}  // namespace
}  // namespace hearth
