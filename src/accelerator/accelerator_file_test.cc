#include "accelerator/accelerator_file.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

MeasuredAccelerator made_accelerator() {
  MeasuredAccelerator made;
  made.facts = {.name = "Some GPU, 32 GB \xc3\xa9",
                .driver = "a driver 1.2",
                .api = "Vulkan 1.3.230",
                .kind = AcceleratorKind::kIntegrated,
                .memory_bytes = uint64_t{1} << 40,
                .free_bytes = 12345,
                .allocation_bytes = UINT64_MAX,
                .import_alignment = 4096,
                .queues = {{.computes = true}, {.computes = false}},
                .arithmetic = "fused fma",
                .lacks = {{"a thing", "costs time"}, {"another", ""}}};
  made.rates.write = {1u << 26, {12.5e9, 12e9, 13.25e9}};
  made.rates.read = {1u << 25, {7960445488, 7000000001, 9007199254740992}};
  made.rates.import_to = TransferRate{1u << 24, {50e9, 50e9, 50e9}};
  made.rates.import_from = TransferRate{1u << 23, {51e9, 50e9, 52e9}};
  made.rates.memory = {1u << 26, {3e12, 2e12, 4e12}};
  made.rates.submission_nanoseconds = {70356, 17001, 300000007};
  made.rates.products = {{PackKind::kQ4_K, 1, 2048, {5e11, 4e11, 6e11}},
                         {PackKind::kF32, 128, 256, {}, "it has too little of something"}};
  made.rates.command_nanoseconds = Spread{4321, 4000, 5000};
  made.rates.kernels = {{"rms norm", 1024, 2048, {7e11, 6e11, 8e11}},
                        {"attend pages f16", 64, 128, {}, "it has too few of something"}};
  return made;
}

std::string file_of(const MeasuredAccelerator& accelerator) {
  Json json;
  json_accelerator(json, accelerator);
  return json.line();
}

std::string made_file() { return file_of(made_accelerator()); }

TEST(AcceleratorFile, ReadsBackWhatItWrote) {
  const MeasuredAccelerator read = parse_accelerator(made_file(), "file");
  EXPECT_EQ(file_of(read), made_file());
  const MeasuredAccelerator made = made_accelerator();
  EXPECT_EQ(read.facts.kind, AcceleratorKind::kIntegrated);
  EXPECT_EQ(read.facts.allocation_bytes, UINT64_MAX);
  ASSERT_EQ(read.facts.queues.size(), 2u);
  EXPECT_FALSE(read.facts.queues[1].computes);
  EXPECT_EQ(read.rates.read.per_second.median, made.rates.read.per_second.median);
  EXPECT_EQ(read.rates.read.per_second.most, made.rates.read.per_second.most);
  EXPECT_EQ(read.rates.submission_nanoseconds.least, 17001);
  ASSERT_EQ(read.rates.products.size(), 2u);
  EXPECT_EQ(read.rates.products[0].kind, PackKind::kQ4_K);
  EXPECT_EQ(read.rates.products[1].per_second.median, 0);
  ASSERT_TRUE(read.rates.command_nanoseconds);
  EXPECT_EQ(read.rates.command_nanoseconds->median, 4321);
  ASSERT_EQ(read.rates.kernels.size(), 2u);
  EXPECT_EQ(read.rates.kernels[0].per_second.most, 8e11);
  EXPECT_EQ(read.rates.kernels[1].length, 128u);
}

TEST(AcceleratorFile, ReadsTheFirstVersion) {
  std::string old = made_file();
  const size_t version = old.find(R"("hearth_accelerator":2)");
  ASSERT_NE(version, std::string::npos);
  old.replace(version, 22, R"("hearth_accelerator":1)");
  const size_t command = old.find(R"("command_nanoseconds")"), products = old.find(R"("products")");
  old.erase(command, products - command);
  old.erase(old.find(R"(,"kernels")"));
  old += "}}";
  const MeasuredAccelerator read = parse_accelerator(old, "file");
  EXPECT_FALSE(read.rates.command_nanoseconds);
  EXPECT_EQ(read.rates.products.size(), 2u);
  EXPECT_TRUE(read.rates.kernels.empty());
}

TEST(AcceleratorFile, ImportsMayBeMissing) {
  MeasuredAccelerator made = made_accelerator();
  made.rates.import_to = made.rates.import_from = std::nullopt;
  made.rates.import_refused = "it cannot import memory";
  const MeasuredAccelerator read = parse_accelerator(file_of(made), "file");
  EXPECT_FALSE(read.rates.import_to);
  EXPECT_EQ(file_of(read), file_of(made));
}

