#include "server/messages_request.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <set>
#include <string>

#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/sampling_defaults.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr const char* kMessagesHead =
    R"("max_tokens":9,"messages":[{"role":"user","content":"Hi"}])";

MessagesBody messages_body(const std::string& fields) {
  return read_messages_body(std::string("{") + kMessagesHead + fields + "}", {},
                            MessagesWish::kAnswer);
}

// Returns the made chat's body without its messages.
std::string chat_fields(const std::string& fields) {
  const MessagesBody body = messages_body(fields);
  json::object left;
  for (const auto& member : body.chat) {
    if (member.key() != "messages" && member.key() != "max_tokens") left.insert(member);
  }
  return json::serialize(left);
}

std::string error_of(const std::string& text, MessagesWish wish = MessagesWish::kAnswer) {
  try {
    read_messages_call(read_messages_body(text, {}, wish), openai_sampling(), {}, 1000);
  } catch (const RequestError& error) {
    const ApiError& told = error.api();
    EXPECT_EQ(told.message.find(told.param.value_or("")), 0u) << told.message;
    return told.code + ": " + told.message;
  }
  return "none";
}
std::string error_of_fields(const std::string& fields) {
  return error_of(std::string("{") + kMessagesHead + "," + fields + "}");
}

TEST(MessagesRequest, Fields) {
  EXPECT_EQ(chat_fields(""), "{}");
  EXPECT_EQ(chat_fields(R"(,"model":"m","temperature":0.5,"top_p":1,"top_k":3,"stream":true,
      "stop_sequences":["a","b"])"),
            R"({"model":"m","temperature":5E-1,"top_p":1,"top_k":3,"stream":true,)"
            R"("stop":["a","b"]})");
  EXPECT_EQ(json::serialize(messages_body("").chat),
            R"({"max_tokens":9,"messages":[{"role":"user","content":"Hi"}]})");
  EXPECT_EQ(
      chat_fields(R"(,"metadata":{"user_id":"x"},"context_management":{"edits":[]},"betas":["x"],
      "container":"c","mcp_servers":[{}],"service_tier":"auto","inference_geo":"eu",
      "stream":null)"),
      "{}");
}

TEST(MessagesRequest, Thinking) {
  EXPECT_EQ(chat_fields(R"(,"thinking":{"type":"enabled","budget_tokens":1024})"),
            R"({"chat_template_kwargs":{"enable_thinking":true,"thinking":true}})");
  EXPECT_EQ(chat_fields(R"(,"thinking":{"type":"disabled"})"),
            R"({"chat_template_kwargs":{"enable_thinking":false,"thinking":false}})");
  EXPECT_EQ(chat_fields(R"(,"thinking":{"type":"adaptive","display":"omitted"})"), "{}");
  EXPECT_EQ(chat_fields(R"(,"output_config":{"effort":"low"})"), R"({"reasoning_effort":"low"})");
  for (const char* effort : {"high", "xhigh", "max"}) {
    EXPECT_EQ(chat_fields(R"(,"output_config":{"effort":")" + std::string(effort) + "\"}"),
              R"({"reasoning_effort":"high"})");
  }
}

TEST(MessagesRequest, TheShapeOfTheText) {
  const std::string shape =
      R"({"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"object"}}}})";
  const std::string format = R"({"type":"json_schema","schema":{"type":"object"}})";
  EXPECT_EQ(chat_fields(",\"output_config\":{\"format\":" + format + "}"), shape);
  EXPECT_EQ(chat_fields(",\"output_format\":" + format), shape);
  EXPECT_EQ(messages_body(",\"output_format\":" + format).names.schema, "output_format.schema");
  EXPECT_EQ(error_of_fields(R"("output_format":)" + format + R"(,"output_config":{"format":)" +
                            format + "}"),
            "invalid_value: output_format cannot be combined with output_config.format.schema; "
            "leave one of them out");
}

