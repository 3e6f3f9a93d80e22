#include "engine/open_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "models/test_source.h"
#include "tokenizer/test_vocab.h"

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
    EXPECT_EQ(error.field(), "model");
    std::string sentence = error.what();
    EXPECT_NE(sentence.find((folder_ / "bin/assets/demo.gguf").native()), std::string::npos);
    EXPECT_NE(sentence.find((folder_ / "share/hearth/demo.gguf").native()), std::string::npos);
  }
}

// A file with a model of zeros and a vocabulary of the 256 bytes, which names no pre-tokenizer.
class OpenModelTest : public testing::Test {
 protected:
  void SetUp() override {
    Vocab vocab = bpe_vocab({});
    source_ = llama_source({.vocabulary = 256, .context = 128});
    source_.set("tokenizer.ggml.model", "gpt2");
    source_.set("tokenizer.ggml.tokens", vocab.tokens);
    source_.set("tokenizer.ggml.merges", merge_texts(vocab));
    listener_.warn = [this](const std::string& text) { warnings_.push_back(text); };
    listener_.detail = [this](const std::string& text) { details_.push_back(text); };
    listener_.progress = [this](std::string_view doing, uint64_t done, uint64_t total) {
      EXPECT_EQ(doing, "loading");
      EXPECT_LE(done, total);
      if (!progress_.empty()) {
        EXPECT_GE(done, progress_.back());
      }
      progress_.push_back(done);
      total_ = total;
    };
    testing::internal::CaptureStderr();
  }
  void TearDown() override {
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the listener is told, nobody else";
    std::filesystem::remove(path_);
  }

  OpenedModel open(TokenizerUse use = TokenizerUse::kNeeded,
                   const std::optional<std::string>& pre = std::nullopt) {
    std::vector<std::byte> bytes = source_.gguf();
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return open_model({path_, pre, use}, listener_);
  }
  std::unique_ptr<Engine> start(const OpenedModel& model, uint32_t context) {
    EngineOptions options;
    options.threads = 1;
    options.context = context;
    return start_engine(model, Machine::invented(1, 1), Isa::kReference, options, listener_);
  }

  std::string path_ = testing::TempDir() + "hearth_open_model.gguf";
  TestSource source_;
  Listener listener_;
  std::vector<std::string> warnings_, details_;
  std::vector<uint64_t> progress_;
  uint64_t total_ = 0;
};

TEST_F(OpenModelTest, ReportsWarningsAndProgressToTheListener) {
  OpenedModel model = open();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("tokenizer.ggml.pre is missing"), std::string::npos) << warnings_[0];
  EXPECT_EQ(model.tokenizer->size(), 256u);
  EXPECT_EQ(model.spec.hyper.vocabulary, 256u);

  std::unique_ptr<Engine> engine = start(model, 256);
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[1],
            "a context of 256 is longer than the 128 tokens the model was trained for");
  ASSERT_FALSE(progress_.empty());
  EXPECT_EQ(progress_.back(), total_);
  EXPECT_EQ(total_, model.spec.matrix_bytes());
}

TEST_F(OpenModelTest, AFileThatIsCutWhileItIsLoadedIsNamed) {
  const OpenedModel model = open(TokenizerUse::kNeeded, "qwen2");
  std::filesystem::resize_file(path_, 1);
  try {
    start(model, 64);
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
  }
}

TEST_F(OpenModelTest, WarnsOfAContextThatIsSmallerThanTheModels) {
  OpenedModel model = open(TokenizerUse::kNeeded, "qwen2");
  EngineOptions options;
  options.threads = 1;
  options.kv_bytes = start(model, 64)->memory().kv;
  progress_.clear();
  std::unique_ptr<Engine> engine =
      start_engine(model, Machine::invented(1, 1), Isa::kReference, options, listener_);
  EXPECT_EQ(engine->context(), 64u);
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("holds a context of 64 tokens instead of 128"), std::string::npos);
}