TEST(AcceleratorFile, EscapesControlCharactersInTexts) {
  MeasuredAccelerator made = made_accelerator();
  made.facts.name = "\x1b[2J GPU";
  EXPECT_EQ(parse_accelerator(file_of(made), "file").facts.name, "\\x1b[2J GPU");
}

void expect_no_accelerator(const std::string& text, const std::string& why) {
  try {
    parse_accelerator(text, "gpu.json");
    FAIL() << "no error for " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_NE(std::string(error.what()).find("gpu.json"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(AcceleratorFile, OtherFilesAreRefused) {
  expect_no_accelerator("", "JSON");
  expect_no_accelerator("[1]", "it is not an object with 'hearth_accelerator'");
  expect_no_accelerator("{}", "it has no 'hearth_accelerator'");
  expect_no_accelerator(R"({"hearth_accelerator":3})", "it has version 3");
  expect_no_accelerator(R"({"hearth_accelerator":"1"})",
                        "'hearth_accelerator' is not a whole number");
  expect_no_accelerator(R"({"hearth_accelerator":1})", "it has no 'facts'");
  expect_no_accelerator(R"({"hearth_accelerator":1,"facts":[]})", "'facts' is not an object");
  expect_no_accelerator(std::string(100000, '['), "nested deeper");
  const std::string good = made_file();
  // A file that is cut off at any byte is refused.
  for (size_t bytes = 1; bytes + 1 < good.size(); bytes += 7) {
    expect_no_accelerator(good.substr(0, bytes), "JSON");
  }
}

TEST(AcceleratorFile, DamagedFieldsAreNamed) {
  const std::string good = made_file();
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& why) {
    std::string bad = good;
    const size_t at = bad.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    bad.replace(at, from.size(), to);
    expect_no_accelerator(bad, why);
  };
  refused(R"("kind":"integrated")", R"("kind":"quantum")", "'facts.kind' is 'quantum'");
  refused(R"("name":"Some)", R"("name":7,"x":"Some)", "'facts.name' is not a string");
  refused(R"("driver":"a)", R"("driver":")" + std::string(2000, 'a'),
          "'facts.driver' is not a string");
  refused(R"("free_bytes":12345)", R"("free_bytes":-1)",
          "'facts.free_bytes' is not a whole number");
  refused(R"("free_bytes":12345)", R"("free_bytes":1.5)",
          "'facts.free_bytes' is not a whole number");
  refused("18446744073709551615", "18446744073709551616", "'facts.allocation_bytes'");
  refused(R"("import_alignment":4096)", R"("import_alignment":4095)", "a power of two");
  refused(R"([{"computes":true})", R"([{"computes":1})", "'facts.queues[0].computes' is neither");
  refused(R"([{"computes":true},)", "[", "'facts.queues' must begin with a queue that computes");
  refused(R"({"what":"another")", R"({"wha":"another")", "'facts.lacks[1]' has no 'what'");
  refused(R"("write":{)", R"("write":null,"x":{)", "'rates.write' is not an object");
  refused("12500000000", "0", "'rates.write.bytes_per_second.median' is not a whole number from 1");
  refused("12500000000", "-1",
          "'rates.write.bytes_per_second.median' is not a whole number from 1");
  refused("12500000000", "1.25e10", "'rates.write.bytes_per_second.median' is not a whole number");
  refused("12500000000", "1e999", "beyond the range");
  refused("12500000000", "1", "'rates.write.bytes_per_second' has a median");
  refused(R"("bytes":67108864)", R"("bytes":0)", "'rates.write.bytes' is not a whole number");
  refused(R"("import_to":{)", R"("import_to":null,"x":{)", "'rates.import_to' must be null if");
  refused(R"("import_refused":"")", R"("import_refused":"no")",
          "'rates.import_to' must be null if");
  refused(R"("kind":"q4_k")", R"("kind":"q9_z")", "'rates.products[0].kind' is 'q9_z'");
  refused(R"("rows":1,)", R"("rows":4294967297,)", "'rates.products[0].rows'");
  refused(R"("side":256,)", R"("side":[256],)", "'rates.products[1].side' is not a whole number");
  refused(R"("command_nanoseconds":{)", R"("command_nanoseconds":7,"x":{)",
          "'rates.command_nanoseconds' is not an object");
  refused(R"("contract":"rms norm")", R"("contract":7)",
          "'rates.kernels[0].contract' is not a string");
  refused(R"("work_per_second":null)", R"("work_per_second":{})",
          "'rates.kernels[1].work_per_second' must be null if");
  refused(R"("length":2048)", R"("length":0)", "'rates.kernels[0].length' is not a whole number");
  refused(R"("multiply_adds_per_second":null)", R"("multiply_adds_per_second":{})",
          "'rates.products[1].multiply_adds_per_second' must be null if");
}

}  // namespace
}  // namespace hearth
