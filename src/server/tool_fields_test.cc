#include "server/tool_fields.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "base/json_reader.h"
#include "server/completion_request.h"
#include "server/request_error.h"
#include "server/sampling_defaults.h"

namespace hearth {
namespace {

namespace json = boost::json;

struct Offer {
  TurnOrder order;
  json::object kwargs;
};

// Reads the fields tools and tool_choice; an empty text means no such field.
Offer offer(const std::string& tools, const std::string& choice = "") {
  Offer offer;
  if (!tools.empty()) read_tools(read_json(tools), "tools", 3, &offer.order, &offer.kwargs);
  if (!choice.empty()) {
    read_tool_choice(read_json(choice), "tool_choice", &offer.order, &offer.kwargs);
  }
  return offer;
}

std::string offer_error(const std::string& tools, const std::string& choice = "") {
  try {
    offer(tools, choice);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().status, 400u);
    EXPECT_EQ(error.api().message.find(error.api().param.value_or("?")), 0u);
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}

std::string function_tool(const std::string& members) {
  return R"({"type":"function","function":{)" + members + "}}";
}
std::string three_tools() {
  return "[" + function_tool(R"("name":"a")") + "," + function_tool(R"("name":"b")") + "," +
         function_tool(R"("name":"c")") + "]";
}
std::string offered_names(const Offer& offer) {
  std::string names;
  for (const Tool& tool : offer.order.tools) names += tool.name;
  return names;
}

TEST(ToolFields, ReadsFunctions) {
  const Offer all = offer(
      "[" + function_tool(R"("name":"get_weather-2.x:y","description":"d","strict":true,"more":1,
                        "parameters":{"type":"object","properties":{"b":{},"a":{}}})") +
      "," + function_tool(R"("name":"b","description":null,"strict":null,"parameters":null)") +
      "]");
  ASSERT_EQ(all.order.tools.size(), 2u);
  EXPECT_EQ(all.order.choice, ToolChoice::kAuto);
  EXPECT_TRUE(all.order.parallel);
  const Tool& tool = all.order.tools[0];
  EXPECT_EQ(tool.name, "get_weather-2.x:y");
  EXPECT_EQ(tool.parameters, R"({"type":"object","properties":{"b":{},"a":{}}})");
  EXPECT_TRUE(tool.strict);
  EXPECT_EQ(tool.where, "tools[0].function.parameters");
  EXPECT_EQ(all.order.tools[1].parameters, "");
  EXPECT_FALSE(all.order.tools[1].strict);
  EXPECT_EQ(json::serialize(all.kwargs),
            R"({"tools":[{"type":"function","function":{"name":"get_weather-2.x:y",)"
            R"("description":"d","more":1,)"
            R"("parameters":{"type":"object","properties":{"b":{},"a":{}}}}},)"
            R"({"type":"function","function":{"name":"b",)"
            R"("parameters":{"type":"object","properties":{}}}}]})");
  EXPECT_EQ(offer("[]").order.choice, ToolChoice::kNone);
  EXPECT_TRUE(offer("[]").kwargs.empty());
}

TEST(ToolFields, RefusesByPath) {
  EXPECT_EQ(offer_error("{}"), "invalid_type: tools is an object; it must be an array");
  EXPECT_EQ(offer_error("[7]"), "invalid_type: tools[0] is a number; it must be an object");
  EXPECT_EQ(offer_error("[{}]"), "missing_required_parameter: tools[0].type is missing");
  EXPECT_EQ(offer_error(R"([{"type":"custom","custom":{"name":"x"}}])"),
            "unsupported_parameter: tools[0].type asks for something that this server does not "
            "support; give tools of the type function");
  EXPECT_EQ(offer_error(R"([{"type":"function"}])"),
            "missing_required_parameter: tools[0].function is missing");
  EXPECT_EQ(offer_error("[" + function_tool("") + "]"),
            "missing_required_parameter: tools[0].function.name is missing");
  EXPECT_EQ(offer_error("[" + function_tool(R"("name":"a b")") + "]"),
            "invalid_value: tools[0].function.name is 'a b'; it must have 1 to 128 letters, "
            "digits, and any of _ . : -");
  for (const std::string& name : {std::string(), std::string(129, 'a'), std::string("é")}) {
    EXPECT_EQ(offer_error("[" + function_tool("\"name\":\"" + name + "\"") + "]")
                  .find("invalid_value: tools"),
              0u)
        << name;
  }
  EXPECT_EQ(offer_error("[" + function_tool("\"name\":\"" + std::string(128, 'a') + "\"") + "]"),
            "none");
  EXPECT_EQ(
      offer_error("[" + function_tool(R"("name":"a")") + "," + function_tool(R"("name":"a")") +
                  "]"),
      "invalid_value: tools[1].function.name is 'a', the name of another tool; give each its own");
  EXPECT_EQ(offer_error("[" + function_tool(R"("name":"a","parameters":[])") + "]"),
            "invalid_type: tools[0].function.parameters is an array; it must be an object");
  EXPECT_EQ(offer_error("[" + function_tool(R"("name":"a","strict":"yes")") + "]"),
            "invalid_type: tools[0].function.strict is a string; it must be true or false");
  EXPECT_EQ(offer_error("[" + function_tool(R"("name":"a","description":3)") + "]"),
            "invalid_type: tools[0].function.description is a number; it must be a string");
  EXPECT_EQ(offer_error("[{},{},{},{}]"),
            "invalid_value: tools has 4 entries; it may have at most 3");
}

TEST(ToolFields, ChoosesByWord) {
  EXPECT_EQ(offer(three_tools(), "\"auto\"").order.choice, ToolChoice::kAuto);
  EXPECT_EQ(offer(three_tools(), "\"required\"").order.choice, ToolChoice::kRequired);
  const Offer none = offer(three_tools(), "\"none\"");
  EXPECT_EQ(none.order.choice, ToolChoice::kNone);
  EXPECT_TRUE(none.order.tools.empty());
  EXPECT_TRUE(none.kwargs.empty()) << "the template sees no tools";
  EXPECT_EQ(offer_error("", "\"none\""), "none");
  EXPECT_EQ(offer_error("", "\"auto\""), "none");
  EXPECT_EQ(offer_error("", "\"required\""),
            "invalid_value: tool_choice works only with tools; give some or leave it out");
  EXPECT_EQ(offer_error(three_tools(), "\"some\""),
            "invalid_value: tool_choice is 'some'; it must be none, auto, required or an object");
  EXPECT_EQ(offer_error(three_tools(), "true"),
            "invalid_type: tool_choice is a boolean; it must be a string or an object");
}

TEST(ToolFields, ChoosesByName) {
  for (const char* choice :
       {R"({"type":"function","function":{"name":"b"}})", R"({"type":"function","name":"b"})"}) {
    const Offer one = offer(three_tools(), choice);
    EXPECT_EQ(offered_names(one), "b");
    EXPECT_EQ(one.order.choice, ToolChoice::kRequired);
    EXPECT_EQ(one.kwargs.at("tools").as_array().size(), 3u) << "the template sees all";
  }
  EXPECT_EQ(
      offer_error(three_tools(), R"({"type":"function","function":{"name":"x"}})"),
      "invalid_value: tool_choice.function.name is 'x', which is not the name of one of tools");
  EXPECT_EQ(offer_error(three_tools(), R"({"type":"function","name":"x"})"),
            "invalid_value: tool_choice.name is 'x', which is not the name of one of tools");
  EXPECT_EQ(offer_error(three_tools(), R"({"type":"function"})"),
            "missing_required_parameter: tool_choice.function is missing");
  EXPECT_EQ(offer_error(three_tools(), R"({"type":"function","function":{}})"),
            "missing_required_parameter: tool_choice.function.name is missing");
  EXPECT_EQ(offer_error(three_tools(), "{}"),
            "missing_required_parameter: tool_choice.type is missing");
  EXPECT_EQ(offer_error(three_tools(), R"({"type":"custom","custom":{"name":"a"}})").substr(0, 41),
            "unsupported_parameter: tool_choice.type a");
  EXPECT_EQ(offer_error("", R"({"type":"function","name":"x"})").substr(0, 48),
            "invalid_value: tool_choice works only with tools");
}

TEST(ToolFields, ChoosesSome) {
  auto allowed = [](const std::string& inner) {
    return R"({"type":"allowed_tools","allowed_tools":)" + inner + "}";
  };
  const Offer two = offer(three_tools(), allowed(R"({"mode":"auto","tools":[
      {"type":"function","function":{"name":"c"}},{"type":"function","name":"a"}]})"));
  EXPECT_EQ(offered_names(two), "ac");
  EXPECT_EQ(two.order.choice, ToolChoice::kAuto);
  EXPECT_EQ(two.kwargs.at("tools").as_array().size(), 3u);
  EXPECT_EQ(offer(three_tools(),
                  allowed(R"({"mode":"required","tools":[{"type":"function","name":"a"}]})"))
                .order.choice,
            ToolChoice::kRequired);
  const std::string at = "tool_choice.allowed_tools";
  EXPECT_EQ(offer_error(three_tools(), R"({"type":"allowed_tools"})"),
            "missing_required_parameter: " + at + " is missing");
  EXPECT_EQ(offer_error(three_tools(), allowed(R"({"tools":[]})")),
            "missing_required_parameter: " + at + ".mode is missing");
  EXPECT_EQ(offer_error(three_tools(), allowed(R"({"mode":"any","tools":[]})")),
            "invalid_value: " + at + ".mode is 'any'; it must be auto or required");
  EXPECT_EQ(offer_error(three_tools(), allowed(R"({"mode":"auto","tools":[]})")),
            "invalid_value: " + at + ".tools has 0 entries; it must have at least 1");
  EXPECT_EQ(
      offer_error(three_tools(), allowed(R"({"mode":"auto","tools":[{"type":"mcp","name":"a"}]})"))
          .find("unsupported_parameter: " + at + ".tools[0].type "),
      0u);
  EXPECT_EQ(
      offer_error(three_tools(),
                  allowed(R"({"mode":"auto","tools":[{"type":"function","name":"x"}]})")),
      "invalid_value: " + at + ".tools[0].name is 'x', which is not the name of one of tools");
}

TEST(ToolFields, EffortBecomesVariables) {
  auto variables = [](const char* effort, json::object kwargs = {}) {
    read_reasoning_effort(json::value(effort), "reasoning_effort", &kwargs);
    return json::serialize(kwargs);
  };
  EXPECT_EQ(variables("high"),
            R"({"reasoning_effort":"high","enable_thinking":true,"thinking":true})");
  EXPECT_EQ(variables("none"),
            R"({"reasoning_effort":"none","enable_thinking":false,"thinking":false})");
  EXPECT_EQ(variables("low", {{"enable_thinking", false}}),
            R"({"enable_thinking":false,"reasoning_effort":"low","thinking":true})");
  json::object kwargs;
  EXPECT_THROW(read_reasoning_effort(json::value("max"), "reasoning_effort", &kwargs),
               RequestError);
  EXPECT_THROW(read_reasoning_effort(json::value(3), "reasoning_effort", &kwargs), RequestError);
}

CompletionCall chat_with(const std::string& fields) {
  return read_chat_call(R"({"messages":[{"role":"user","content":"Hi"}])" + fields + "}",
                        openai_sampling(), {}, 1000);
}
std::string chat_refusal(const std::string& fields) {
  try {
    chat_with(fields);
  } catch (const RequestError& error) {
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}

constexpr const char* kTwoTools =
    R"(,"tools":[{"type":"function","function":{"name":"f"}},
                 {"type":"function","function":{"name":"g"}}])";

