#include "server/turn_history.h"

#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "base/json_reader.h"
#include "server/chat_messages.h"
#include "server/request_error.h"

namespace hearth {
namespace {

namespace json = boost::json;

// Reads messages as clients send them, and fits them to a template with this history format.
json::array fitted(const std::string& messages, const HistoryFormat& history = {},
                   std::optional<CallFormat> calls = {}) {
  json::array read = read_messages(read_json("{\"messages\":" + messages + "}").as_object(), 2048);
  TurnFormat format;
  format.history = history;
  format.calls = std::move(calls);
  fit_history(&format, &read);
  return read;
}

std::string history_error(const std::string& messages) {
  try {
    fitted(messages);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().status, 400u);
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}

std::string sent_call(const std::string& id, const std::string& arguments,
                      const std::string& name = "read") {
  return R"({"id":")" + id + R"(","type":"function","function":{"name":")" + name +
         R"(","arguments":)" + arguments + "}}";
}
std::string sent_calls(const std::string& calls, const std::string& more = "") {
  return R"({"role":"assistant","tool_calls":[)" + calls + "]" + more + "}";
}
std::string tool_gave(const std::string& id, const std::string& more = "") {
  return R"({"role":"tool","content":"ok","tool_call_id":")" + id + "\"" + more + "}";
}

