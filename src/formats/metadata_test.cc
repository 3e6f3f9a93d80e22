#include "formats/metadata.h"

#include <gtest/gtest.h>

#include <cmath>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

// Returns a file with the one key "k" of the type numbered `type`; the caller appends its value.
GgufBytes one_key(uint32_t type) { return GgufBytes().header(0, 1).str("k").u32(type); }

ModelSource read(const GgufWriter& writer) { return parse_gguf(writer.finish(), "m.gguf"); }

template <typename T>
std::string get_error(const ModelSource& file, std::string_view key) {
  return file_error([&] { file.metadata().get<T>(key); });
}

TEST(Metadata, IntegersAreReadFromEveryWidthThatFits) {
  GgufWriter writer;
  writer.set("u8", uint8_t{200});
  writer.set("i16", int16_t{-7});
  writer.set("u64", uint64_t{1} << 40);
  writer.set("i32", 12);
  ModelSource file = read(writer);
  const Metadata& metadata = file.metadata();
  EXPECT_EQ(metadata.get<uint32_t>("u8"), 200u);
  EXPECT_EQ(metadata.get<int64_t>("i16"), -7);
  EXPECT_EQ(metadata.get<uint64_t>("u64"), uint64_t{1} << 40);
  EXPECT_EQ(metadata.get<uint32_t>("i32"), 12u);
  EXPECT_EQ(metadata.get<uint32_t>("missing"), std::nullopt);
  EXPECT_EQ(get_error<uint32_t>(file, "i16"),
            "'m.gguf': metadata key 'i16' holds -7, beyond the range of uint32; convert the model "
            "again");
  EXPECT_NE(get_error<int32_t>(file, "u64").find("'u64' holds 1099511627776"), std::string::npos);
}

TEST(Metadata, FloatsAreReadFromBothWidths) {
  GgufWriter writer;
  writer.set("f32", 0.5f);
  writer.set("f64", 1e-5);
  writer.set("huge", 1e300);
  writer.set("inf", static_cast<double>(INFINITY));
  ModelSource file = read(writer);
  EXPECT_EQ(file.metadata().get<float>("f64"), 1e-5f);
  EXPECT_EQ(file.metadata().get<double>("f32"), 0.5);
  EXPECT_EQ(file.metadata().get<double>("huge"), 1e300);
  EXPECT_EQ(file.metadata().get<float>("inf"), INFINITY);
  EXPECT_NE(get_error<float>(file, "huge").find("'huge' holds 1e+300"), std::string::npos);
}

