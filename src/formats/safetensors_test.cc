#include "formats/safetensors.h"

#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"
#include "formats/test_hf_folder.h"

namespace hearth {
namespace {

std::vector<SafeTensor> read(std::vector<std::byte> bytes) {
  return read_safetensors(MappedFile::own(std::move(bytes), "m.safetensors"));
}

std::string error_of(std::vector<std::byte> bytes) {
  return file_error([&] { read(std::move(bytes)); });
}

// Returns the error of reading a file with this header and `data_bytes` of data.
std::string header_error(std::string_view header, size_t data_bytes = 0) {
  return error_of(SafetensorsWriter::file(header, data_bytes));
}

void expect_found(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(text.find("m.safetensors"), std::string::npos) << text;
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirData) {
  const std::string header = R"({"__metadata__":{"format":"pt","dtype":"x"},)"
                             R"("b":{"dtype":"BF16","shape":[2,3],"data_offsets":[8,20]},)"
                             R"("a\u00e9":{"shape":[],"data_offsets":[0,8],"dtype":"I64"},)"
                             R"("none":{"dtype":"F32","shape":[0,4],"data_offsets":[20,20]}}   )";
  std::vector<SafeTensor> tensors = read(SafetensorsWriter::file(header, 20));
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "a\u00e9");
  EXPECT_EQ(tensors[0].type, "I64");
  EXPECT_FALSE(tensors[0].dtype);
  EXPECT_EQ(tensors[0].elements, 1u);
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].dtype, DType::kBF16);
  EXPECT_EQ(tensors[1].shape, (std::vector<uint64_t>{2, 3}));
  EXPECT_EQ(tensors[1].elements, 6u);
  EXPECT_EQ(tensors[1].offset, 8 + header.size() + 8);
  EXPECT_EQ(tensors[1].bytes, 12u);
  EXPECT_EQ(tensors[2].elements, 0u);
}

TEST(Safetensors, HeadersOfNoGoodLength) {
  expect_found(error_of(std::vector<std::byte>(5)), "ends after 5 bytes");
  std::vector<std::byte> huge(64, std::byte{0x01});
  expect_found(error_of(huge), "more than the format's limit of 100000000");
  std::vector<std::byte> cut = SafetensorsWriter::file(R"({"a":{}})", 0);
  cut.resize(cut.size() - 1);
  expect_found(error_of(cut), "the header has 8 bytes, but the file ends after 15");
  expect_found(header_error(""), "not JSON");
  std::string_view pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\n";
  const auto* bytes = reinterpret_cast<const std::byte*>(pointer.data());
  expect_found(error_of({bytes, bytes + pointer.size()}), "git lfs pull");
}

TEST(Safetensors, HeadersThatAreNotWhatTheFormatSays) {
  struct Case {
    const char* header;
    const char* found;
  };
  constexpr Case kCases[] = {
      {"[]", "the header has an array"},
      {"{\"a\":1}", "the header has a number for 'a'"},
      {"{\"a\":\"x\"}", "the header has text for 'a'"},
      {"{\"a\":", "not JSON"},
      {"{} x", "not JSON at byte 11"},
      {"{\"a\":{\"dtype\":{\"b\":{}}}}", "tensor 'a' has an object for 'dtype'"},
      {"{\"a\":{\"shape\":[[[1]]]}}", "deeper than 3 levels"},
      {"{\"__metadata__\":{\"x\":1}}", "a number for 'x'"},
      {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", "tensor 'a' has no dtype"},
      {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "tensor 'a' has no shape"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", "tensor 'a' has no data_offsets"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}",
       "has shape twice"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", "data_offsets of 3"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "below zero"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1.0],\"data_offsets\":[0,4]}}", "not whole"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,null]}}", "null"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"codec\":true}}", "a bool for 'codec'"},
      {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1]}}", "more than 8 dimensions"},
      {"{\"a\":{\"dtype\":\"Q4\",\"shape\":[1],\"data_offsets\":[0,4]}}",
       "tensor 'a' has the type Q4, which is not supported"},
  };
  for (const Case& test : kCases) expect_found(header_error(test.header), test.found);
}

std::string one(const char* name, const char* type, const char* shape, const char* range) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, type, shape,
                     range);
}

TEST(Safetensors, RangesThatAreNotThoseOfTheShapes) {
  const std::string a = one("a", "F32", "2", "0,8"), b = one("b", "F8_E4M3", "4", "8,12");
  auto both = [&](const std::string& x, const std::string& y) { return "{" + x + "," + y + "}"; };
  EXPECT_EQ(header_error(both(a, b), 12), "");
  expect_found(header_error(both(a, b), 11), "ends at 12, but the file has 11 bytes of data");
  expect_found(header_error(both(a, b), 13), "1 bytes after the last tensor");
  expect_found(header_error(both(a, a), 8), "tensor 'a' appears twice");
  expect_found(header_error(both(a, one("b", "F32", "1", "4,8")), 8), "'b' overlaps");
  expect_found(header_error(both(a, one("b", "F32", "1", "12,16")), 16), "4 bytes before");
  expect_found(header_error("{" + one("a", "F32", "2", "8,0") + "}", 8), "before its beginning");
  expect_found(header_error("{" + one("a", "F32", "3", "0,8") + "}", 8), "3 of F32 need 12");
  expect_found(header_error("{" + one("a", "F4", "3", "0,2") + "}", 2), "a fraction of a byte");
  expect_found(header_error("{" + one("a", "F32", "4294967296,4294967296,2", "0,8") + "}", 8),
               "a fraction of a byte");
  expect_found(
      header_error("{" + one("a", "F32", "2", "18446744073709551608,18446744073709551615") + "}",
                   8),
      "has 7 bytes");
}

TEST(Safetensors, LooksLikeOne) {
  EXPECT_TRUE(looks_like_safetensors(SafetensorsWriter::file("{}", 0)));
  EXPECT_FALSE(looks_like_safetensors(SafetensorsWriter::file("[]", 0)));
  EXPECT_FALSE(looks_like_safetensors(std::vector<std::byte>(8)));
}

}  // namespace
}  // namespace hearth