TEST(MessagesRequest, Tools) {
  const MessagesBody body = messages_body(R"(,"tools":[
      {"type":"web_search_20250305","name":"web_search"},
      {"name":"Read","input_schema":{"type":"object"},"description":"Reads.","strict":true,
       "cache_control":{"type":"ephemeral"},"defer_loading":true,"eager_input_streaming":true},
      {"type":"bash_20250124","name":"bash"},
      {"type":"custom","description":null,"name":"List"}])");
  EXPECT_EQ(json::serialize(body.chat.at("tools")),
            R"([{"type":"function","function":{"name":"Read","description":"Reads.",)"
            R"("parameters":{"type":"object"},"strict":true}},)"
            R"({"type":"function","function":{"name":"List"}}])");
  EXPECT_EQ(body.ignored,
            (std::vector<std::string>{"tools[0]: web_search_20250305", "tools[2]: bash_20250124"}));
  EXPECT_EQ(body.names.translated("tools[0].function.parameters.properties.a: no"),
            "tools[1].input_schema.properties.a: no");
  EXPECT_EQ(body.names.translated("tools[1].function.name"), "tools[3].name");
  EXPECT_EQ(body.names.translated("tools[2].function.name"), "tools[2].function.name");
  EXPECT_EQ(body.names.translated("tools[1].input_schema.type is"), "tools[1].input_schema.type is")
      << "was translated already";
  EXPECT_EQ(body.names.translated("tools cannot be called"), "tools cannot be called");
  EXPECT_FALSE(messages_body(R"(,"tools":[{"type":"bash_20250124"}])").chat.contains("tools"));
}

TEST(MessagesRequest, ToolChoice) {
  EXPECT_EQ(chat_fields(R"(,"tool_choice":{"type":"auto"})"), R"({"tool_choice":"auto"})");
  EXPECT_EQ(chat_fields(R"(,"tool_choice":{"type":"none"})"), R"({"tool_choice":"none"})");
  EXPECT_EQ(chat_fields(R"(,"tool_choice":{"type":"any","disable_parallel_tool_use":true})"),
            R"({"tool_choice":"required","parallel_tool_calls":false})");
  EXPECT_EQ(
      chat_fields(R"(,"tool_choice":{"type":"tool","name":"f","disable_parallel_tool_use":false})"),
      R"({"tool_choice":{"type":"function","function":{"name":"f"}},)"
      R"("parallel_tool_calls":true})");
}

TEST(MessagesRequest, AnAnswerThatWasBegunGoesOn) {
  const MessagesBody body = read_messages_body(
      R"({"max_tokens":1,"system":"x","messages":[{"role":"user","content":"a"},
          {"role":"user","content":"b"},{"role":"assistant","content":"c"}]})",
      {}, MessagesWish::kAnswer);
  EXPECT_EQ(body.chat.at("continue_final_message"), true);
  EXPECT_EQ(body.names.translated("continue_final_message needs"), "messages[2].content needs");
  EXPECT_EQ(body.names.translated("messages[0].content is"), "system is");
  EXPECT_EQ(body.names.translated("messages[2].tool_calls[0] is"), "messages[2].content is");
  EXPECT_EQ(body.names.translated("messages has"), "messages has");
}

