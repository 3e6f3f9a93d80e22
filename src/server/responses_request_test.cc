#include "server/responses_request.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/sampling_defaults.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

ResponsesBody asked_body(const std::string& members) {
  return read_responses_body("{" + members + "}", {});
}

// Returns a member of the made chat's body, as JSON.
std::string asked_member(const std::string& members, const char* key) {
  const ResponsesBody read = asked_body(members);
  const json::value* member = read.chat.if_contains(key);
  return member != nullptr ? json::serialize(*member) : "none";
}

std::string item_messages(const std::string& input) {
  return asked_member(R"("input":)" + input, "messages");
}

CompletionCall call_of(const ResponsesBody& body) {
  return read_responses_call(body, openai_sampling(), {}, 1000);
}

std::string asked_error(const std::string& members) {
  try {
    call_of(asked_body(members));
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().status, 400u);
    EXPECT_EQ(error.api().message.find(error.api().param.value_or("?")), 0u);
    return error.api().message;
  }
  return "none";
}

std::string items_error(const std::string& input) { return asked_error(R"("input":)" + input); }

TEST(ResponsesRequest, TakesATextOrMessages) {
  EXPECT_EQ(item_messages(R"("Hi")"), R"([{"role":"user","content":"Hi"}])");
  EXPECT_EQ(item_messages(R"([{"role":"user","content":[{"type":"input_text","text":"Hi"}]}])"),
            item_messages(R"("Hi")"));
  EXPECT_EQ(asked_member(R"("instructions":"Be kind.","input":"Hi")", "messages"),
            R"([{"role":"system","content":"Be kind."},{"role":"user","content":"Hi"}])");
  EXPECT_EQ(item_messages(R"([{"role":"user","content":"a"},
          {"type":"message","role":"assistant","id":"msg_1","status":"completed","content":[
            {"type":"output_text","text":"b","annotations":[]},{"type":"refusal","refusal":"c"}]},
          {"type":"message","role":"user","content":"d"}])"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b\nc"},)"
            R"({"role":"user","content":"d"}])");
}

TEST(ResponsesRequest, JoinsWhatMostTemplatesTakeOnce) {
  EXPECT_EQ(asked_member(R"("instructions":"a","input":[
                {"role":"developer","content":"b"},{"role":"system","content":"c"},
                {"role":"user","content":"d"},{"role":"user","content":"e"},
                {"role":"developer","content":"f"}])",
                         "messages"),
            R"([{"role":"system","content":"a\n\nb\n\nc"},)"
            R"({"role":"user","content":"d\n\ne\n\nf"}])");
  EXPECT_EQ(item_messages(R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},
                            {"role":"developer","content":"c"}])"),
            R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
            R"({"role":"user","content":"c"}])");
}

TEST(ResponsesRequest, MakesOneMessageOfATurn) {
  const char* call = R"({"type":"function_call","id":"fc_1","call_id":"call_1","name":"f",
                         "arguments":"{\"a\":1}","status":"completed"})";
  const char* other = R"({"type":"function_call","call_id":"call_2","name":"g","arguments":""})";
  const std::string calls =
      R"("tool_calls":[{"id":"call_1","type":"function","function":{"name":"f",)"
      R"("arguments":"{\"a\":1}"}},{"id":"call_2","type":"function",)"
      R"("function":{"name":"g","arguments":""}}]})";
  const std::string outputs = R"({"role":"tool","content":"one","tool_call_id":"call_1"},)"
                              R"({"role":"tool","content":"two\nthree","tool_call_id":"call_2"}])";
  EXPECT_EQ(item_messages(std::string(R"([{"type":"reasoning","id":"rs_1","summary":[],
          "content":[{"type":"reasoning_text","text":"hm"}],"encrypted_content":null},
          {"role":"assistant","content":"I look."},)") +
                          call + "," + other +
                          R"(,{"type":"function_call_output","call_id":"call_1","output":"one"},
          {"type":"function_call_output","call_id":"call_2","output":[
            {"type":"input_text","text":"two"},{"type":"input_text","text":"three"}]}])"),
            R"([{"role":"assistant","content":"I look.","reasoning_content":"hm",)" + calls + "," +
                outputs);
  // A message after calls begins another turn.
  EXPECT_EQ(item_messages(std::string("[") + call + "," + R"({"role":"assistant","content":"b"}])"),
            R"([{"role":"assistant","content":"","tool_calls":[{"id":"call_1",)"
            R"("type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]},)"
            R"({"role":"assistant","content":"b"}])");
}