TEST_F(OpenModelTest, ReportsWhyItChoseTheWeightsType) {
  OpenedModel model = open(TokenizerUse::kNeeded, "qwen2");
  Machine machine = Machine::invented(1, 1);
  EngineOptions options;
  options.threads = 1;
  options.context = 40;
  // Settles the weights for `engines` engines with `available` bytes of memory. Collects the
  // sentences that the listener is told, and returns the first, or "".
  auto told = [&](std::vector<std::string>* sentences, size_t engines, uint64_t available) {
    sentences->clear();
    model.spec = make_spec(model.source, {.automatic = true});
    machine.memory_available = available;
    const std::vector<EngineOptions> all(engines, options);
    settle_weights(&model, machine, Isa::kReference, all, listener_);
    EXPECT_FALSE(model.spec.policy.automatic);
    return sentences->empty() ? "" : sentences->front();
  };
  const std::string weights = "the weights of '" + path_ + "' ";
  EXPECT_EQ(told(&details_, 1, 0),
            weights + "stay as they are: how much memory is available is not known");
  EXPECT_EQ(
      told(&details_, 2, 1u << 30),
      weights + "stay as they are: 1.00 GiB of memory hold 2 copies of it with keys and values");
  EXPECT_EQ(warnings_, std::vector<std::string>{});
  EXPECT_EQ(
      told(&warnings_, 1, 1024),
      weights +
          "are quantised to q4_k, and even so 1.00 KiB of memory do not hold the model with keys "
          "and values");
  source_ = encoder_source({.width = 64, .heads = 2, .ffn = 64, .type = DType::kQ8_0});
  model = open(TokenizerUse::kNone);
  EXPECT_EQ(told(&warnings_, 1, 1024), weights +
                                           "cannot be made smaller by quantising, and 1.00 KiB of "
                                           "memory are too little for the model");
}

TEST_F(OpenModelTest, SaysNothingWhereNothingIsOdd) {
  OpenedModel model = open(TokenizerUse::kNeeded, "qwen2");
  EXPECT_EQ(model.tokenizer->vocab().pre, "qwen2");
  start(model, 128);
  EXPECT_EQ(warnings_, std::vector<std::string>{});
}

// Odd details of a vocabulary with a known pre-tokenizer are told only to a listener for details.
TEST_F(OpenModelTest, ReportsDetailsToAListenerForDetails) {
  Vocab vocab = bpe_vocab({});
  vocab.tokens[200] = vocab.tokens[100];
  source_.set("tokenizer.ggml.tokens", vocab.tokens).set("tokenizer.ggml.pre", "qwen2");
  open();
  EXPECT_EQ(warnings_, std::vector<std::string>{});
  EXPECT_EQ(std::count_if(details_.begin(), details_.end(),
                          [](const std::string& detail) {
                            return detail.find("tokens with the same text as another") !=
                                   std::string::npos;
                          }),
            1);
}

TEST_F(OpenModelTest, ATokenizerIsMadeWhereOneIsWanted) {
  EXPECT_EQ(open(TokenizerUse::kNone).tokenizer, nullptr);
  EXPECT_NE(open(TokenizerUse::kIfThere).tokenizer, nullptr);
  source_.set("tokenizer.ggml.model", "no_vocab");
  EXPECT_EQ(open(TokenizerUse::kIfThere).tokenizer, nullptr);
  EXPECT_THROW(open(TokenizerUse::kNeeded), Error);
}

TEST_F(OpenModelTest, AVocabularyLargerThanTheTableIsRefused) {
  source_.add("token_embd.weight", {64, 255});
  try {
    open();
    ADD_FAILURE() << "nothing thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_EQ(std::string(error.what()),
              "'" + path_ +
                  "': the vocabulary has 256 tokens, but token_embd.weight has 255 rows: the file "
                  "is damaged, download it again");
  }
}

}  // namespace
}  // namespace hearth
