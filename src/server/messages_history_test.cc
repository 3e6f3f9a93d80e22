#include "server/messages_history.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "base/json_reader.h"
#include "server/request_error.h"

namespace hearth {
namespace {

MessagesHistory history_of(const std::string& body) {
  return read_messages_history(read_json(body).as_object(), 100);
}
MessagesHistory history_of_messages(const std::string& messages) {
  return history_of("{\"messages\":" + messages + "}");
}
std::string chat_messages(const std::string& messages) {
  return boost::json::serialize(history_of_messages(messages).messages);
}
std::string history_error(const std::string& body) {
  try {
    history_of(body);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().message.find(error.api().param.value_or("none")), 0u);
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}
std::string block_error(const std::string& role, const std::string& block) {
  return history_error(R"({"messages":[{"role":")" + role + R"(","content":[)" + block + "]}]}");
}

TEST(MessagesHistory, AStringAndABlockAreOne) {
  const std::string plain = chat_messages(R"([{"role":"user","content":"Hi\nyou"}])");
  EXPECT_EQ(plain, R"([{"role":"user","content":"Hi\nyou"}])");
  EXPECT_EQ(chat_messages(R"([{"role":"user","content":[
      {"cache_control":{"type":"ephemeral"},"text":"Hi","type":"text"},{"type":"text","text":""},
      {"type":"text","text":"you","citations":null}]}])"),
            plain);
  EXPECT_EQ(chat_messages(R"([{"role":"user","content":"Hi"},{"role":"user","content":"you"}])"),
            plain);
  EXPECT_EQ(chat_messages(R"([{"role":"user","content":[]}])"),
            R"([{"role":"user","content":""}])");
}

TEST(MessagesHistory, LeavesOutTheBillingHeaderOfSystem) {
  auto system = [](const std::string& field) {
    MessagesHistory history =
        history_of(R"({"messages":[{"role":"user","content":"Hi"}],"system":)" + field + "}");
    const bool any = history.messages.size() == 2;
    EXPECT_EQ(history.from.front(), any ? MessagesHistory::kFromSystem : 0u);
    return any ? std::string(history.messages[0].at("content").as_string()) : "none";
  };
  EXPECT_EQ(system(R"("Be\nbrief.")"), "Be\nbrief.");
  EXPECT_EQ(system(R"([{"type":"text","text":"x-anthropic-billing-header: cc_version=1"},
      {"type":"text","text":"Be","cache_control":{}},{"type":"text","text":"brief."}])"),
            "Be\nbrief.");
  EXPECT_EQ(system(R"("x-anthropic-billing-header: 1\nBe\nbrief.")"), "Be\nbrief.");
  EXPECT_EQ(system(R"("x-anthropic-billing-header: 1")"), "none");
  EXPECT_EQ(system(R"([{"type":"text","text":"x-anthropic-billing-header: 1"}])"), "none");
  EXPECT_EQ(system(R"([{"type":"text","text":"Be"},
      {"type":"text","text":"x-anthropic-billing-header"}])"),
            "Be\nx-anthropic-billing-header");
  EXPECT_EQ(system("[]"), "none");
  EXPECT_EQ(system("null"), "none");
}

TEST(MessagesHistory, SystemInMidConversationIsTheUsers) {
  EXPECT_EQ(
      chat_messages(R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},
      {"role":"assistant","content":"Yes?"},
      {"role":"system","content":[{"type":"text","text":"A"}]},
      {"role":"user","content":"B"},{"role":"system","content":"C"}])"),
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},)"
      R"({"role":"assistant","content":"Yes?"},{"role":"user","content":"A\nB\nC"}])");
}

