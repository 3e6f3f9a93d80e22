#include "store/local_models.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/error.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;

class LocalModelsTest : public ::testing::Test {
 protected:
  LocalModelsTest() : folder_(::testing::TempDir() + "local-XXXXXX") { mkdtemp(folder_.data()); }
  ~LocalModelsTest() override { fs::remove_all(folder_); }

  void put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << text;
  }
  void link(const std::string& path, const std::string& target) const {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    fs::create_symlink(target, folder_ + "/" + path);
  }
  StorePlaces places() const {
    return {.hub = folder_ + "/hub",
            .ollama = {folder_ + "/ollama"},
            .lm_studio = {folder_ + "/lms"},
            .endpoint = {},
            .token = {}};
  }
  std::string folder_;
};

const std::string kRepo = "hub/models--a--M-GGUF/";

TEST_F(LocalModelsTest, FindsSnapshotsWithoutRefsAndRemovesWhatNoneNames) {
  put(kRepo + "blobs/one", "12345");
  put(kRepo + "blobs/two", "123");
  link(kRepo + "snapshots/c1/M-Q8_0.gguf", "../../blobs/one");
  link(kRepo + "snapshots/c1/M-Q4_0.gguf", "../../blobs/two");
  link(kRepo + "snapshots/c2/copy.gguf", "../../blobs/two");
  const auto models = find_local_models(places());
  const auto model = find_local_model(models, "m:q8_0");
  ASSERT_TRUE(model);
  EXPECT_EQ(model->name, "a/M-GGUF:Q8_0");
  EXPECT_EQ(model->bytes, 5u);
  EXPECT_THROW(find_local_model(models, "a/M-GGUF"), Error);
  EXPECT_FALSE(find_local_model(models, "b/M-GGUF"));
  EXPECT_EQ(remove_from_cache(places(), *find_local_model(models, "M-GGUF:Q4_0")), 0u);
  EXPECT_TRUE(fs::exists(folder_ + "/" + kRepo + "blobs/two"));
  EXPECT_EQ(remove_from_cache(places(), *model), 5u);
  EXPECT_FALSE(fs::exists(folder_ + "/" + kRepo + "snapshots/c1"));
  EXPECT_EQ(remove_from_cache(places(), *find_local_model(models, "copy")), 3u);
  EXPECT_FALSE(fs::exists(folder_ + "/" + kRepo));
}

TEST_F(LocalModelsTest, RemovesOfOtherSnapshotsTheSameWeightsAlone) {
  auto put_folder = [&](const std::string& commit, const std::string& weights) {
    put(kRepo + "blobs/config", "{}");
    put(kRepo + "blobs/" + weights, "12345678");
    for (const char* name : {"config.json", "tokenizer.json"}) {
      link(kRepo + "snapshots/" + commit + "/" + name, "../../blobs/config");
    }
    link(kRepo + "snapshots/" + commit + "/model.safetensors", "../../blobs/" + weights);
  };
  put_folder("c1", "one");
  put_folder("c2", "two");
  put_folder("c3", "one");
  put(kRepo + "blobs/template", "x");
  link(kRepo + "snapshots/c3/chat_template.jinja", "../../blobs/template");
  put(kRepo + "refs/main", "c1");
  put(kRepo + "blobs/gguf", "123");
  link(kRepo + "snapshots/c2/M-Q4_0.gguf", "../../blobs/gguf");
  const auto model = find_local_model(find_local_models(places()), "m:safetensors");
  ASSERT_TRUE(model);
  ASSERT_EQ(model->commit, "c1");
  // The blobs of weights and template are removed.
  EXPECT_EQ(remove_from_cache(places(), *model), 9u);
  EXPECT_FALSE(fs::exists(folder_ + "/" + kRepo + "snapshots/c1"));
  EXPECT_FALSE(fs::exists(folder_ + "/" + kRepo + "snapshots/c3"));
  for (const char* name : {"config.json", "tokenizer.json", "model.safetensors", "M-Q4_0.gguf"}) {
    EXPECT_TRUE(fs::exists(folder_ + "/" + kRepo + "snapshots/c2/" + name)) << name;
  }
}

TEST_F(LocalModelsTest, ReportsDanglingLinks) {
  link(kRepo + "snapshots/c1/M-Q8_0.gguf", "../../blobs/one");
  const auto models = find_local_models(places());
  ASSERT_EQ(models.size(), 1u);
  EXPECT_NE(models[0].problem, "");
}

TEST_F(LocalModelsTest, ReadsOllamaAndLmStudio) {
  const std::string hex(64, 'e');
  put("ollama/blobs/sha256-" + hex, "1234567");
  const std::string layer =
      R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)";
  put("ollama/manifests/host/library/llama3/latest", layer + hex + "\"}]}");
  put("ollama/manifests/host/library/gone/latest", layer + std::string(64, 'd') + "\"}]}");
  put("ollama/manifests/host/library/bad/latest", "is not JSON");
  put("lms/org/repo/x-Q4_0.gguf", "12");
  const auto models = find_local_models(places());
  const auto found = find_local_model(models, "llama3");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->bytes, 7u);
  EXPECT_EQ(found->problem, "");
  EXPECT_NE(find_local_model(models, "gone")->problem, "");
  EXPECT_NE(find_local_model(models, "bad")->problem, "");
  EXPECT_EQ(find_local_model(models, "repo")->store, "lm-studio");
}

TEST_F(LocalModelsTest, OneInTwoStoresIsNoChoice) {
  put(kRepo + "blobs/one", "12345");
  link(kRepo + "snapshots/c1/M-Q8_0.gguf", "../../blobs/one");
  put("lms/a/M-GGUF/M-Q8_0.gguf", "12345");
  const auto models = find_local_models(places());
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(find_local_model(models, "M")->store, "cache");
}

TEST(ShortNames, LeaveOutWhatPeopleDo) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(short_names("Org/M-GGUF:Q8_0"),
            (Names{"Org/M-GGUF", "M-GGUF", "hf.co/Org/M-GGUF", "Org/M", "M", "hf.co/Org/M",
                   "Org/M-GGUF:Q8_0", "M-GGUF:Q8_0", "hf.co/Org/M-GGUF:Q8_0", "Org/M:Q8_0",
                   "M:Q8_0", "hf.co/Org/M:Q8_0"}));
  EXPECT_EQ(short_names("llama3:8b"), (Names{"llama3", "llama3:8b"}));
  EXPECT_EQ(short_names("demo"), (Names{"demo"}));
}

TEST(OllamaManifest, RefusesWhatNamesNoModel) {
  for (const char* text : {"", "{}", R"({"layers": 1})", R"({"layers": [{"mediaType": 1}]})",
                           R"({"layers": [{"mediaType": "application/vnd.ollama.image.tensor"}]})",
                           R"({"layers": [{"mediaType": "application/vnd.ollama.image.model",
                        "digest": "sha256:../../x"}]})"}) {
    EXPECT_THROW(read_ollama_manifest(text), Error) << text;
  }
}

}  // namespace
}  // namespace hearth