// The mark is "hearth1." and "hm" in base64.
TEST(ResponsesRequest, TakesReasoningThatItEncoded) {
  const auto told = [](const std::string& members) {
    return item_messages(R"([{"type":"reasoning",)" + members +
                         R"(},{"role":"assistant","content":"c"}])");
  };
  const std::string thought = R"([{"role":"assistant","content":"c","reasoning_content":"hm"}])";
  EXPECT_EQ(told(R"("encrypted_content":"hearth1.aG0=")"), thought);
  EXPECT_EQ(told(R"("summary":[{"type":"summary_text","text":"brief"}],
                    "encrypted_content":"hearth1.aG0=")"),
            thought);
  EXPECT_EQ(told(R"("content":[{"type":"reasoning_text","text":"hm"}],
                    "encrypted_content":"hearth1.eA==")"),
            thought);
  // These marks are ignored: another server's, another version's, damaged ones, no UTF-8, an empty
  // text, and none.
  for (const char* other : {"gAAAAABo", "hearth2.aG0=", "hearth1.aG0",
                            "hearth1.a?0=", "hearth1./w==", "hearth1.", ""}) {
    const std::string carried = std::string(R"("encrypted_content":")") + other + '"';
    EXPECT_EQ(told(carried), R"([{"role":"assistant","content":"c"}])") << other;
    EXPECT_EQ(told(R"("summary":[{"type":"summary_text","text":"hm"}],)" + carried), thought);
  }
}

TEST(ResponsesRequest, TakesReasoningOrElseItsSummary) {
  EXPECT_EQ(item_messages(R"([{"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[
                {"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}]},
                {"role":"assistant","content":"c"}])"),
            R"([{"role":"assistant","content":"c","reasoning_content":"a\nb"}])");
  EXPECT_EQ(item_messages(R"([{"type":"reasoning","id":"rs_1","encrypted_content":"x","summary":[]},
                            {"role":"assistant","content":"c"}])"),
            R"([{"role":"assistant","content":"c"}])");
}

TEST(ResponsesRequest, TakesFunctionsAndNamesWhatItLeavesOut) {
  const ResponsesBody read = asked_body(R"("tools":[
      {"type":"web_search","external_web_access":false},
      {"type":"function","name":"f","description":"d","parameters":{"type":"object"},
       "strict":false},
      {"type":"namespace","name":"crew","description":"x","tools":[
        {"type":"custom","name":"c"},{"type":"function","name":"g","parameters":{}}]}],
      "input":[{"type":"web_search_call","id":"ws_1","status":"completed"},
        {"role":"user","content":"x"},{"type":"function_call","namespace":"crew","name":"g",
         "call_id":"1","arguments":"{}"}])");
  EXPECT_EQ(json::serialize(read.chat.at("tools")),
            R"([{"type":"function","function":{"name":"f","description":"d",)"
            R"("parameters":{"type":"object"},"strict":false}},)"
            R"({"type":"function","function":{"name":"crew__g","parameters":{}}}])");
  EXPECT_EQ(read.ignored,
            (std::vector<std::string>{"tools[0]: web_search", "tools[2].tools[0]: custom",
                                      "input[0]: web_search_call"}));
  ASSERT_EQ(read.echo.namespaced.count("crew__g"), 1u);
  EXPECT_EQ(read.echo.namespaced.at("crew__g").space, "crew");
  EXPECT_EQ(read.echo.namespaced.at("crew__g").name, "g");
  EXPECT_EQ(read.chat.at("messages").at(1).at("tool_calls").at(0).at("function").at("name"),
            "crew__g");
  const json::array& echo = read.echo.members.at("tools").as_array();
  ASSERT_EQ(echo.size(), 2u);
  EXPECT_EQ(echo[0].at("name"), "f");
  EXPECT_EQ(echo[1].at("name"), "crew");
  EXPECT_EQ(asked_member(R"("input":"x","tools":[{"type":"web_search"}])", "tools"), "none");
}

TEST(ResponsesRequest, TakesAChoiceOfTools) {
  auto choice = [](const std::string& given) {
    return asked_member(R"("input":"x","tool_choice":)" + given, "tool_choice");
  };
  EXPECT_EQ(choice(R"("required")"), R"("required")");
  EXPECT_EQ(choice(R"({"type":"function","name":"f"})"),
            R"({"type":"function","function":{"name":"f"}})");
  EXPECT_EQ(choice(R"({"type":"allowed_tools","mode":"auto","tools":[
                {"type":"web_search"},{"type":"function","name":"f"}]})"),
            R"({"type":"allowed_tools","allowed_tools":{"mode":"auto",)"
            R"("tools":[{"type":"function","function":{"name":"f"}}]}})");
}

