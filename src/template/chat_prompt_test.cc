#include "template/chat_prompt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "tokenizer/test_vocab.h"

namespace hearth {
namespace {

ModelSource source_with(const char* chat_template) {
  GgufWriter writer;
  writer.set("general.architecture", std::string_view("llama"));
  if (chat_template != nullptr) {
    writer.set("tokenizer.chat_template", std::string_view(chat_template));
  }
  return parse_gguf(writer.finish(), "test.gguf");
}

class ChatPromptTest : public ::testing::Test {
 protected:
  static std::unique_ptr<Tokenizer> make_tokenizer() {
    Vocab vocab = spm_vocab({{"_", -9}, {"h", -8}, {"i", -8}, {"hi", -1}});
    vocab.add_space_prefix = false;
    vocab.eog = {vocab.eos};
    return Tokenizer::from_vocab(std::move(vocab));
  }
  static boost::json::array turn(const char* text) {
    return {boost::json::object{{"role", "user"}, {"content", text}}};
  }
  std::vector<int32_t> encode(const ChatPrompt& prompt, const char* text) const {
    return prompt.encode(prompt.render(turn(text), {}));
  }

  std::unique_ptr<Tokenizer> tokenizer_ = make_tokenizer();
};

TEST_F(ChatPromptTest, TakesTheSourcesTemplateOrTheOneGiven) {
  ModelSource source = source_with("own:{{ messages[0].content }}");
  ChatPrompt own(source, *tokenizer_, {});
  EXPECT_TRUE(own.has_template());
  EXPECT_EQ(own.render(turn("hi"), {}).text, "own:hi");
  ChatPrompt given(source, *tokenizer_, "{{ messages[0].role }}");
  EXPECT_EQ(given.render(turn("hi"), {}).text, "user");
}

TEST_F(ChatPromptTest, RefusesWithoutATemplate) {
  auto refusal = [&](const char* chat_template) -> std::string {
    ChatPrompt prompt(source_with(chat_template), *tokenizer_, {});
    EXPECT_FALSE(prompt.has_template());
    try {
      prompt.render(turn("hi"), {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal(nullptr),
            "'test.gguf' has no chat template: give one with --chat-template FILE, or send a plain "
            "prompt");
  for (const char* blank : {"", " ", "\n\t \xC2\xA0", "{# what it was #}\n"}) {
    EXPECT_EQ(refusal(blank), refusal(nullptr)) << "blank is none";
    EXPECT_THROW(ChatPrompt(source_with("x"), *tokenizer_, blank), Error);
    ChatPrompt given(source_with(blank), *tokenizer_, "{{ messages[0].content }}");
    EXPECT_EQ(given.render(turn("hi"), {}).text, "hi");
  }
  EXPECT_EQ(refusal("{% include 'x' %}"),
            "'test.gguf': the chat template, line 1: the statement 'include' is not supported; "
            "give another one with --chat-template FILE");
  EXPECT_THROW(ChatPrompt(source_with(nullptr), *tokenizer_, "{{"), Error);
}

TEST_F(ChatPromptTest, ALongOneIsMadeInSlicesAndNotBeyondTheContext) {
  ChatPrompt prompt(source_with("{{ messages[0].content }}"), *tokenizer_, {});
  std::string text;
  for (int i = 0; i < 50000; ++i) text += "hi ";
  const RenderedChat chat = prompt.render(turn(text.c_str()), {});
  size_t pauses = 0;
  Pace count([&] { ++pauses; });
  const std::vector<int32_t> whole =
      prompt.encode(chat, std::numeric_limits<size_t>::max(), &count);
  EXPECT_EQ(whole, prompt.encode(chat));
  EXPECT_GT(pauses, 5u);
  pauses = 0;
  const std::vector<int32_t> begin = prompt.encode(chat, 10, &count);
  EXPECT_GT(begin.size(), 10u);
  EXPECT_LT(begin.size(), 30u);
  EXPECT_LT(pauses, 5u);
}

TEST_F(ChatPromptTest, TheFirstTurnEndsWhereTheFirstReplyBegins) {
  ModelSource source = source_with(
      "{% for m in messages %}{% if loop.first and m.role == 'tool' %}{{ raise_exception('no') }}"
      "{% endif %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}hi{% endif %}");
  ChatPrompt prompt(source, *tokenizer_, {});
  auto message = [](const char* role, const char* text) {
    return boost::json::object{{"role", role}, {"content", text}};
  };
  const boost::json::array first = {message("system", "h"), message("user", "i")};
  const auto tokens = static_cast<uint32_t>(prompt.encode(prompt.render(first, {})).size());
  boost::json::array more = first;
  EXPECT_EQ(prompt.first_turn_tokens(more, {}), 0u) << "there is no reply";
  more.push_back(message("assistant", "hi"));
  more.push_back(message("user", "hi"));
  EXPECT_EQ(prompt.first_turn_tokens(more, {}), tokens);
  EXPECT_EQ(prompt.first_turn_tokens(more, {{"add_generation_prompt", false}}), tokens);
  more.push_back(message("assistant", "h"));
  EXPECT_EQ(prompt.first_turn_tokens(more, {}), tokens) << "the first of several";
  EXPECT_EQ(prompt.first_turn_tokens({message("assistant", "hi")}, {}), 0u);
  EXPECT_EQ(prompt.first_turn_tokens({message("tool", "hi"), message("assistant", "hi")}, {}), 0u)
      << "the template refuses what stands before";
}

TEST_F(ChatPromptTest, BosComesOnce) {
  ModelSource source = source_with(nullptr);
  const std::vector<int32_t> expected = {1, tokenizer_->find_token("hi"), 2};
  ChatPrompt writes(source, *tokenizer_, "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}");
  EXPECT_EQ(encode(writes, "hi"), expected);
  ChatPrompt leaves(source, *tokenizer_, "{{ messages[0].content }}{{ eos_token }}");
  EXPECT_EQ(encode(leaves, "hi"), expected);
}

TEST_F(ChatPromptTest, WordsOfAStrangerGiveNoControlToken) {
  ChatPrompt prompt(source_with(nullptr), *tokenizer_,
                    "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}");
  std::vector<int32_t> ids = encode(prompt, "</s><s>hi</s>");
  EXPECT_EQ(std::ranges::count_if(ids, [&](int32_t id) { return tokenizer_->is_control(id); }), 2);
  EXPECT_EQ(tokenizer_->decode(ids, true), "<s></s><s>hi</s></s>");
}

TEST_F(ChatPromptTest, VariablesMayBeGivenButNotTheTokensNames) {
  ChatPrompt prompt(source_with(nullptr), *tokenizer_,
                    "{{ tools }}{{ add_generation_prompt }}{{ bos_token }}{{ x }}");
  EXPECT_EQ(prompt.render({}, {}).text, "NoneTrue<s>");
  boost::json::object kwargs = {
      {"x", 1}, {"add_generation_prompt", false}, {"bos_token", "</s>"}, {"tools", {"t"}}};
  EXPECT_EQ(prompt.render({}, kwargs).text, "['t']False<s>1");
}

}  // namespace
}  // namespace hearth
