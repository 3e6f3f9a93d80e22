#include "cli/demo_model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

class DemoModelTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "hearth_demo_model";
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "bin");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path put(const fs::path& relative) {
    fs::create_directories((folder_ / relative).parent_path());
    std::ofstream(folder_ / relative) << "GGUF";
    return folder_ / relative;
  }

  fs::path folder_;
};

TEST_F(DemoModelTest, IsFoundInTheShareFolderOfAnInstallation) {
  fs::path model = put("share/hearth/demo.gguf");
  EXPECT_EQ(find_demo_model(folder_ / "bin"), model);
}

TEST_F(DemoModelTest, BesideTheProgramComesFirst) {
  put("share/hearth/demo.gguf");
  fs::path model = put("bin/assets/demo.gguf");
  EXPECT_EQ(find_demo_model(folder_ / "bin"), model);
}

TEST_F(DemoModelTest, NamesBothPlacesWhereItIsMissing) {
  fs::create_directories(folder_ / "bin/assets/demo.gguf");  // a folder is no model
  try {
    find_demo_model(folder_ / "bin");
    FAIL() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    std::string sentence = error.what();
    EXPECT_NE(sentence.find((folder_ / "bin/assets/demo.gguf").native()), std::string::npos);
    EXPECT_NE(sentence.find((folder_ / "share/hearth/demo.gguf").native()), std::string::npos);
  }
}

TEST(TakeDemoModel, LeavesANamedModelAlone) {
  std::string model = "mine.gguf";
  EXPECT_FALSE(take_demo_model(&model));
  EXPECT_EQ(model, "mine.gguf");
}

}  // namespace
}  // namespace hearth
