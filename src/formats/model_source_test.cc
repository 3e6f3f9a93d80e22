#include "formats/model_source.h"

#include <gtest/gtest.h>

#include <fstream>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

GgufWriter three_tensors() {
  GgufWriter writer;
  writer.set("general.name", "three");
  for (auto [name, value] : {std::pair{"c", 1.0f}, std::pair{"a", 2.0f}, std::pair{"b", 3.0f}}) {
    std::vector<float> values(6, value);
    writer.add_tensor(name, {3, 2}, values);
  }
  return writer;
}

TEST(ModelSource, TensorsStayInTheFilesOrderAndAreFoundByName) {
  ModelSource source = parse_gguf(three_tensors().finish(), "three.gguf");
  std::vector<std::string_view> names;
  for (const SourceTensor& tensor : source.tensors()) names.push_back(tensor.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"c", "a", "b"}));
  for (std::string_view name : names) {
    const SourceTensor* tensor = source.find_tensor(name);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(tensor->name, name);
    EXPECT_EQ(&source.require_tensor(name), tensor);
    EXPECT_EQ(tensor->rows(), 2u);
    EXPECT_EQ(tensor->n_bytes(), 24u);
  }
  for (const char* missing : {"", "aa", "d", "C"}) {
    EXPECT_EQ(source.find_tensor(missing), nullptr) << missing;
    EXPECT_EQ(
        file_error([&] { source.require_tensor(missing); }),
        fmt::format("'three.gguf': tensor '{}' is missing; the file is incomplete, download or "
                    "convert the model again",
                    missing));
  }
}

TEST(ModelSource, DescribesTheFileItWasReadFrom) {
  std::vector<std::byte> bytes = three_tensors().finish();
  ModelSource source = parse_gguf(bytes, "three.gguf");
  EXPECT_EQ(source.name(), "three.gguf");
  EXPECT_STREQ(source.format_name(), "GGUF");
  EXPECT_EQ(source.format_version(), 3u);
  EXPECT_EQ(source.file_bytes(), bytes.size());
  EXPECT_EQ(source.metadata().require<std::string>("general.name"), "three");
  EXPECT_FALSE(source.has_vocabulary());
  EXPECT_NE(file_error([&] { source.vocabulary(); }).find("three.gguf"), std::string::npos);
}

// Tensors and metadata are views into bytes that move along.
TEST(ModelSource, MovesWithWhatPointsIntoIt) {
  ModelSource first = parse_gguf(three_tensors().finish(), "three.gguf");
  const SourceTensor* tensor = first.find_tensor("b");
  ModelSource second = std::move(first);
  EXPECT_EQ(second.find_tensor("b"), tensor);
  EXPECT_EQ(tensor->name, "b");
  EXPECT_EQ(reinterpret_cast<const float*>(tensor->data.data())[5], 3.0f);
  EXPECT_EQ(second.metadata().require<std::string_view>("general.name"), "three");
}

TEST(ModelSource, OpensAFileAndLetsGoOfWhatWasCopied) {
  TestFolder folder;
  std::string path = folder.path() + "three.gguf";
  three_tensors().save(path);
  ModelSource source = ModelSource::open(path, {});
  EXPECT_EQ(source.name(), path);
  EXPECT_EQ(source.file_bytes(), std::filesystem::file_size(path));
  for (const SourceTensor& tensor : source.tensors()) source.release(tensor);
  // Data that was released can be read again.
  EXPECT_EQ(reinterpret_cast<const float*>(source.require_tensor("a").data.data())[0], 2.0f);
}

TEST(ModelSource, OneNameForTwoTensorsIsRefused) {
  GgufBytes file;
  file.header(2, 0).tensor("x", {8}, 0, 0).tensor("x", {8}, 0, 32).data(64);
  EXPECT_NE(parse_error(file).find("tensor 'x' appears twice"), std::string::npos);
}

}  // namespace
}  // namespace hearth