TEST(Metadata, StringsBoolsAndArraysComeBack) {
  GgufWriter writer;
  writer.set("text", "häuser");
  writer.set("empty", "");
  writer.set("yes", true);
  writer.set("strings", std::vector<std::string>{"a", "", "ccc"});
  writer.set("floats", std::vector<float>{1.5f, -2.0f});
  writer.set("ints", std::vector<int32_t>{1, 2, 3});
  writer.set("bools", std::vector<bool>{true, false, true});
  writer.set("none", std::vector<float>{});
  ModelSource file = read(writer);
  const Metadata& metadata = file.metadata();
  EXPECT_EQ(metadata.get<std::string_view>("text"), "häuser");
  EXPECT_EQ(metadata.get<std::string>("empty"), "");
  EXPECT_EQ(metadata.get<bool>("yes"), true);
  EXPECT_EQ(metadata.require<std::vector<std::string_view>>("strings"),
            (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(metadata.require<std::vector<std::string>>("strings")[2], "ccc");
  EXPECT_EQ(metadata.require<std::vector<float>>("floats"), (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(metadata.require<std::vector<uint64_t>>("ints"), (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_EQ(metadata.require<std::vector<bool>>("bools"), (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(metadata.require<std::vector<float>>("none").empty());
}

TEST(Metadata, WrongTypesNameKeyFoundAndWanted) {
  GgufWriter writer;
  writer.set("n", 3u);
  writer.set("s", "x");
  writer.set("f", 1.0f);
  writer.set("b", true);
  writer.set("a", std::vector<float>{1});
  writer.set("neg", std::vector<int32_t>{1, -1});
  ModelSource file = read(writer);
  EXPECT_EQ(
      get_error<std::string>(file, "n"),
      "'m.gguf': metadata key 'n' has the type uint32 instead of string; convert the model again");
  EXPECT_NE(get_error<uint32_t>(file, "s").find("'s' has the type string instead of uint32"),
            std::string::npos);
  EXPECT_NE(get_error<uint32_t>(file, "f").find("float32 instead of uint32"), std::string::npos);
  EXPECT_NE(get_error<uint32_t>(file, "b").find("bool instead of uint32"), std::string::npos);
  EXPECT_NE(get_error<bool>(file, "n").find("uint32 instead of bool"), std::string::npos);
  EXPECT_NE(get_error<float>(file, "n").find("uint32 instead of float32"), std::string::npos);
  EXPECT_NE(get_error<float>(file, "a").find("array of float32 instead of float32"),
            std::string::npos);
  EXPECT_NE(get_error<std::vector<std::string>>(file, "a").find("instead of array of string"),
            std::string::npos);
  EXPECT_NE(get_error<std::vector<float>>(file, "f").find("float32 instead of array of float32"),
            std::string::npos);
  EXPECT_NE(get_error<std::vector<uint32_t>>(file, "neg").find("'neg' holds -1"),
            std::string::npos);
}

TEST(Metadata, RequireNamesTheMissingKey) {
  ModelSource file = read(GgufWriter());
  EXPECT_EQ(
      file_error([&] { file.metadata().require<uint32_t>("llama.block_count"); }),
      "'m.gguf': metadata key 'llama.block_count' is missing; the file is incomplete, convert "
      "the model again");
}

TEST(Metadata, EntriesKeepTheOrderOfTheFileAndPrint) {
  GgufWriter writer;
  writer.set("z", -1);
  writer.set("a", "line\nbreak");
  writer.set("m", std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  writer.set("s", std::vector<std::string>{"x", "y"});
  writer.set("b", std::vector<bool>{true});
  ModelSource file = read(writer);
  auto entries = file.metadata().entries();
  ASSERT_EQ(entries.size(), 5u);
  EXPECT_EQ(entries[0].key, "z");
  EXPECT_EQ(meta_value_text(entries[0].value), "-1");
  EXPECT_EQ(meta_value_text(entries[1].value), "\"line\\x0abreak\"");
  EXPECT_EQ(meta_value_text(entries[1].value, 6, 4), "\"line...\"");
  EXPECT_EQ(meta_value_text(entries[2].value, 3), "[1, 2, 3, ... (8 values)]");
  EXPECT_EQ(meta_value_text(entries[3].value), "[\"x\", \"y\"]");
  EXPECT_EQ(meta_value_text(entries[4].value), "[true]");
  EXPECT_EQ(meta_value_type_text(entries[3].value), "array of string");
}

TEST(Metadata, LengthsBeyondTheFileNameTheKey) {
  EXPECT_EQ(parse_error(one_key(8).u64(1000).raw("short")),
            "'m.gguf': metadata key 'k': its value needs 1000 bytes at byte 45, but the file ends "
            "after 50; it is truncated or corrupt, download it again");
  EXPECT_NE(parse_error(one_key(8).u64(UINT64_MAX).raw("x")).find("metadata key 'k'"),
            std::string::npos);
  EXPECT_NE(parse_error(one_key(9).u32(6).u64(UINT64_MAX / 4 + 2).u64(0))
                .find("metadata key 'k': its array has the length 4611686018427387905"),
            std::string::npos);
  EXPECT_NE(parse_error(one_key(9).u32(8).u64(3).str("a").u64(0))
                .find("metadata key 'k': its array has the length 3"),
            std::string::npos);
  EXPECT_NE(parse_error(one_key(9).u32(8).u64(2).str("a").u64(99).raw("b"))
                .find("metadata key 'k': a string of its array needs 99 bytes"),
            std::string::npos);
  EXPECT_NE(parse_error(GgufBytes().header(0, 1).u64(1u << 20).u64(0))
                .find("metadata key number 0: its name needs 1048576 bytes"),
            std::string::npos);
}

TEST(Metadata, TypesThatDoNotExistNameTheKey) {
  EXPECT_NE(parse_error(one_key(13).u64(0)).find("metadata key 'k': the type of its value is 13"),
            std::string::npos);
  EXPECT_NE(parse_error(one_key(9).u32(77).u64(0))
                .find("metadata key 'k': the type of its elements is 77"),
            std::string::npos);
}

TEST(Metadata, ArraysOfArraysAreRefused) {
  EXPECT_NE(parse_error(one_key(9).u32(9).u64(1).u32(4).u64(0))
                .find("metadata key 'k': it is an array of arrays"),
            std::string::npos);
}

TEST(Metadata, BoolsAreZeroOrOne) {
  EXPECT_EQ(parse_error(one_key(7).put(uint8_t{1})), "");
  EXPECT_NE(parse_error(one_key(7).put(uint8_t{2})).find("metadata key 'k': a bool has the byte 2"),
            std::string::npos);
  GgufBytes array = one_key(9).u32(7).u64(2).put(uint8_t{0}).put(uint8_t{255});
  EXPECT_NE(parse_error(array).find("a bool has the byte 255"), std::string::npos);
}

TEST(Metadata, KeysThatStandTwiceOrAreEmptyAreNamed) {
  GgufBytes twice;
  twice.header(0, 2).str("k").u32(4).u32(1).str("k").u32(4).u32(2);
  EXPECT_EQ(parse_error(twice),
            "'m.gguf': metadata key 'k' appears twice; convert the model again");
  GgufBytes empty;
  empty.header(0, 1).str("").u32(4).u32(1);
  EXPECT_NE(parse_error(empty).find("metadata key number 0: its name has 0 bytes"),
            std::string::npos);
  GgufBytes huge;
  huge.header(0, 1).str(std::string(65536, 'x')).u32(4).u32(1);
  EXPECT_NE(parse_error(huge).find("its name has 65536 bytes"), std::string::npos);
}

TEST(Metadata, NamesInMessagesArePrintable) {
  GgufBytes bytes;
  bytes.header(0, 1).str("a\x1b[31m\n").u32(99).u64(0);
  EXPECT_NE(parse_error(bytes).find("metadata key 'a\\x1b[31m\\x0a'"), std::string::npos);
}

TEST(Metadata, AlignmentIsAPowerOfTwoFromEight) {
  auto alignment = [](uint32_t type) {
    return GgufBytes().header(0, 1).str("general.alignment").u32(type);
  };
  auto error = [&](uint32_t value) { return parse_error(alignment(4).u32(value)); };
  EXPECT_EQ(error(8u), "");
  EXPECT_EQ(error(4096u), "");
  for (uint32_t bad : {0u, 1u, 24u, 1u << 30}) {
    EXPECT_NE(error(bad).find(fmt::format("metadata key 'general.alignment' is {}, and must", bad)),
              std::string::npos);
  }
  EXPECT_NE(parse_error(alignment(8).str("32")).find("'general.alignment' has the type string"),
            std::string::npos);
  EXPECT_NE(parse_error(alignment(5).put(-32)).find("'general.alignment' holds -32"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