TEST(ToolFields, AreForTheTurnAndForTheTemplate) {
  CompletionCall call = chat_with(kTwoTools);
  EXPECT_EQ(call.turn.tools.size(), 2u);
  EXPECT_EQ(call.turn.choice, ToolChoice::kAuto);
  EXPECT_TRUE(call.turn.parallel && call.include_reasoning);
  EXPECT_EQ(call.template_kwargs.at("tools").as_array().size(), 2u);
  call = chat_with(std::string(kTwoTools) + R"(,"tool_choice":{"type":"function","name":"g"},
      "parallel_tool_calls":false,"include_reasoning":false,"reasoning_effort":"none",
      "chat_template_kwargs":{"tools":7,"thinking":true})");
  ASSERT_EQ(call.turn.tools.size(), 1u);
  EXPECT_EQ(call.turn.tools[0].name, "g");
  EXPECT_EQ(call.turn.choice, ToolChoice::kRequired);
  EXPECT_FALSE(call.turn.parallel || call.include_reasoning);
  EXPECT_EQ(call.template_kwargs.at("tools").as_array().size(), 2u);
  EXPECT_EQ(call.template_kwargs.at("thinking"), true);
  EXPECT_EQ(call.template_kwargs.at("enable_thinking"), false);
  call = chat_with(std::string(kTwoTools) + R"(,"tool_choice":"none")");
  EXPECT_EQ(call.turn.choice, ToolChoice::kNone);
  EXPECT_FALSE(call.template_kwargs.contains("tools"));
  EXPECT_FALSE(chat_with("").template_kwargs.contains("enable_thinking"));
  std::string many = R"({"type":"function","function":{"name":"t0"}})";
  for (int i = 1; i < 129; ++i) {
    many += fmt::format(R"(,{{"type":"function","function":{{"name":"t{}"}}}})", i);
  }
  EXPECT_EQ(chat_refusal(",\"tools\":[" + many + "]"),
            "invalid_value: tools has 129 entries; it may have at most 128");
  EXPECT_EQ(chat_refusal(R"(,"parallel_tool_calls":1)"),
            "invalid_type: parallel_tool_calls is a number; it must be true or false");
  EXPECT_EQ(chat_refusal(R"(,"include_reasoning":"no")"),
            "invalid_type: include_reasoning is a string; it must be true or false");
  EXPECT_EQ(chat_refusal(R"(,"reasoning_effort":"max")"),
            "invalid_value: reasoning_effort is 'max'; it must be none, minimal, low, medium, high "
            "or xhigh");
  EXPECT_EQ(chat_refusal(R"(,"functions":[{}])"),
            "unsupported_parameter: functions asks for something that this server does not "
            "support; use tools");
}

}  // namespace
}  // namespace hearth