TEST(TurnHistory, CallsWithoutContentHaveAnEmptyOne) {
  for (const char* content : {"", R"(,"content":null)", R"(,"content":"")"}) {
    const json::array messages =
        fitted("[" + sent_calls(sent_call("c1", R"("{\"a\": 1}")"), content) + "," +
               tool_gave("c1") + "]");
    EXPECT_EQ(json::serialize(messages),
              R"([{"role":"assistant","content":"","tool_calls":[{"id":"c1","type":"function",)"
              R"("function":{"name":"read","arguments":{"a":1}}}]},)"
              R"({"role":"tool","content":"ok","tool_call_id":"c1","name":"read"}])");
  }
}

TEST(TurnHistory, ArgumentsAreWhatTheTemplateWants) {
  auto arguments = [](const std::string& sent, bool text) {
    const json::array messages =
        fitted("[" + sent_calls(sent_call("c", sent)) + "]", {.arguments_as_text = text});
    return json::serialize(messages[0].at("tool_calls").at(0).at("function").at("arguments"));
  };
  EXPECT_EQ(arguments(R"("{\"b\": 1, \"a\": [2]}")", false), R"({"b":1,"a":[2]})");
  EXPECT_EQ(arguments(R"("{\"b\": 1}")", true), R"("{\"b\": 1}")");
  EXPECT_EQ(arguments(R"({"b":1})", false), R"({"b":1})");
  EXPECT_EQ(arguments(R"({"b":1})", true), R"("{\"b\":1}")");
  EXPECT_EQ(arguments(R"("")", false), "{}");
  EXPECT_EQ(arguments(R"("")", true), R"("{}")");
}

TEST(TurnHistory, ArgumentsThatAreNone) {
  const std::string at = "messages[0].tool_calls[0].function.arguments";
  EXPECT_EQ(history_error("[" + sent_calls(sent_call("c", R"("[1]")")) + "]"),
            "invalid_value: " + at + " is JSON of an array; it must be JSON of an object");
  EXPECT_EQ(history_error("[" + sent_calls(sent_call("c", R"("{\"a\":")")) + "]")
                .find("invalid_value: " + at + " cannot be read: "),
            0u);
  EXPECT_EQ(
      history_error("[" + sent_calls(sent_call("c", "3")) + "]"),
      "invalid_type: " + at + " is a number; it must be a string, the JSON text of an object");
}

TEST(TurnHistory, CallsThatAreNone) {
  const std::string at = "messages[0].tool_calls";
  EXPECT_EQ(history_error(R"([{"role":"assistant","tool_calls":{}}])"),
            "invalid_type: " + at + " is an object; it must be an array");
  EXPECT_EQ(history_error("[" + sent_calls("7") + "]"),
            "invalid_type: " + at + "[0] is a number; it must be an object");
  EXPECT_EQ(history_error("[" + sent_calls("{}") + "]"),
            "missing_required_parameter: " + at + "[0].id is missing");
  EXPECT_EQ(history_error("[" + sent_calls(R"({"id":"x"})") + "]"),
            "missing_required_parameter: " + at + "[0].function is missing");
  EXPECT_EQ(history_error("[" + sent_calls(R"({"id":"x","function":{"name":"a"}})") + "]"),
            "missing_required_parameter: " + at + "[0].function.arguments is missing");
  EXPECT_EQ(history_error("[" + sent_calls(R"({"id":"x","type":"custom"})") + "]")
                .find("unsupported_parameter: " + at + "[0].type "),
            0u);
  EXPECT_EQ(history_error(R"([{"role":"user","content":"x","tool_calls":[)" + sent_call("c", "{}") +
                          "]}]"),
            "invalid_value: " + at + " is allowed only in messages of the assistant; leave it out");
  EXPECT_EQ(history_error(R"([{"role":"assistant"}])"),
            "missing_required_parameter: messages[0].content is missing");
  EXPECT_EQ(history_error(R"([{"role":"assistant","content":null,"tool_calls":[]}])"),
            "missing_required_parameter: messages[0].content is missing");
  EXPECT_EQ(history_error(R"([{"role":"tool","content":"x"}])"),
            "missing_required_parameter: messages[0].tool_call_id is missing");
  EXPECT_EQ(history_error(R"([{"role":"function","name":"f","content":"x"}])"),
            "unsupported_parameter: messages[0].role asks for something that this server does not "
            "support; send a tool's result with the role tool");
  EXPECT_EQ(history_error(R"([{"role":"assistant","content":"x","function_call":{"name":"f"}}])")
                .find("unsupported_parameter: messages[0].function_call "),
            0u);
}

TEST(TurnHistory, IdsGetTheLengthThatTheTemplateTakes) {
  const json::array messages = fitted(
      "[" + sent_calls(sent_call("call_abc", "{}") + "," + sent_call("abcDEF123", "{}", "write")) +
          "," + tool_gave("abcDEF123") + "," + tool_gave("call_abc", R"(,"name":"mine")") + "," +
          tool_gave("other") + "]",
      {.id_length = 9});
  const std::string mapped = short_id("call_abc", 9);
  EXPECT_TRUE(is_call_id(mapped, 9)) << mapped;
  EXPECT_EQ(messages[0].at("tool_calls").at(0).at("id").as_string(), mapped);
  EXPECT_EQ(messages[0].at("tool_calls").at(1).at("id").as_string(), "abcDEF123");
  EXPECT_EQ(messages[1].at("tool_call_id").as_string(), "abcDEF123");
  EXPECT_EQ(messages[1].at("name").as_string(), "write");
  EXPECT_EQ(messages[2].at("tool_call_id").as_string(), mapped);
  EXPECT_EQ(messages[2].at("name").as_string(), "mine");
  EXPECT_EQ(messages[3].at("tool_call_id").as_string(), short_id("other", 9));
  EXPECT_FALSE(messages[3].as_object().contains("name"));
  EXPECT_NE(short_id("a", 9), short_id("b", 9));
  EXPECT_FALSE(is_call_id("abc-ef123", 9));
}

TEST(TurnHistory, IdsThatHoldTheNameAreNumberedThroughTheConversation) {
  const json::array messages = fitted(
      "[" + sent_calls(sent_call("functions.read:0", "{}") + "," + sent_call("call_x", "{}")) +
          "," + tool_gave("call_x") + "," + sent_calls(sent_call("functions.read:x", "{}")) + "]",
      {}, CallFormat{.id_place = IdPlace::kAroundName, .id_begin = "functions."});
  EXPECT_EQ(messages[0].at("tool_calls").at(0).at("id").as_string(), "functions.read:0");
  EXPECT_EQ(messages[0].at("tool_calls").at(1).at("id").as_string(), "functions.read:1");
  EXPECT_EQ(messages[1].at("tool_call_id").as_string(), "functions.read:1");
  EXPECT_EQ(messages[2].at("tool_calls").at(0).at("id").as_string(), "functions.read:2");
}

TEST(TurnHistory, ReasoningGoesWhereTheTemplateReadsIt) {
  auto message = [](const char* member, const std::string& key) {
    return json::serialize(
        fitted(std::string(R"([{"role":"assistant","content":"x",)") + member + "}]",
               {.reasoning_key = key})[0]);
  };
  const std::string usual = R"({"role":"assistant","content":"x","reasoning_content":"hm"})";
  EXPECT_EQ(message(R"("reasoning_content":"hm")", "reasoning_content"), usual);
  EXPECT_EQ(message(R"("reasoning":"hm")", "reasoning_content"), usual);
  EXPECT_EQ(message(R"("reasoning":"no","reasoning_content":"hm")", "reasoning_content"), usual);
  EXPECT_EQ(message(R"("reasoning_content":"hm")", "thinking"),
            R"({"role":"assistant","content":"x","thinking":"hm"})");
  EXPECT_EQ(message(R"("reasoning_content":"hm")", ""), R"({"role":"assistant","content":"x"})");
  EXPECT_EQ(message(R"("reasoning_content":null,"reasoning":"")", "thinking"),
            R"({"role":"assistant","content":"x"})");
  EXPECT_EQ(message(R"("refusal":null,"annotations":[],"audio":null,"function_call":null)", "r"),
            R"({"role":"assistant","content":"x","annotations":[]})");
  EXPECT_EQ(history_error(R"([{"role":"assistant","content":"x","reasoning":{}}])"),
            "invalid_type: messages[0].reasoning is an object; it must be a string");
}

}  // namespace
}  // namespace hearth
