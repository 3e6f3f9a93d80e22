#include "server/openapi.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "base/json_reader.h"
#include "server/completion_request.h"
#include "server/embedding_request.h"
#include "server/rerank_request.h"
#include "server/sampling_defaults.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

using Names = std::set<std::string, std::less<>>;

const json::object& schema_of(const json::value& document, const char* name) {
  return document.at("components").at("schemas").at(name).as_object();
}

Names names_of(const json::object& object) {
  Names names;
  for (const auto& member : object) names.emplace(member.key());
  return names;
}

// Returns the names of the fields that the document gives a request: those common to both
// completions and its own.
Names described(const json::value& document, const char* request) {
  Names names = names_of(schema_of(document, "CommonFields").at("properties").as_object());
  const json::value& own = schema_of(document, request).at("allOf").at(1).at("properties");
  names.merge(names_of(own.as_object()));
  return names;
}

Names set_of(const std::vector<std::string_view>& names) { return {names.begin(), names.end()}; }

TEST(OpenApi, DescribesExactlyTheFieldsThatAreRead) {
  json::value document = read_json(openapi_json());
  EXPECT_EQ(described(document, "ChatRequest"), set_of(chat_field_names()));
  EXPECT_EQ(described(document, "CompletionRequest"), set_of(text_field_names()));
  const json::value& embedding = schema_of(document, "EmbeddingRequest").at("properties");
  EXPECT_EQ(names_of(embedding.as_object()), set_of(embedding_field_names()));
  const json::value& rerank = schema_of(document, "RerankRequest").at("properties");
  EXPECT_EQ(names_of(rerank.as_object()), set_of(rerank_field_names()));
}

TEST(OpenApi, HasEveryRoute) {
  json::value document = read_json(openapi_json());
  EXPECT_EQ(names_of(document.at("paths").as_object()), (Names{"/",
                                                               "/api/chat",
                                                               "/api/delete",
                                                               "/api/embed",
                                                               "/api/embeddings",
                                                               "/api/generate",
                                                               "/api/ps",
                                                               "/api/pull",
                                                               "/api/show",
                                                               "/api/tags",
                                                               "/api/version",
                                                               "/apply-template",
                                                               "/detokenize",
                                                               "/health",
                                                               "/live",
                                                               "/metrics",
                                                               "/models/load",
                                                               "/models/unload",
                                                               "/openapi.json",
                                                               "/props",
                                                               "/rerank",
                                                               "/tokenize",
                                                               "/version",
                                                               "/v1/chat/completions",
                                                               "/v1/completions",
                                                               "/v1/embeddings",
                                                               "/v1/messages",
                                                               "/v1/messages/count_tokens",
                                                               "/v1/models",
                                                               "/v1/models/{id}",
                                                               "/v1/plan",
                                                               "/v1/responses",
                                                               "/v1/responses/input_tokens",
                                                               "/v1/rerank",
                                                               "/v2/rerank"}));
}

// Calls `call` for every object in a document.
void each_object(const json::value& value, const std::function<void(const json::object&)>& call) {
  if (value.is_array()) {
    for (const json::value& entry : value.get_array()) each_object(entry, call);
  }
  if (!value.is_object()) return;
  call(value.get_object());
  for (const auto& member : value.get_object()) each_object(member.value(), call);
}

TEST(OpenApi, ReferencesLeadSomewhereAndRepliesAreClosed) {
  json::value document = read_json(openapi_json());
  size_t references = 0;
  each_object(document, [&](const json::object& object) {
    if (const json::value* reference = object.if_contains("$ref")) {
      std::string path = std::string(reference->as_string()).substr(1);
      EXPECT_NO_THROW(document.at_pointer(path)) << path;
      ++references;
    }
    if (object.contains("properties") &&
        !object.at("properties").as_object().contains("properties")) {
      EXPECT_TRUE(object.contains("additionalProperties"));
    }
  });
  EXPECT_GT(references, 50u);
}

