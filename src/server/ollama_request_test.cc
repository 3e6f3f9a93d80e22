#include "server/ollama_request.h"

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

std::string head_of(OllamaRoute route) {
  return route == OllamaRoute::kChat ? R"({"messages":[{"role":"user","content":"Hi"}])"
                                     : R"({"prompt":"Hi")";
}

// Returns the made body without its prompt or messages.
std::string made_of(OllamaRoute route, const std::string& fields) {
  OllamaBody made = read_ollama_body(head_of(route) + fields + "}", route, {});
  made.made.erase(made.chat ? "messages" : "prompt");
  return json::serialize(made.made);
}
std::string of_chat(const std::string& fields) { return made_of(OllamaRoute::kChat, fields); }
std::string of_text(const std::string& fields) { return made_of(OllamaRoute::kGenerate, fields); }

std::string messages_of(const std::string& body, OllamaRoute route = OllamaRoute::kChat) {
  return json::serialize(read_ollama_body(body, route, {}).made.at("messages"));
}

CompletionCall call_of(const std::string& body, OllamaRoute route) {
  return read_ollama_call(read_ollama_body(body, route, {}), openai_sampling(), {}, 1000);
}

std::string problem_of(const std::string& body, OllamaRoute route = OllamaRoute::kChat) {
  try {
    call_of(body, route);
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().message.find(error.api().param.value_or("")), 0u) << error.what();
    return error.api().message;
  }
  return "none";
}
std::string field_problem(const std::string& fields, OllamaRoute route = OllamaRoute::kChat) {
  return problem_of(head_of(route) + "," + fields + "}", route);
}

TEST(OllamaRequest, StreamsByDefault) {
  EXPECT_EQ(of_chat(""), R"({"stream":true})");
  EXPECT_EQ(of_chat(R"(,"stream":false,"model":"m","keep_alive":"5m","unknown":[1])"),
            R"({"stream":false,"model":"m"})");
  EXPECT_EQ(of_text(R"(,"keep_alive":-1,"stream":null)"), R"({"stream":true})");
}

TEST(OllamaRequest, Options) {
  EXPECT_EQ(
      of_chat(R"(,"options":{"num_predict":5,"top_k":3,"seed":7,"stop":["a"],"num_gpu":1,
                "num_thread":4,"penalize_newline":true,"repeat_last_n":-1})"),
      R"({"stream":true,"num_predict":5,"top_k":3,"repeat_last_n":-1,"seed":7,"stop":["a"]})");
  EXPECT_EQ(of_chat(R"(,"options":{"seed":-1,"num_ctx":4096})"), R"({"stream":true})");
  EXPECT_EQ(
      call_of(head_of(OllamaRoute::kChat) + R"(,"options":{"num_ctx":4096}})", OllamaRoute::kChat)
          .context,
      4096u);
  EXPECT_EQ(field_problem(R"("options":{"top_p":2})"),
            "options.top_p is 2; it must lie between 0 and 1");
  EXPECT_EQ(field_problem(R"("options":{"mirostat":2})"),
            "options.mirostat asks for something that this server does not support; leave it out");
  EXPECT_EQ(field_problem(R"("options":{"stop":[""]})"),
            "options.stop[0] is an empty string; leave it out");
  EXPECT_EQ(field_problem(R"("options":{"num_ctx":"4k"})"),
            "options.num_ctx is a string; it must be an integer");
  EXPECT_EQ(field_problem(R"("options":[])"), "options is an array; it must be an object");
}

TEST(OllamaRequest, Formats) {
  EXPECT_EQ(of_chat(R"(,"format":"")"), R"({"stream":true})");
  EXPECT_EQ(of_chat(R"(,"format":"json")"),
            R"({"stream":true,"response_format":{"type":"json_object"}})");
  EXPECT_EQ(of_text(R"(,"format":{"type":"integer"})"),
            R"({"stream":true,"response_format":{"type":"json_schema",)"
            R"("json_schema":{"schema":{"type":"integer"}}}})");
  EXPECT_EQ(
      call_of(head_of(OllamaRoute::kChat) + R"(,"format":{"type":"integer"}})", OllamaRoute::kChat)
          .shape.name,
      "format");
  EXPECT_EQ(field_problem(R"("format":"xml")"), "format is 'xml'; it must be json or a schema");
  EXPECT_EQ(field_problem(R"("format":3)"), "format is a number; it must be json or a schema");
}

