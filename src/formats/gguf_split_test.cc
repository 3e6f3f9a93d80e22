#include "formats/gguf_split.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "formats/gguf_test_bytes.h"
#include "formats/gguf_writer.h"

namespace hearth {
namespace {

// Writes a model into a temporary folder, in three files of one tensor each. Tests damage it by
// saving parts again.
class GgufSplit : public ::testing::Test {
 protected:
  void SetUp() override {
    for (uint16_t i = 0; i < 3; ++i) part(i, 3, 3).save(path(i));
  }

  std::string path(uint32_t index) const {
    return folder_.path() + fmt::format("model-{:05}-of-00003.gguf", index + 1);
  }
  static GgufWriter part(uint16_t index, uint16_t count, int tensors) {
    GgufWriter writer;
    if (index == 0) writer.set("general.architecture", "llama");
    writer.set("split.no", index);
    writer.set("split.count", count);
    writer.set("split.tensors.count", tensors);
    std::vector<float> values(8, index);
    writer.add_tensor(fmt::format("t{}", index), {8}, values);
    return writer;
  }
  std::string open_error(uint32_t index = 0) const {
    return file_error([&] { ModelSource::open(path(index), {}); });
  }

  TestFolder folder_;
};

TEST_F(GgufSplit, OpeningTheFirstPartOpensAll) {
  ModelSource file = ModelSource::open(path(0), {});
  EXPECT_EQ(file.files().size(), 3u);
  EXPECT_EQ(file.files()[2].name(), path(2));
  EXPECT_EQ(file.metadata().require<std::string>("general.architecture"), "llama");
  ASSERT_EQ(file.tensors().size(), 3u);
  const SourceTensor& last = file.require_tensor("t2");
  EXPECT_EQ(last.part, 2u);
  EXPECT_EQ(load_number<float>(last.data.data()), 2.0f);
  EXPECT_EQ(file.files()[2].bytes().data() + last.offset, last.data.data());
  uint64_t sum = 0;
  for (uint32_t i = 0; i < 3; ++i) sum += std::filesystem::file_size(path(i));
  EXPECT_EQ(file.file_bytes(), sum);
  file.release(last);
}

TEST_F(GgufSplit, AMissingPartIsNamed) {
  std::filesystem::remove(path(1));
  EXPECT_EQ(open_error(), "part 2 of 3 of the model in '" + path(0) + "': '" + path(1) +
                              "' does not exist; check the path");
}

TEST_F(GgufSplit, OpeningALaterPartNamesTheFirst) {
  EXPECT_EQ(open_error(1), "'" + path(1) +
                               "' is part 2 of 3 of a split model (split.no is 1); open the first "
                               "part, whose name ends in '-00001-of-00003.gguf'");
}

TEST_F(GgufSplit, ARenamedFirstPartIsNamed) {
  std::string renamed = folder_.path() + "model.gguf";
  std::filesystem::rename(path(0), renamed);
  std::string error = file_error([&] { ModelSource::open(renamed, {}); });
  EXPECT_NE(error.find("its name does not end in '-00001-of-00003.gguf'"), std::string::npos);
}

TEST_F(GgufSplit, PartsOfAnotherModelAreRefused) {
  part(2, 3, 3).save(path(1));
  EXPECT_NE(open_error().find("'" + path(1) + "' is not part 2 of 3"), std::string::npos);
  EXPECT_NE(open_error().find("'split.no' and 'split.count' are 2 and 3"), std::string::npos);
  GgufWriter().save(path(1));
  EXPECT_NE(open_error().find("are missing and missing"), std::string::npos);
  part(1, 4, 3).save(path(1));
  EXPECT_NE(open_error().find("are 1 and 4"), std::string::npos);
}

TEST_F(GgufSplit, TheNumberOfTensorsMustAgree) {
  part(0, 3, 4).save(path(0));
  EXPECT_NE(open_error().find("'split.tensors.count' is 4, but the 3 parts hold 3 tensors"),
            std::string::npos);
}

TEST_F(GgufSplit, ATensorInTwoPartsIsNamed) {
  GgufWriter writer;
  writer.set("split.no", uint16_t{1});
  writer.set("split.count", uint16_t{3});
  std::vector<float> values(8);
  writer.add_tensor("t0", {8}, values);
  writer.save(path(1));
  EXPECT_NE(open_error().find("tensor 't0' appears twice"), std::string::npos);
}

TEST_F(GgufSplit, ACorruptPartIsNamed) {
  GgufWriter(9).save(path(2));
  EXPECT_NE(open_error().find("'" + path(2) + "' has GGUF version 9"), std::string::npos);
}

TEST_F(GgufSplit, CountsThatCannotBeAreErrors) {
  GgufWriter writer = part(0, 3, 3);
  writer.set("split.count", 70000u);
  writer.save(path(0));
  EXPECT_NE(open_error().find("'split.count' holds 70000"), std::string::npos);
  writer.set("split.count", "three");
  writer.save(path(0));
  EXPECT_NE(open_error().find("'split.count' has the type string"), std::string::npos);
}

TEST_F(GgufSplit, AMergedModelIsOneFile) {
  for (uint16_t count : {uint16_t{0}, uint16_t{1}}) {
    part(0, count, 3).save(path(0));
    EXPECT_EQ(ModelSource::open(path(0), {}).files().size(), 1u);
  }
}

TEST_F(GgufSplit, OnePartInMemoryIsNotTheModel) {
  EXPECT_NE(parse_error(part(0, 3, 3).finish()).find("'split.count' is 3, but 1 files were given"),
            std::string::npos);
}

}  // namespace
}  // namespace hearth