constexpr const char* kFields[] = {
    R"("n":1)",
    R"("n":16)",
    R"("n":17)",
    R"("n":0)",
    R"("n":"1")",
    R"("n":null)",
    R"("temperature":2)",
    R"("temperature":2.1)",
    R"("temperature":true)",
    R"("top_p":1)",
    R"("top_p":1.5)",
    R"("top_k":-1)",
    R"("top_k":-2)",
    R"("min_p":-0.5)",
    R"("max_tokens":0)",
    R"("max_completion_tokens":0)",
    R"("max_new_tokens":0)",
    R"("n_predict":0)",
    R"("n_predict":-1)",
    R"("n_predict":-3)",
    R"("num_predict":0)",
    R"("max_tokens":4294967295)",
    R"("max_tokens":4294967296)",
    R"("repetition_penalty":0.01)",
    R"("repetition_penalty":101)",
    R"("presence_penalty":-2)",
    R"("frequency_penalty":2.5)",
    R"("seed":-5)",
    R"("seed":"x")",
    R"("stop":"")",
    R"("stop":"x")",
    R"("stop":["x"])",
    R"("stop":[])",
    R"("stop":[1])",
    R"("logit_bias":{"5":100})",
    R"("logit_bias":{"5":-101})",
    R"("logit_bias":{"5":null})",
    R"("stream":false)",
    R"("stream":"yes")",
    R"("tools":[])",
    R"("tools":[{}])",
    R"("tools":null)",
    R"("tools":{})",
    R"("tools":[{"type":"function","function":{"name":"f"}}])",
    R"("tools":[{"type":"function","function":{"name":"a b"}}])",
    R"("tools":[{"type":"function","function":{"name":"f","parameters":{},"strict":true}}])",
    R"("tools":[{"type":"function","function":{"name":"f","parameters":[]}}])",
    R"("tools":[{"type":"function","function":{"name":"f","strict":1}}])",
    R"("tools":[{"type":"custom","custom":{"name":"f"}}])",
    R"("tool_choice":"none")",
    R"("tool_choice":"some")",
    R"("tool_choice":7)",
    R"("tool_choice":{"type":"function"})",
    R"("tool_choice":{"type":"allowed_tools"})",
    R"("parallel_tool_calls":false)",
    R"("parallel_tool_calls":"no")",
    R"("reasoning_effort":"none")",
    R"("reasoning_effort":"max")",
    R"("include_reasoning":false)",
    R"("include_reasoning":3)",
    R"("function_call":"auto")",
    R"("function_call":{"name":"f"})",
    R"("response_format":{"type":"text"})",
    R"("response_format":{"type":"json_object"})",
    R"("response_format":{})",
    R"("response_format":{"type":"json_schema"})",
    R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})",
    R"("response_format":{"type":"json_schema","json_schema":{"schema":{}}})",
    R"("response_format":{"type":"json_schema","schema":true})",
    R"("response_format":{"type":"grammar"})",
    R"("structured_outputs":{"regex":"a"})",
    R"("structured_outputs":{"choice":[]})",
    R"("structured_outputs":{"structural_tag":"x"})",
    R"("guided_json":"{}")",
    R"("guided_json":3)",
    R"("guided_choice":["a"])",
    R"("guided_choice":[1])",
    R"("modalities":["text"])",
    R"("modalities":["audio"])",
    R"("audio":{})",
    R"("audio":null)",
    R"("grammar":"")",
    R"("grammar":"x")",
    R"("min_tokens":0)",
    R"("min_tokens":1)",
    R"("logprobs":true)",
    R"("logprobs":1)",
    R"("top_logprobs":0)",
    R"("top_logprobs":21)",
    R"("chat_template_kwargs":{"a":[]})",
    R"("chat_template_kwargs":[])",
    R"("anything":{})",
    R"("model":3)",
    R"("messages":[])",
    R"("messages":[{"role":"user"}])",
    R"("messages":[{"content":"x"}])",
    R"("messages":[{"role":"tool","content":"x"}])",
    R"("messages":[{"role":"developer","content":[{"type":"text","text":"x"}]}])",
    R"("messages":[{"role":"user","content":[{"type":"image_url"}]}])",
    R"("messages":[{"role":"tool","content":"x","tool_call_id":"1"}])",
    R"("messages":[{"role":"function","content":"x","name":"f"}])",
    R"("messages":[{"role":"assistant"}])",
    R"("messages":[{"role":"assistant","content":null}])",
    R"("messages":[{"role":"assistant","content":"x","reasoning_content":"y"}])",
    R"("messages":[{"role":"assistant","content":"x","reasoning":7}])",
    R"("messages":[{"role":"assistant","content":"x","function_call":{}}])",
    R"("messages":[{"role":"assistant","content":null,"tool_calls":[
        {"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]}])",
    R"("messages":[{"role":"assistant","tool_calls":[
        {"id":"1","function":{"name":"f","arguments":{}}}]}])",
    R"("messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}}]}])",
    R"("messages":[{"role":"user","content":"x","tool_calls":[
        {"id":"1","function":{"name":"f","arguments":{}}}]}])",
    R"("messages":[{"role":"assistant","content":"x","tool_calls":[{}]}])",
    R"("messages":[{"role":"assistant","content":"x","tool_calls":[]}])"};