TEST(OllamaRequest, Thinking) {
  EXPECT_EQ(of_chat(R"(,"think":false)"),
            R"({"stream":true,"chat_template_kwargs":{"enable_thinking":false,"thinking":false}})");
  EXPECT_EQ(of_chat(R"(,"think":"low")"), R"({"stream":true,"reasoning_effort":"low"})");
  for (const char* on : {"true", "\"high\""}) {
    const std::string body = head_of(OllamaRoute::kChat) + ",\"think\":" + on + "}";
    EXPECT_TRUE(call_of(body, OllamaRoute::kChat).must_reason);
  }
  EXPECT_FALSE(
      call_of(head_of(OllamaRoute::kChat) + R"(,"think":false})", OllamaRoute::kChat).must_reason);
  EXPECT_EQ(field_problem(R"("think":"much")"),
            "think is 'much'; it must be true, false, low, medium or high");
}

TEST(OllamaRequest, RefusesFieldsThatNoModelSupports) {
  EXPECT_EQ(field_problem(R"("images":["aGk="])"),
            "images asks for something that this server does not support; leave it out");
  EXPECT_EQ(field_problem(R"("suffix":"x")", OllamaRoute::kGenerate),
            "suffix asks for something that this server does not support; leave it out");
  EXPECT_EQ(field_problem(R"("context":[1,2])", OllamaRoute::kGenerate),
            "context asks for something that this server does not support; send a chat with all "
            "its messages");
  EXPECT_EQ(field_problem(R"("suffix":"","template":"","context":[],"images":null)",
                          OllamaRoute::kGenerate),
            "none");
  EXPECT_EQ(
      problem_of(R"({"messages":[{"role":"user","content":"x","images":["aGk="]}]})"),
      "messages[0].images asks for something that this server does not support; leave it out");
}

TEST(OllamaRequest, MessagesAreThoseOfAChat) {
  EXPECT_EQ(messages_of(R"({"messages":[{"role":"user","content":"a","images":[]},
                {"role":"assistant","thinking":"b","extra":1},{"role":"system","content":"c"}]})"),
            R"([{"role":"user","content":"a"},)"
            R"({"role":"assistant","content":"","reasoning_content":"b"},)"
            R"({"role":"system","content":"c"}])");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"user","content":"a"},{"content":"b"}]})"),
            "messages[1].role is missing");
  EXPECT_EQ(problem_of(R"({"messages":[3]})"), "messages[0] is a number; it must be an object");
  EXPECT_EQ(problem_of(R"({"messages":{}})"), "messages is an object; it must be an array");
}

TEST(OllamaRequest, FollowsTheServersLimitOfMessages) {
  std::string many = R"({"messages":[{"role":"user"})";
  for (int i = 1; i < 70'000; ++i) many += R"(,{"role":"user"})";
  many += "]}";
  RequestLimits limits;
  limits.messages = 70'000;
  const OllamaBody made = read_ollama_body(many, OllamaRoute::kChat, limits);
  EXPECT_EQ(made.made.at("messages").get_array().size(), 70'000u);
  limits.messages = 69'999;
  EXPECT_THROW(read_ollama_body(many, OllamaRoute::kChat, limits), RequestError);
}

TEST(OllamaRequest, CallsGetIdsAndAnswersFindThem) {
  constexpr const char* kCalls = R"({"messages":[{"role":"user","content":"a"},
      {"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},
          {"function":{"name":"g","arguments":{}}},
          {"id":"own","function":{"name":"f","arguments":{}}}]},
      {"role":"tool","tool_name":"g","content":"1"},{"role":"tool","content":"2"},
      {"role":"tool","tool_call_id":"own","content":"3"},{"role":"tool","content":"4"}]})";
  const json::value made = read_json(messages_of(kCalls));
  EXPECT_EQ(made.at_pointer("/1/tool_calls/0/id"), "call_0");
  EXPECT_EQ(made.at_pointer("/1/tool_calls/1/id"), "call_1");
  EXPECT_EQ(made.at_pointer("/1/tool_calls/2/id"), "own");
  EXPECT_EQ(made.at_pointer("/2/tool_call_id"), "call_1");
  EXPECT_EQ(made.at_pointer("/2/name"), "g");
  EXPECT_EQ(made.at_pointer("/3/tool_call_id"), "call_0");
  EXPECT_EQ(made.at_pointer("/4/tool_call_id"), "own");
  EXPECT_EQ(made.at_pointer("/5/tool_call_id"), "call_3");
  EXPECT_EQ(problem_of(kCalls), "none");
  std::string many = "{}";
  for (int i = 0; i < 1024; ++i) many += ",{}";
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"assistant","tool_calls":[)" + many + "]}]}"),
            "messages[0].tool_calls brings the calls without an answer from a tool to more than "
            "1024: send the tools' results");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"assistant","tool_calls":[{"function":{}}]}]})"),
            "messages[0].tool_calls[0].function.name is missing");
  EXPECT_EQ(problem_of(R"({"messages":[{"role":"assistant","tool_calls":[{"id":3}]}]})"),
            "messages[0].tool_calls[0].id is a number; it must be a string");
}