TEST(MessagesRequest, ErrorsAreInTheClientsTerms) {
  EXPECT_EQ(error_of("{"), error_of("{", MessagesWish::kCount));
  const std::string no_limit = R"({"messages":[{"role":"user","content":"Hi"}]})";
  EXPECT_EQ(error_of(no_limit), "missing_required_parameter: max_tokens is missing");
  EXPECT_EQ(error_of(no_limit, MessagesWish::kCount), "none");
  EXPECT_EQ(error_of(R"({"max_tokens":0,"messages":[{"role":"user","content":"Hi"}]})"),
            "invalid_value: max_tokens is 0; it must lie between 1 and 4294967295");
  EXPECT_EQ(error_of_fields(R"("stop_sequences":["a",""])"),
            "invalid_value: stop_sequences[1] is an empty string; leave it out");
  EXPECT_EQ(error_of_fields(R"("stop_sequences":"a")"),
            "invalid_type: stop_sequences is a string; it must be an array");
  EXPECT_EQ(error_of_fields(R"("tools":[{"type":"bash_1"},{"name":"a b"}])"),
            "invalid_value: tools[1].name is 'a b'; it must have 1 to 128 letters, digits, and any "
            "of _ . : -");
  EXPECT_EQ(error_of_fields(R"("tools":[{"type":"bash_1"},{"name":"a","input_schema":[]}])"),
            "invalid_type: tools[1].input_schema is an array; it must be an object");
  EXPECT_EQ(error_of_fields(R"("tools":[{"name":"a"}],"tool_choice":{"type":"tool","name":"b"})"),
            "invalid_value: tool_choice.name is 'b', which is not the name of one of tools");
  EXPECT_EQ(error_of_fields(R"("tool_choice":{"type":"any"})"),
            "invalid_value: tool_choice works only with tools; give some or leave it out");
  EXPECT_EQ(error_of_fields(R"("thinking":{"type":"on"})"),
            "invalid_value: thinking.type is 'on'; it must be enabled, disabled or adaptive");
  EXPECT_EQ(error_of_fields(R"("output_config":{"effort":"none"})"),
            "invalid_value: output_config.effort is 'none'; it must be low, medium, high, xhigh or "
            "max");
  EXPECT_EQ(error_of_fields(R"("output_format":{"type":"json_object"})"),
            "unsupported_parameter: output_format.type asks for something that this server does "
            "not support; give it json_schema");
}

TEST(MessagesRequest, SchemasAreCalledAsTheClientHasThem) {
  const MessagesBody body = messages_body(
      R"(,"output_config":{"format":{"type":"json_schema","schema":{}}},
          "tools":[{"type":"bash_1"},{"name":"a","input_schema":{}}])");
  const CompletionCall call = read_messages_call(body, openai_sampling(), {}, 1000);
  EXPECT_EQ(call.shape.name, "output_config.format.schema");
  ASSERT_EQ(call.turn.tools.size(), 1u);
  EXPECT_EQ(call.turn.tools[0].where, "tools[1].input_schema");
  ApiError error{400, "", "invalid_schema", "response_format.json_schema.schema.type is odd",
                 "response_format.json_schema.schema"};
  error = body.names.translated(error);
  EXPECT_EQ(error.message, "output_config.format.schema.type is odd");
  EXPECT_EQ(error.param, "output_config.format.schema");
}

TEST(MessagesRequest, CountsOnlyTheClientsOwnDepth) {
  auto nested = [](size_t levels) {
    return R"("tools":[{"name":"f","input_schema":{"a":)" + std::string(levels, '[') +
           std::string(levels, ']') + "}}]";
  };
  constexpr size_t kAround = 4;
  EXPECT_EQ(error_of_fields(nested(RequestLimits().depth - kAround)), "none");
  EXPECT_TRUE(error_of_fields(nested(RequestLimits().depth - kAround + 1))
                  .starts_with("invalid_json: the body cannot be read"));
}

TEST(MessagesRequest, NoThreadIsKept) {
  const std::string wanted =
      "thread_unsupported_request: thread refers to a stored conversation, and this server stores "
      "none; leave it out, and send all messages";
  EXPECT_EQ(error_of_fields(R"("thread":{"type":"create"})"), wanted);
  EXPECT_EQ(error_of_fields(R"("tool_choice":{"type":"any"},"thread":{"type":"continue",
                                 "previous_message_id":"msg_1"})"),
            wanted);
}

TEST(MessagesRequest, OpenApiDescribesExactlyTheFieldsThatAreRead) {
  const json::value document = read_json(openapi_json());
  std::set<std::string, std::less<>> described, read;
  for (const auto& member :
       document.at_pointer("/components/schemas/CountTokensRequest/properties").as_object()) {
    described.emplace(member.key());
  }
  for (std::string_view name : messages_field_names()) read.emplace(name);
  EXPECT_EQ(described, read);
}