TEST(ResponsesRequest, GivesFieldsTheNamesThatAChatHas) {
  const ResponsesBody read = asked_body(R"("input":"x","model":"m","stream":true,
      "max_output_tokens":32,"temperature":0.5,"top_p":0.9,"seed":7,"parallel_tool_calls":false,
      "reasoning":{"effort":"max","summary":"auto"},"text":{"verbosity":"low","format":
        {"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true}},
      "store":true,"include":["reasoning.encrypted_content"],"prompt_cache_key":"k",
      "client_metadata":{"a":"b"},"metadata":{"c":"d"},"previous_response_id":null,"unheard":[])");
  const json::object& chat = read.chat;
  EXPECT_EQ(chat.at("model"), "m");
  EXPECT_EQ(chat.at("stream"), true);
  EXPECT_EQ(chat.at("max_tokens"), 32);
  EXPECT_EQ(chat.at("temperature"), 0.5);
  EXPECT_EQ(chat.at("top_p"), 0.9);
  EXPECT_EQ(chat.at("seed"), 7);
  EXPECT_EQ(chat.at("parallel_tool_calls"), false);
  EXPECT_EQ(chat.at("reasoning_effort"), "xhigh");
  EXPECT_EQ(json::serialize(chat.at("response_format")),
            R"({"type":"json_schema","name":"n","schema":{"type":"object"},"strict":true})");
  EXPECT_FALSE(chat.contains("unheard"));
  const json::object& echo = read.echo.members;
  EXPECT_EQ(echo.at("store"), false);
  EXPECT_EQ(echo.at("parallel_tool_calls"), false);
  EXPECT_EQ(echo.at("max_output_tokens"), 32);
  EXPECT_EQ(echo.at("reasoning").at("effort"), "max");
  EXPECT_EQ(echo.at("text").at("format").at("name"), "n");
  EXPECT_EQ(echo.at("text").at("verbosity"), "low");
  EXPECT_EQ(echo.at("metadata").at("c"), "d");
  EXPECT_EQ(echo.at("prompt_cache_key"), "k");
  const CompletionCall call = call_of(read);
  EXPECT_EQ(call.request.max_tokens, 32u);
  EXPECT_EQ(call.shape.kind, OutputKind::kJsonSchema);
  EXPECT_EQ(call.shape.name, "text.format.schema");
}

TEST(ResponsesRequest, RefusesByItsOwnNames) {
  auto refused = [](const char* field) {
    return asked_error(std::string(R"("input":"x",)") + field);
  };
  EXPECT_EQ(asked_error(""), "input is missing");
  EXPECT_NE(items_error("[]").find("input has 0 entries"), std::string::npos);
  EXPECT_EQ(items_error(R"([{"role":"user","content":[{"type":"input_image","image_url":"x"}]}])"),
            "input[0].content[0].type asks for something that this server does not support; no "
            "images, sound or files are read: send text parts");
  EXPECT_EQ(items_error(R"([{"id":"x"}])"), "input[0].type is missing");
  EXPECT_EQ(items_error(R"([{"type":"item_reference","id":"x"}])").find("input[0].type"), 0u);
  EXPECT_EQ(items_error(R"([{"role":"tool","content":"x"}])").find("input[0].role is 'tool'"), 0u);
  EXPECT_EQ(items_error(R"([{"type":"compaction","id":"x"}])").find("input has no message"), 0u);
  EXPECT_EQ(refused(R"("previous_response_id":"resp_1")").find("previous_response_id asks"), 0u);
  EXPECT_EQ(refused(R"("conversation":"conv_1")").find("conversation asks"), 0u);
  EXPECT_EQ(refused(R"("background":true)").find("background asks"), 0u);
  EXPECT_EQ(refused(R"("top_logprobs":2)").find("top_logprobs asks"), 0u);
  EXPECT_EQ(refused(R"("include":["message.output_text.logprobs"])").find("include[0] asks"), 0u);
  EXPECT_EQ(refused(R"("max_output_tokens":0)").find("max_output_tokens is 0"), 0u);
  EXPECT_EQ(refused(R"("reasoning":{"effort":"huge"})").find("reasoning.effort is 'huge'"), 0u);
  EXPECT_EQ(refused(R"("reasoning":{"summary":"long"})").find("reasoning.summary is 'long'"), 0u);
  EXPECT_EQ(refused(R"("text":{"format":{"type":"json_schema"}})"),
            "text.format.schema is missing");
  EXPECT_EQ(refused(R"("text":{"format":{"type":"xml"}})").find("text.format.type asks"), 0u);
  EXPECT_EQ(refused(R"("tools":[{"type":"web_search"},{"type":"function","name":"a b"}])")
                .find("tools[1].name is 'a b'"),
            0u);
  EXPECT_EQ(refused(R"("tool_choice":{"type":"web_search"})").find("tool_choice.type asks"), 0u);
  EXPECT_EQ(refused(R"("tool_choice":"required")").find("tool_choice works only with"), 0u);
  const std::string tools = R"("tools":[{"type":"function","name":"f"}],"tool_choice":)";
  EXPECT_EQ(refused((tools + R"({"type":"function","name":"g"})").c_str())
                .find("tool_choice.name is 'g'"),
            0u);
  EXPECT_EQ(refused((tools + R"({"type":"allowed_tools","mode":"auto","tools":[
                        {"type":"web_search"},{"type":"function","name":"g"}]})")
                        .c_str())
                .find("tool_choice.tools[1].name is 'g'"),
            0u);
}

