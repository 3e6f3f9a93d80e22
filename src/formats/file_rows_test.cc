#include "formats/file_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "formats/gguf.h"
#include "formats/gguf_test_bytes.h"
#include "formats/test_source.h"

namespace hearth {
namespace {

// Returns data in which row r has r, r + 1/2, r + 1, ...
std::vector<std::byte> counted(const TestTensor& tensor) {
  std::vector<std::byte> bytes(tensor_bytes(tensor));
  for (uint64_t i = 0; i < bytes.size() / sizeof(float); ++i) {
    const float value =
        static_cast<float>(i / tensor.dims[0]) + 0.5f * static_cast<float>(i % tensor.dims[0]);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

TestSource two_tables() {
  TestSource source;
  source.set("general.architecture", "none");
  source.add("other.weight", {5, 3}).add("table.weight", {4, 7});
  return source;
}

void expect_rows(const FileRows& rows) {
  ASSERT_EQ(rows.rows(), 7u);
  ASSERT_EQ(rows.length(), 4u);
  for (uint64_t r : {6u, 0u, 3u}) {
    float row[4] = {};
    rows.read(r, row);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(row[i], static_cast<float>(r) + 0.5f * i);
  }
}

TEST(FileRows, RowsOfAFileOutliveTheSource) {
  const auto path = std::filesystem::temp_directory_path() / "hearth_file_rows_test.gguf";
  const std::vector<std::byte> bytes = two_tables().gguf(counted);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::optional<ModelSource> source = ModelSource::open(path.string(), {});
  const FileRows rows(*source, source->require_tensor("table.weight"));
  source.reset();
  expect_rows(rows);
  std::filesystem::remove(path);
}

TEST(FileRows, ReportsAFileThatWasCut) {
  const TestFolder folder;
  const std::string path = folder.path() + "cut.gguf";
  TestSource tables;
  tables.set("general.architecture", "none");
  // More than a page of data lies beyond the point where the file is cut.
  tables.add("table.weight", {uint64_t{1} << 17, 7});
  const std::vector<std::byte> bytes = tables.gguf(counted);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::optional<ModelSource> source = ModelSource::open(path, {});
  const FileRows rows(*source, source->require_tensor("table.weight"));
  source.reset();
  std::vector<float> row(rows.length());
  rows.read(6, row.data());
  EXPECT_EQ(row[0], 6.0f);
  rows.require_whole();
  std::filesystem::resize_file(path, 64);
  rows.read(6, row.data());
  EXPECT_EQ(row[0], 0.0f);
  const std::string error = file_error([&] { rows.require_whole(); });
  EXPECT_NE(error.find("'" + path + "' was truncated"), std::string::npos) << error;
}

TEST(FileRows, RowsOfMemoryAreCopied) {
  std::optional<ModelSource> source = parse_gguf(two_tables().gguf(counted), "memory.gguf");
  const FileRows rows(*source, source->require_tensor("table.weight"));
  source.reset();
  expect_rows(rows);
}

}  // namespace
}  // namespace hearth