constexpr const char* kMessagesFields[] = {
    R"("thread":null)",
    R"("thread":{"type":"create"})",
    R"("max_tokens":0)",
    R"("max_tokens":null)",
    R"("max_tokens":100000)",
    R"("max_tokens":"9")",
    R"("model":3)",
    R"("temperature":1)",
    R"("temperature":2.5)",
    R"("top_p":-1)",
    R"("top_k":40)",
    R"("top_k":"x")",
    R"("stop_sequences":[])",
    R"("stop_sequences":["a"])",
    R"("stop_sequences":[""])",
    R"("stop_sequences":"a")",
    R"("stream":true)",
    R"("stream":1)",
    R"("system":"x")",
    R"("system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}])",
    R"("system":[{"type":"text"}])",
    R"("system":[{"type":"image"}])",
    R"("system":3)",
    R"("thinking":{"type":"enabled","budget_tokens":5})",
    R"("thinking":{"type":"adaptive"})",
    R"("thinking":{"type":"between"})",
    R"("thinking":{})",
    R"("thinking":true)",
    R"("output_config":{"effort":"max"})",
    R"("output_config":{"effort":"none"})",
    R"("output_config":{"effort":null,"format":null})",
    R"("output_config":{"format":{"type":"json_schema","schema":{"type":"object"}}})",
    R"("output_config":{"format":{"type":"json_schema"}})",
    R"("output_config":{"format":{"type":"text"}})",
    R"("output_config":[])",
    R"("output_format":{"type":"json_schema","schema":{}})",
    R"("output_format":{"type":"json_schema","schema":3})",
    R"("tools":[])",
    R"("tools":{})",
    R"("tools":[{}])",
    R"("tools":[{"name":"f"}])",
    R"("tools":[{"name":"f","type":"custom","input_schema":{"type":"object"},"strict":true}])",
    R"("tools":[{"name":"f","input_schema":"{}"}])",
    R"("tools":[{"name":"f g"}])",
    R"("tools":[{"name":"f","strict":1}])",
    R"("tools":[{"name":"bash","type":"bash_20250124"}])",
    R"("tools":[{"mcp_server_name":"f","type":"mcp_toolset"}])",
    R"("tools":[{"type":"custom"}])",
    R"("tools":[{"name":"f","type":3}])",
    R"("tool_choice":{"type":"auto"})",
    R"("tool_choice":{"type":"auto","disable_parallel_tool_use":"no"})",
    R"("tool_choice":{"type":"none"})",
    R"("tool_choice":{"type":"required"})",
    R"("tool_choice":{"type":"tool"})",
    R"("tool_choice":"auto")",
    R"("messages":[])",
    R"("messages":[{"role":"user"}])",
    R"("messages":[{"role":"user","content":null}])",
    R"("messages":[{"role":"user","content":[]}])",
    R"("messages":[{"role":"user","content":[{"type":"image","source":{}}]}])",
    R"("messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1"}]}])",
    R"("messages":[{"role":"user","content":[{"type":"tool_result"}]}])",
    R"("messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[
        {"type":"text","text":"x"},{"type":"tool_reference","tool_name":"x"}]}]}])",
    R"("messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[
        {"type":"image"}]}]}])",
    R"("messages":[{"role":"user","content":[
        {"type":"tool_use","id":"1","name":"f","input":{}}]}])",
    R"("messages":[{"role":"assistant","content":[
        {"type":"thinking","thinking":"x","signature":"y"},{"type":"redacted_thinking","data":"x"},
        {"type":"text","text":"z"},{"type":"tool_use","id":"1","name":"f","input":{}}]}])",
    R"("messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f"}]}])",
    R"("messages":[{"role":"assistant","content":[{"type":"thinking"}]}])",
    R"("messages":[{"role":"system","content":[{"type":"text","text":"x"}]}])",
    R"("messages":[{"role":"system","content":[{"type":"thinking","thinking":"x"}]}])",
    R"("messages":[{"role":"tool","content":"x"}])",
    R"("context_management":{"edits":[]})"};

// The reader accepts what the request's schema allows and refuses what it forbids.
TEST(MessagesRequest, TheSchemaAndTheReaderAgree) {
  const json::value document = read_json(openapi_json());
  for (const char* field : kMessagesFields) {
    const std::string body = std::string("{") + kMessagesHead + "," + field + "}";
    const bool good = schema_error(document, "MessagesRequest", read_json(body)).empty();
    EXPECT_EQ(good, error_of(body) == "none") << field << error_of(body);
  }
}

}  // namespace
}  // namespace hearth