TEST(ResponsesRequest, CallsToolsAsTheBodyDoes) {
  const CompletionCall call = call_of(asked_body(R"("input":"x","tools":[{"type":"web_search"},
      {"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]},
      {"type":"function","name":"g"}])"));
  ASSERT_EQ(call.turn.tools.size(), 2u);
  EXPECT_EQ(call.turn.tools[0].name, "n__f");
  EXPECT_EQ(call.turn.tools[0].where, "tools[1].tools[0].parameters");
  EXPECT_EQ(call.turn.tools[1].where, "tools[2].parameters");
}

// The schema nests as deep as a body may.
TEST(ResponsesRequest, TakesSchemasOfAnyDepthThatABodyMayHave) {
  std::string schema = R"({"type":"object"})";
  for (int i = 0; i < 73; ++i) schema = R"({"items":)" + schema + "}";
  EXPECT_EQ(asked_error(R"("input":"x","tools":[{"type":"function","name":"f","parameters":)" +
                        schema + "}]"),
            "none");
}

TEST(ResponsesNames, ReplaceWholeNamesAlone) {
  ResponsesNames names;
  names.add("messages[1]", "input[4]");
  names.add("tools[0].function", "tools[2]");
  EXPECT_EQ(names.translated("messages[1].content is x"), "input[4].content is x");
  EXPECT_EQ(names.translated("messages[12] is x"), "input[12] is x");
  EXPECT_EQ(names.translated("tools[0].function.parameters.a: x"), "tools[2].parameters.a: x");
  EXPECT_EQ(names.translated("max_tokens_more"), "max_tokens_more");
  EXPECT_EQ(names.translated("seed is x"), "seed is x");
}

// An agent's first request, and its second one after a tool call. The second has the first one's
// items, followed by the reply's items with their ids and the tool's output.
TEST(ResponsesRequest, ASecondTurnBeginsAsTheFirst) {
  const std::string fields = R"("model":"m","instructions":"You are an agent.",
      "tools":[{"type":"function","name":"exec","strict":false,"parameters":{"type":"object",
        "properties":{"cmd":{"type":"string"}}}},{"type":"web_search"}],
      "tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"summary":"auto"},
      "store":false,"stream":true,"include":["reasoning.encrypted_content"],
      "prompt_cache_key":"k","client_metadata":{"x":"y"},"input":[
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"rules"}]},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"where"},
          {"type":"input_text","text":"when"}]},
        {"type":"message","role":"developer","content":[{"type":"input_text","text":"more"}]},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Read it."}]})";
  const std::string second = fields + R"(,
        {"type":"reasoning","id":"rs_1_0","summary":[],"encrypted_content":null,
         "content":[{"type":"reasoning_text","text":"I must read."}]},
        {"type":"message","role":"assistant","id":"msg_1_1","content":[
         {"type":"output_text","text":"I read it."}]},
        {"type":"function_call","id":"fc_1_2","name":"exec","call_id":"call_1",
         "arguments":"{\"cmd\":\"cat x\"}"},
        {"type":"function_call_output","call_id":"call_1","output":"word"}])";
  const ResponsesBody before = asked_body(fields + "]"), after = asked_body(second);
  const json::array& first = before.chat.at("messages").as_array();
  const json::array& all = after.chat.at("messages").as_array();
  ASSERT_EQ(first.size(), 2u);
  ASSERT_EQ(all.size(), 4u);
  std::string begin = json::serialize(first);
  begin.back() = ',';
  EXPECT_EQ(json::serialize(all).find(begin), 0u);
  EXPECT_EQ(json::serialize(before.chat.at("tools")), json::serialize(after.chat.at("tools")));
  EXPECT_EQ(json::serialize(all[2]),
            R"({"role":"assistant","content":"I read it.","reasoning_content":"I must read.",)"
            R"("tool_calls":[{"id":"call_1","type":"function","function":{"name":"exec",)"
            R"("arguments":"{\"cmd\":\"cat x\"}"}}]})");
  EXPECT_EQ(json::serialize(all[3]), R"({"role":"tool","content":"word","tool_call_id":"call_1"})");
}