TEST(OllamaRequest, APromptIsAMessageUnlessRaw) {
  EXPECT_EQ(messages_of(R"({"prompt":"a","system":"b"})", OllamaRoute::kGenerate),
            R"([{"role":"system","content":"b"},{"role":"user","content":"a"}])");
  const CompletionCall raw = call_of(R"({"prompt":"a","raw":true})", OllamaRoute::kGenerate);
  EXPECT_FALSE(raw.chat);
  EXPECT_EQ(raw.prompts, std::vector<Prompt>{Prompt{"a"}});
  EXPECT_TRUE(raw.to_context);
  EXPECT_EQ(of_text(R"(,"raw":true,"logprobs":true,"top_logprobs":3,"think":false)"),
            R"({"stream":true,"logprobs":3,"num_predict":-1,"top_logprobs":3})");
  EXPECT_EQ(field_problem(R"("raw":true,"system":"x")", OllamaRoute::kGenerate),
            "system cannot be combined with raw; leave one of them out");
  EXPECT_EQ(field_problem(R"("raw":true,"think":true)", OllamaRoute::kGenerate),
            "think does not work with raw prompts; leave it out");
  EXPECT_EQ(problem_of(R"({"prompt":["a"]})", OllamaRoute::kGenerate),
            "prompt is an array; it must be a string");
}

TEST(OllamaRequest, NothingMayBeAsked) {
  for (const char* body : {R"({"model":"m"})", R"({"model":"m","messages":[]})"}) {
    const CompletionCall call = call_of(body, OllamaRoute::kChat);
    EXPECT_FALSE(call.generates);
    EXPECT_TRUE(call.prompts.empty() && call.messages.empty() && call.stream);
    EXPECT_EQ(call.model, "m");
  }
  for (const char* body : {R"({"stream":false})", R"({"prompt":"","raw":true,"stream":false})"}) {
    EXPECT_FALSE(call_of(body, OllamaRoute::kGenerate).generates);
    EXPECT_FALSE(call_of(body, OllamaRoute::kGenerate).stream);
  }
}

TEST(OllamaRequest, NamesOfErrors) {
  auto name = [](std::string_view text, OllamaRoute route, bool system) {
    return OllamaNames{route, system}.translated(text);
  };
  const OllamaRoute chat = OllamaRoute::kChat, text = OllamaRoute::kGenerate;
  EXPECT_EQ(name("messages is empty", chat, false), "messages is empty");
  EXPECT_EQ(name("messages is empty", text, false), "prompt is empty");
  EXPECT_EQ(name("messages[0].content is long", text, true), "system is long");
  EXPECT_EQ(name("messages[1].content is long", text, true), "prompt is long");
  EXPECT_EQ(name("response_format.json_schema.schema.type is", chat, false), "format.type is");
  EXPECT_EQ(name("reasoning_effort cannot", chat, false), "think cannot");
  EXPECT_EQ(name("num_ctx is 9", chat, false), "options.num_ctx is 9");
  EXPECT_EQ(name("stopping is", chat, false), "stopping is");
}

std::set<std::string, std::less<>> described_by(const json::value& document, const char* schema) {
  std::set<std::string, std::less<>> names;
  const json::value& found = document.at("components").at("schemas").at(schema);
  for (const auto& member : found.at("properties").as_object()) names.emplace(member.key());
  return names;
}

TEST(OllamaRequest, OpenApiDescribesExactlyTheFieldsThatAreRead) {
  const json::value document = read_json(openapi_json());
  auto read = [](const std::vector<std::string_view>& names) {
    return std::set<std::string, std::less<>>(names.begin(), names.end());
  };
  EXPECT_EQ(described_by(document, "OllamaChatRequest"),
            read(ollama_field_names(OllamaRoute::kChat)));
  EXPECT_EQ(described_by(document, "OllamaGenerateRequest"),
            read(ollama_field_names(OllamaRoute::kGenerate)));
  EXPECT_EQ(described_by(document, "OllamaOptions"), read(ollama_option_names()));
}