using ReadCall = CompletionCall (*)(std::string_view body, const SamplingParams& defaults,
                                    const RequestLimits& limits, uint32_t vocabulary);

// The reader accepts what the request's schema allows and refuses what it forbids, in bodies of
// `begin` and one of the fields.
void expect_agreement(std::string_view schema, const std::string& begin,
                      std::span<const char* const> fields, ReadCall read_call) {
  json::value document = read_json(openapi_json());
  for (const char* field : fields) {
    const std::string body = begin + field + "}";
    bool good = schema_error(document, schema, read_json(body)).empty();
    bool read = true;
    try {
      read_call(body, openai_sampling(), {}, 1000);
    } catch (const RequestError&) {
      read = false;
    }
    EXPECT_EQ(good, read) << field;
  }
}

TEST(OpenApi, SchemasAndReadersAgree) {
  expect_agreement("ChatRequest", R"({"messages":[{"role":"user","content":"x"}],)", kFields,
                   read_chat_call);
}

TEST(OpenApi, SchemasAndReadersAgreeOfTexts) {
  constexpr const char* kTextFields[] = {
      R"("max_tokens":0)",          R"("max_tokens":-1)", R"("max_completion_tokens":0)",
      R"("max_new_tokens":0)",      R"("n_predict":0)",   R"("n_predict":-3)",
      R"("num_predict":-2)",        R"("logprobs":20)",   R"("logprobs":21)",
      R"("logprobs":true)",         R"("echo":true)",     R"("echo":1)",
      R"("echo":true,"logprobs":0)"};
  expect_agreement("CompletionRequest", R"({"prompt":"x",)", kTextFields, read_text_call);
}

TEST(OpenApi, TheCheckerFindsWhatIsMissingAndTooMuch) {
  json::value document = read_json(openapi_json());
  auto error = [&](const std::string& members) {
    const std::string body =
        R"({"id":"a","created":1,"owned_by":"x","status":{"value":"loaded"},)" + members + "}";
    return schema_error(document, "Model", read_json(body));
  };
  EXPECT_EQ(error(R"("object":"model","max_model_len":1)"), "");
  EXPECT_EQ(error(R"("object":"model")"), ": max_model_len is missing");
  EXPECT_EQ(error(R"("object":"m","max_model_len":1)"), "/object: is another constant");
  EXPECT_EQ(error(R"("object":"model","max_model_len":1,"y":2)"), ": y is too much");
}

}  // namespace
}  // namespace hearth
