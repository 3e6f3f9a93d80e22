#include "formats/gguf_writer.h"

#include <gtest/gtest.h>

#include "formats/gguf_test_bytes.h"

namespace hearth {
namespace {

TEST(GgufWriter, WritesTheFormatByteForByte) {
  GgufWriter writer;
  writer.set("k", 7u);
  std::vector<float> values = {1.0f};
  writer.add_tensor("t", {1}, values);
  GgufBytes wanted;
  wanted.header(1, 1).str("k").u32(4).u32(7).tensor("t", {1}, 0, 0).data(0).put(1.0f).data(0);
  EXPECT_EQ(writer.finish(), wanted.bytes());
}

TEST(GgufWriter, SettingAKeyAgainReplacesItInPlace) {
  GgufWriter writer;
  writer.set("a", 1);
  writer.set("b", 2);
  writer.set("a", "text");
  ModelSource file = parse_gguf(writer.finish(), "m.gguf");
  ASSERT_EQ(file.metadata().entries().size(), 2u);
  EXPECT_EQ(file.metadata().entries()[0].key, "a");
  EXPECT_EQ(file.metadata().get<std::string>("a"), "text");
}

TEST(GgufWriter, HonoursTheAlignment) {
  GgufWriter writer(2);
  writer.set("general.alignment", 256u);
  std::vector<float> values(3, 1.0f);
  writer.add_tensor("a", {3}, values);
  writer.add_tensor("b", {3}, values);
  ModelSource file = parse_gguf(writer.finish(), "m.gguf");
  EXPECT_EQ(file.format_version(), 2u);
  EXPECT_EQ(file.metadata().get<uint32_t>("general.alignment"), 256u);
  EXPECT_EQ(file.tensors()[0].offset % 256, 0u);
  EXPECT_EQ(file.tensors()[1].offset, file.tensors()[0].offset + 256);
}

TEST(GgufWriter, EveryTensorTypeRoundTrips) {
  GgufWriter writer;
  for (DType dtype : gguf_dtypes()) {
    std::vector<std::byte> bytes(row_bytes(dtype, 256) * 3, std::byte{0x11});
    writer.add_tensor(dtype_info(dtype).name, {256, 3}, dtype, bytes);
  }
  ModelSource file = parse_gguf(writer.finish(), "m.gguf");
  ASSERT_EQ(file.tensors().size(), gguf_dtypes().size());
  for (DType dtype : gguf_dtypes()) {
    const SourceTensor& tensor = file.require_tensor(dtype_info(dtype).name);
    EXPECT_EQ(tensor.dtype, dtype);
    EXPECT_EQ(tensor.n_bytes(), row_bytes(dtype, 256) * 3);
    EXPECT_EQ(tensor.data.back(), std::byte{0x11});
  }
}

TEST(GgufWriter, SavedFilesOpen) {
  GgufWriter writer;
  writer.set("general.name", "saved");
  TestFolder folder;
  std::string path = folder.path() + "writer.gguf";
  writer.save(path);
  EXPECT_EQ(ModelSource::open(path, {}).metadata().get<std::string>("general.name"), "saved");
}

TEST(GgufWriter, APlaceThatCannotBeWrittenIsNamed) {
  TestFolder folder;
  std::string path = folder.path() + "no-such-folder/m.gguf";
  EXPECT_NE(file_error([&] { GgufWriter().save(path); }).find("cannot create '" + path + "'"),
            std::string::npos);
  EXPECT_NE(file_error([&] { GgufWriter().save("/dev/full"); }).find("cannot write"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