constexpr const char* kOllamaFields[] = {
    R"("model":"x")",
    R"("model":3)",
    R"("stream":false)",
    R"("stream":"no")",
    R"("format":"json")",
    R"("format":"yaml")",
    R"("format":{"type":"object"})",
    R"("format":[])",
    R"("options":null)",
    R"("options":{})",
    R"("options":[])",
    R"("options":{"num_ctx":0,"num_predict":-1,"num_gpu":99})",
    R"("options":{"num_ctx":-1})",
    R"("options":{"num_predict":0})",
    R"("options":{"num_predict":-3})",
    R"("options":{"temperature":0.5,"top_k":40,"top_p":0.9,"min_p":0.1})",
    R"("options":{"temperature":3})",
    R"("options":{"top_k":-2})",
    R"("options":{"repeat_penalty":1.1,"repeat_last_n":64})",
    R"("options":{"repeat_penalty":0})",
    R"("options":{"seed":-1})",
    R"("options":{"seed":1.5})",
    R"("options":{"stop":"x"})",
    R"("options":{"stop":[""]})",
    R"("options":{"presence_penalty":1,"frequency_penalty":-1})",
    R"("options":{"presence_penalty":3})",
    R"("options":{"mirostat":0,"typical_p":1,"tfs_z":1})",
    R"("options":{"mirostat":1})",
    R"("options":{"typical_p":0.5})",
    R"("think":true)",
    R"("think":"medium")",
    R"("think":"a lot")",
    R"("think":1)",
    R"("logprobs":true)",
    R"("logprobs":true,"top_logprobs":3)",
    R"("logprobs":true,"top_logprobs":21)",
    R"("logprobs":1)",
    R"("keep_alive":0)",
    R"("keep_alive":"5m")",
    R"("suffix":"")",
    R"("suffix":"x")",
    R"("template":"{{ .Prompt }}")",
    R"("context":[])",
    R"("context":[1])",
    R"("images":["x"])"};

constexpr const char* kOllamaChatFields[] = {
    R"("tools":[])",
    R"("tools":[{}])",
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])",
    R"("tools":{})",
    R"("tool_choice":"auto")",
    R"("tool_choice":"some")",
    R"("messages":null)",
    R"("messages":[])",
    R"("messages":{})",
    R"("messages":[{"role":"user"}])",
    R"("messages":[{"content":"x"}])",
    R"("messages":[{"role":"robot","content":"x"}])",
    R"("messages":[{"role":"user","content":3}])",
    R"("messages":[{"role":"user","content":"x","images":[]}])",
    R"("messages":[{"role":"user","content":"x","images":["y"]}])",
    R"("messages":[{"role":"assistant","content":"x","thinking":"y"}])",
    R"("messages":[{"role":"assistant","content":"x","thinking":3}])",
    R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]}])",
    R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f"}}]}])",
    R"("messages":[{"role":"assistant","tool_calls":[{}]}])",
    R"("messages":[{"role":"assistant","tool_calls":{}}])",
    R"("messages":[{"role":"tool","content":"x","tool_name":"f"}])",
    R"("messages":[{"role":"tool","content":"x","tool_name":3}])",
    R"("messages":[{"role":"tool","content":"x","tool_call_id":3}])"};

constexpr const char* kOllamaTextFields[] = {
    R"("raw":true)",    R"("raw":"yes")", R"("system":"x")", R"("system":[])",
    R"("prompt":null)", R"("prompt":"")", R"("prompt":[])"};

// The reader accepts what the request's schema allows and refuses what it forbids.
void expect_ollama_agreement(std::span<const char* const> fields, OllamaRoute route) {
  const json::value document = read_json(openapi_json());
  const char* schema = route == OllamaRoute::kChat ? "OllamaChatRequest" : "OllamaGenerateRequest";
  for (const char* field : fields) {
    const std::string body = head_of(route) + "," + field + "}";
    const bool good = schema_error(document, schema, read_json(body)).empty();
    EXPECT_EQ(good, problem_of(body, route) == "none") << field << problem_of(body, route);
  }
}

TEST(OllamaRequest, TheSchemasAndTheReaderAgree) {
  expect_ollama_agreement(kOllamaFields, OllamaRoute::kChat);
  expect_ollama_agreement(kOllamaFields, OllamaRoute::kGenerate);
  expect_ollama_agreement(kOllamaChatFields, OllamaRoute::kChat);
  expect_ollama_agreement(kOllamaTextFields, OllamaRoute::kGenerate);
}

}  // namespace
}  // namespace hearth