TEST(MessagesHistory, CallsAndWhatTheyGave) {
  MessagesHistory history = history_of_messages(R"([{"role":"user","content":"Go"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},
        {"type":"redacted_thinking","data":"x"},{"type":"text","text":"I do."},
        {"type":"tool_use","id":"toolu_1","name":"read","input":{"b":1.5,"a":["x",null,true]}},
        {"type":"tool_use","id":"toolu_2","name":"list","input":{}}]},
      {"role":"user","content":[{"type":"text","text":"And?"},
        {"type":"tool_result","tool_use_id":"toolu_1","content":"text","is_error":false},
        {"type":"tool_result","tool_use_id":"toolu_2","is_error":true,
         "content":[{"type":"text","text":"no"},{"type":"text","text":"such"}]}]}])");
  EXPECT_EQ(boost::json::serialize(history.messages),
            R"([{"role":"user","content":"Go"},)"
            R"({"role":"assistant","content":"I do.","reasoning_content":"hm","tool_calls":[)"
            R"({"id":"toolu_1","type":"function","function":{"name":"read",)"
            R"("arguments":"{\"b\":1.5,\"a\":[\"x\",null,true]}"}},)"
            R"({"id":"toolu_2","type":"function","function":{"name":"list","arguments":"{}"}}]},)"
            R"({"role":"tool","tool_call_id":"toolu_1","content":"text"},)"
            R"({"role":"tool","tool_call_id":"toolu_2","content":"Error: no\nsuch"},)"
            R"({"role":"user","content":"And?"}])");
  EXPECT_EQ(history.from, (std::vector<size_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(chat_messages(R"([{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"},
      {"type":"tool_result","tool_use_id":"2","content":[
        {"type":"tool_reference","tool_name":"Web"}]}]}])"),
            R"([{"role":"tool","tool_call_id":"1","content":""},)"
            R"({"role":"tool","tool_call_id":"2","content":"The tool Web can be called."}])");
}

TEST(MessagesHistory, MessagesOfTheAssistantJoin) {
  EXPECT_EQ(chat_messages(R"([{"role":"user","content":"Go"},{"role":"assistant","content":"a"},
      {"role":"assistant","content":[{"type":"thinking","thinking":"t"},
        {"type":"tool_use","id":"1","name":"f","input":{}}]}])"),
            R"([{"role":"user","content":"Go"},{"role":"assistant","content":"a",)"
            R"("reasoning_content":"t","tool_calls":[{"id":"1","type":"function",)"
            R"("function":{"name":"f","arguments":"{}"}}]}])");
}

TEST(MessagesHistory, TheLastOneMayGoOn) {
  auto goes_on = [](const std::string& last) {
    return history_of_messages(R"([{"role":"user","content":"Go"},)" + last + "]").goes_on;
  };
  EXPECT_TRUE(goes_on(R"({"role":"assistant","content":"{\"a\":"})"));
  EXPECT_FALSE(goes_on(R"({"role":"assistant","content":""})"));
  EXPECT_FALSE(goes_on(R"({"role":"user","content":"x"})"));
  EXPECT_FALSE(goes_on(R"({"role":"assistant","content":[{"type":"text","text":"x"},
      {"type":"tool_use","id":"1","name":"f","input":{}}]})"));
}