constexpr const char* kAskedFields[] = {
    R"("input":"y")",
    R"("input":[])",
    R"("input":7)",
    R"("input":[{"role":"user","content":"y"}])",
    R"("input":[{"type":null,"role":"user","content":"y"}])",
    R"("input":[{"role":"tool","content":"y"}])",
    R"("input":[{"role":"user"}])",
    R"("input":[{"role":"user","content":[{"type":"input_text","text":"y"}]}])",
    R"("input":[{"role":"user","content":[{"type":"input_file"}]}])",
    R"("input":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"}])",
    R"("input":[{"type":"function_call","name":"f","arguments":"{}"}])",
    R"("input":[{"type":"function_call_output","call_id":"1","output":"y"}])",
    R"("input":[{"type":"function_call_output","call_id":"1"}])",
    R"("instructions":"y")",
    R"("instructions":[])",
    R"("max_output_tokens":1)",
    R"("max_output_tokens":0)",
    R"("temperature":2.5)",
    R"("top_p":0.5)",
    R"("top_k":-2)",
    R"("min_p":0.5)",
    R"("seed":"y")",
    R"("stream":1)",
    R"("text":{"verbosity":3})",
    R"("text":{"format":{"type":"text"},"verbosity":"low"})",
    R"("text":7)",
    R"("reasoning":{"effort":"max"})",
    R"("reasoning":{"effort":"most"})",
    R"("reasoning":{"effort":null,"summary":"auto"})",
    R"("reasoning":{"summary":"none"})",
    R"("reasoning":{"summary":null})",
    R"("reasoning":{"summary":"long"})",
    R"("reasoning":{"summary":1})",
    R"("input":[{"role":"user","content":"y"},{"type":"reasoning","encrypted_content":"y"}])",
    R"("input":[{"role":"user","content":"y"},{"type":"reasoning","encrypted_content":1}])",
    R"("tools":[])",
    R"("tools":[{}])",
    R"("tools":[{"type":"web_search"}])",
    R"("tools":[{"type":"function","name":"f"}])",
    R"("tools":[{"type":"function","name":"a b"}])",
    R"("tools":[{"type":"function"}])",
    R"("tools":[{"type":"function","name":"f","parameters":[]}])",
    R"("tools":[{"type":"namespace","name":"n","tools":[{"type":"function","name":"f"}]}])",
    R"("tools":[{"type":"namespace","name":"n"}])",
    R"("tool_choice":"auto")",
    R"("tool_choice":"some")",
    R"("tool_choice":{"type":"function"})",
    R"("tool_choice":{"type":"web_search"})",
    R"("parallel_tool_calls":"y")",
    R"("metadata":{"a":"b"})",
    R"("metadata":{"a":1})",
    R"("user":1)",
    R"("store":true)",
    R"("store":"y")",
    R"("include":["reasoning.encrypted_content"])",
    R"("include":"y")",
    R"("previous_response_id":null)",
    R"("previous_response_id":"resp_1")",
    R"("conversation":{"id":"y"})",
    R"("prompt":{"id":"y"})",
    R"("background":false)",
    R"("background":true)",
    R"("top_logprobs":0)",
    R"("top_logprobs":1)",
    R"("chat_template_kwargs":[])",
    R"("anything":{})"};

TEST(ResponsesRequest, IsWhatTheDocumentDescribes) {
  const json::value document = read_json(openapi_json());
  const json::object& fields =
      document.at("components").at("schemas").at("ResponsesRequest").at("properties").as_object();
  std::set<std::string_view> described, read;
  for (const auto& member : fields) described.emplace(member.key());
  for (std::string_view name : responses_field_names()) read.insert(name);
  EXPECT_EQ(described, read);
  for (const char* field : kAskedFields) {
    const std::string members = std::string(R"("input":"x",)") + field;
    const std::string wrong =
        schema_error(document, "ResponsesRequest", read_json("{" + members + "}"));
    EXPECT_EQ(wrong.empty(), asked_error(members) == "none") << field << ": " << wrong;
  }
}

}  // namespace
}  // namespace hearth
