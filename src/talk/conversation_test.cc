#include "talk/conversation.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

std::string messages(const Conversation& said) {
  Json json;
  said.write_messages(json);
  return json.line();
}

TEST(ConversationTest, SendsWhatWasSaid) {
  Conversation said;
  said.set_system("Be brief.");
  said.ask("Why?");
  said.answer("So.", "hm");
  EXPECT_EQ(messages(said), R"([{"role":"system","content":"Be brief."},)"
                            R"({"role":"user","content":"Why?"},)"
                            R"({"role":"assistant","content":"So."}])"
                            "\n");
}

TEST(ConversationTest, QuestionsWithoutAnswerAreOne) {
  Conversation said;
  said.ask("a");
  said.ask("b");
  ASSERT_EQ(said.turns().size(), 1u);
  EXPECT_EQ(said.turns()[0].text, "a\n\nb");
}

TEST(ConversationTest, GoesBack) {
  Conversation said;
  EXPECT_FALSE(said.undo());
  EXPECT_FALSE(said.drop_answer());
  said.ask("a");
  said.answer("b", "");
  said.ask("c");
  EXPECT_TRUE(said.drop_answer());
  EXPECT_EQ(said.turns().size(), 3u);
  EXPECT_TRUE(said.undo());
  EXPECT_TRUE(said.drop_answer());
  EXPECT_TRUE(said.asks());
  EXPECT_TRUE(said.undo());
  EXPECT_TRUE(said.turns().empty());
}

TEST(ConversationTest, AFileHoldsItAll) {
  Conversation said;
  said.set_system("s");
  said.ask("a\n\"中\"");
  said.answer("b", "thought");
  Conversation read;
  read.take_file(said.file_text());
  EXPECT_EQ(read.turns(), said.turns());
  EXPECT_EQ(read.system(), "s");
  EXPECT_TRUE(Conversation::is_file(said.file_text()));
}

TEST(ConversationTest, OtherFilesChangeNothing) {
  Conversation said;
  said.ask("a");
  for (const char* text :
       {"", "{}", "[1]", "{\"hearth_chat\":2,\"turns\":[]}", "{\"hearth_chat\":1}",
        "{\"hearth_chat\":1,\"turns\":[{\"role\":\"tool\",\"content\":\"x\"}]}",
        "{\"hearth_chat\":1,\"turns\":[3]}",
        "{\"hearth_chat\":1,\"turns\":[{\"role\":\"user\",\"content\":3}]}"}) {
    EXPECT_THROW(said.take_file(text), Error) << text;
    EXPECT_FALSE(Conversation::is_file(text)) << text;
  }
  EXPECT_EQ(said.turns().size(), 1u);
}

}  // namespace
}  // namespace hearth