TEST(MessagesHistory, ErrorsHavePaths) {
  EXPECT_EQ(history_error("{}"), "missing_required_parameter: messages is missing");
  EXPECT_EQ(history_error(R"({"messages":[]})"),
            "invalid_value: messages has 0 entries; it must have at least 1");
  EXPECT_EQ(history_error(R"({"messages":[{"role":"user"}]})"),
            "missing_required_parameter: messages[0].content is missing");
  EXPECT_EQ(history_error(R"({"messages":[{"role":"tool","content":"x"}]})"),
            "invalid_value: messages[0].role is 'tool'; it must be user, assistant or system");
  EXPECT_EQ(history_error(R"({"system":[{"type":"image"}],"messages":[]})"),
            "unsupported_parameter: system[0].type asks for something that this server does not "
            "support; no images or documents are read: send text blocks");
  EXPECT_EQ(
      block_error("user", R"({"type":"text","text":"x"},{"type":"image","source":{}})"),
      "unsupported_parameter: messages[0].content[1].type asks for something that this server does "
      "not support; no images or documents are read: send text and tool_result blocks");
  EXPECT_EQ(block_error("user", R"({"type":"tool_result","tool_use_id":"1","content":[
      {"type":"document"}]})"),
            "unsupported_parameter: messages[0].content[0].content[0].type asks for something that "
            "this server does not support; no images or documents are read: send text blocks");
  EXPECT_EQ(block_error("assistant", R"({"type":"tool_use","id":"1","name":"f","input":"{}"})"),
            "invalid_type: messages[0].content[0].input is a string; it must be an object");
  EXPECT_EQ(block_error("assistant", R"({"type":"tool_use","name":"f","input":{}})"),
            "missing_required_parameter: messages[0].content[0].id is missing");
  EXPECT_EQ(block_error("assistant", R"({"type":"text"})"),
            "missing_required_parameter: messages[0].content[0].text is missing");
  EXPECT_EQ(
      block_error("user", R"({"type":"thinking","thinking":"x"})"),
      "unsupported_parameter: messages[0].content[0].type asks for something that this server does "
      "not support; no images or documents are read: send text and tool_result blocks");
  EXPECT_EQ(block_error("user", "3"),
            "invalid_type: messages[0].content[0] is a number; it must be an object");
}

// The second of two requests as Claude Code sends it: earlier blocks as strings, `cache_control`
// elsewhere, another billing line.
constexpr const char* kTurnOne = R"({
  "system": [
    {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=1;"},
    {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}},
    {"type": "text", "text": "Read files.", "cache_control": {"type": "ephemeral"}}],
  "messages": [
    {"role": "user", "content": [
      {"type": "text", "text": "<reminder>"}, {"type": "text", "text": "read note.txt"}]},
    {"role": "system", "content": [
      {"type": "text", "text": "Skills: none", "cache_control": {"type": "ephemeral"}}]}]})";

constexpr const char* kTurnTwo = R"({
  "system": [
    {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1; cch=2;"},
    {"type": "text", "text": "You are an agent."},
    {"type": "text", "text": "Read files.", "cache_control": {"type": "ephemeral"}}],
  "messages": [
    {"role": "user", "content": [
      {"type": "text", "text": "<reminder>", "cache_control": {"type": "ephemeral"}},
      {"type": "text", "text": "read note.txt"}]},
    {"role": "system", "content": "Skills: none"},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "I read it.", "signature": "x"},
      {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "note.txt"}}]},
    {"role": "user", "content": [
      {"tool_use_id": "toolu_1", "type": "tool_result", "content": "1\tmarmalade",
       "cache_control": {"type": "ephemeral"}}]}]})";

constexpr const char* kTurnThree = R"({
  "system": "You are an agent.\nRead files.",
  "messages": [
    {"role": "user", "content": "<reminder>\nread note.txt"},
    {"role": "system", "content": [{"type": "text", "text": "Skills: none"}]},
    {"role": "assistant", "content": [
      {"type": "thinking", "thinking": "I read it.", "signature": ""},
      {"id": "toolu_1", "input": {"file_path": "note.txt"}, "name": "Read", "type": "tool_use"}]},
    {"role": "user", "content": [
      {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
        {"type": "text", "text": "1\tmarmalade"}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is marmalade."}]},
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}]}]})";

TEST(MessagesHistory, ALaterTurnBeginsWithTheEarlierOnes) {
  std::string before;
  for (const char* body : {kTurnOne, kTurnTwo, kTurnThree}) {
    std::string now = boost::json::serialize(history_of(body).messages);
    EXPECT_TRUE(now.starts_with(before)) << before << "\n" << now;
    now.pop_back();  // the bracket that ends the array
    EXPECT_GT(now.size(), before.size());
    before = now;
  }
}

}  // namespace
}  // namespace hearth
