#include "store/repo_models.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"

namespace hearth {
namespace {

std::vector<std::string> labels_of(const std::vector<RepoModel>& models) {
  std::vector<std::string> labels;
  for (const RepoModel& model : models) labels.push_back(model.label);
  return labels;
}

HubName repo_name(const std::string& quant = {}) {
  return {.org = "a", .repo = "b", .quant = quant, .file = {}, .revision = "main"};
}

TEST(RepoModels, KnowsTypesInNames) {
  EXPECT_EQ(quant_of("x/Qwen3-4B-Q4_K_M.gguf"), "Q4_K_M");
  EXPECT_EQ(quant_of("Qwen3-UD-Q2_K_XL-00001-of-00002.gguf"), "UD-Q2_K_XL");
  EXPECT_EQ(quant_of("llama.q8_0.gguf"), "Q8_0");
  EXPECT_EQ(quant_of("model.gguf"), "");
}

TEST(RepoModels, KnowsGgufFilesByTheirNames) {
  const GgufName part = gguf_name("a/m-Q8_0-00002-of-00003.GGUF");
  EXPECT_EQ(part.stem, "a/m-Q8_0");
  EXPECT_EQ(part.part, 2u);
  EXPECT_EQ(part.parts, 3u);
  EXPECT_EQ(gguf_name("m-1-of-3.gguf").stem, "m-1-of-3");
  for (const char* name : {"a/m.gguf", "M.GGUF", "m-00001-of-00002.gguf"}) {
    EXPECT_TRUE(is_model_name(name)) << name;
  }
  for (const char* name : {"mmproj-F16.gguf", "m-mmproj.gguf", "m.imatrix.gguf", "a/.m.gguf",
                           "m.gguf.part1of2", "m.safetensors"}) {
    EXPECT_FALSE(is_model_name(name)) << name;
  }
}

TEST(RepoModels, SumsPartsAndLeavesOutWhatIsNoModel) {
  const std::vector<RepoFile> files = {{"m-Q8_0-00002-of-00002.gguf", 5},
                                       {"m-Q8_0-00001-of-00002.gguf", 7},
                                       {"m-Q2_K-00001-of-00002.gguf", 7},
                                       {"mmproj-F16.gguf", 1},
                                       {"imatrix.gguf", 1},
                                       {"m-Q4_0.gguf.part1of2", 1},
                                       {"m-Q4_K_M.gguf", 4}};
  const std::vector<RepoModel> models = find_repo_models(files);
  ASSERT_EQ(labels_of(models), (std::vector<std::string>{"Q4_K_M", "Q8_0"}));
  EXPECT_EQ(models[1].bytes, 12u);
  EXPECT_EQ(models[1].files[0].path, "m-Q8_0-00001-of-00002.gguf");
}

TEST(RepoModels, ChoosesTheUsualTypeOrTheNextSmallerThatFits) {
  const std::vector<RepoFile> files = {
      {"m-Q8_0.gguf", 80}, {"m-Q4_K_M.gguf", 45}, {"m-Q4_K_S.gguf", 42}, {"m-Q2_K.gguf", 30}};
  const std::vector<RepoModel> models = find_repo_models(files);
  EXPECT_EQ(repo_choices(models, repo_name(), 1000).front()->label, "Q4_K_M");
  EXPECT_EQ(repo_choices(models, repo_name(), 44).front()->label, "Q4_K_S");
  EXPECT_EQ(repo_choices(models, repo_name(), 10).front()->label, "Q2_K");
  EXPECT_EQ(repo_choices(models, repo_name("q8_0"), 10).front()->label, "Q8_0");
  EXPECT_THROW(repo_choices(models, repo_name("Q5_0"), 10), Error);
  EXPECT_THROW(repo_choices({}, repo_name(), 10), Error);
  std::vector<std::string> order;
  for (const RepoModel* model : repo_choices(models, repo_name(), 1000)) {
    order.push_back(model->label);
  }
  EXPECT_EQ(order, (std::vector<std::string>{"Q4_K_M", "Q4_K_S", "Q2_K"}));
}

TEST(RepoModels, NoTwoHaveTheSameLabel) {
  const std::vector<RepoFile> files = {{"m-Q8_0.gguf", 1},
                                       {"m-Q8_0-00001-of-00002.gguf", 2},
                                       {"m-Q8_0-00002-of-00002.gguf", 2},
                                       {"a/m-Q4_0.gguf", 3},
                                       {"b/m-Q4_0.gguf", 4},
                                       {"c/n-Q4_0.gguf", 5},
                                       {"m-Q2_K.gguf", 6}};
  const std::vector<RepoModel> models = find_repo_models(files);
  EXPECT_EQ(labels_of(models), (std::vector<std::string>{"Q2_K", "a/m-Q4_0", "b/m-Q4_0", "m-Q8_0",
                                                         "m-Q8_0-00001-of-00002", "n-Q4_0"}));
  EXPECT_EQ(repo_choices(models, repo_name("B/m-q4_0"), 9).front()->bytes, 4u);
}

TEST(RepoModels, TakesOfAFolderWhatIsRead) {
  const std::vector<RepoFile> files = {{"README.md", 9},         {"config.json", 1},
                                       {"tokenizer.json", 2},    {"model.safetensors", 8},
                                       {"pytorch_model.bin", 8}, {"onnx/model.onnx", 8}};
  const std::vector<RepoModel> models = find_repo_models(files);
  ASSERT_EQ(models.size(), 1u);
  EXPECT_TRUE(models[0].folder);
  EXPECT_EQ(models[0].files[0].path, "config.json");
  EXPECT_EQ(models[0].bytes, 11u);
}

}  // namespace
}  // namespace hearth
