#include "server/reply_bodies.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cmath>

#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

std::string completion_body(const ReplyHead& head, const std::vector<ChoicePart>& choices,
                            const Usage& usage) {
  CompletionBody body(head, choices, usage);
  return whole_body(body);
}

std::string tokenize_body(std::vector<int32_t> tokens) {
  TokensBody body(std::move(tokens));
  return whole_body(body);
}

std::string text_body(std::string_view key, std::string text) {
  WholeTextBody body(key, std::move(text));
  return whole_body(body);
}

class ReplyBodies : public testing::Test {
 protected:
  // Checks a body against the schema of that name, and returns it.
  json::value checked(const std::string& body, const char* schema) {
    json::value value = read_json(body);
    EXPECT_EQ(schema_error(document_, schema, value), "") << body;
    return value;
  }
  // Checks every event of a stream against the schema, and returns their data.
  std::vector<json::value> events(std::string_view stream, const char* schema) {
    std::vector<json::value> values;
    while (!stream.empty()) {
      size_t end = stream.find("\n\n");
      EXPECT_EQ(stream.substr(0, 6), "data: ");
      values.push_back(checked(std::string(stream.substr(6, end - 6)), schema));
      stream.remove_prefix(end + 2);
    }
    return values;
  }
  static std::string dump(const json::value& value) { return json::serialize(value); }

  json::value document_ = read_json(openapi_json());
  ReplyHead chat_{true, "chatcmpl-1", 1700000000, "demo", "fp_1", false, false};
  ReplyHead text_{false, "cmpl-1", 1700000000, "demo", "fp_1", false, false};
  TokenEntry entry_{"a\xE2", -0.5, {{"a\xE2", -0.5}, {"\xE3", -INFINITY}}, 3};
};

TEST_F(ReplyBodies, WholeChat) {
  std::vector<ChoicePart> choices = {{0, "Hi", {}, Finish::kEndOfText},
                                     {1, "Ho", {}, Finish::kContext}};
  json::value body = checked(completion_body(chat_, choices, {9, 4, 3}), "ChatCompletion");
  EXPECT_EQ(dump(body),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"demo",)"
            R"("system_fingerprint":"fp_1","choices":[{"index":0,"message":{"role":"assistant",)"
            R"("content":"Hi","refusal":null},"logprobs":null,"finish_reason":"stop"},)"
            R"({"index":1,"message":{"role":"assistant","content":"Ho","refusal":null},)"
            R"("logprobs":null,"finish_reason":"length"}],"usage":{"prompt_tokens":9,)"
            R"("completion_tokens":4,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":3,)"
            R"("audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,)"
            R"("audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}})");
}

TEST_F(ReplyBodies, WholeText) {
  std::vector<ChoicePart> choices = {{0, "Hi", {}, Finish::kStopString}};
  json::value body = checked(completion_body(text_, choices, {1, 2, 0}), "Completion");
  EXPECT_EQ(dump(body.at("choices")),
            R"([{"index":0,"text":"Hi","logprobs":null,"finish_reason":"stop"}])");
  EXPECT_EQ(body.at("object"), "text_completion");
}

TEST_F(ReplyBodies, ChatLogprobs) {
  chat_.logprobs = true;
  std::vector<ChoicePart> choices = {{0, "a", {entry_}, Finish::kLength}};
  json::value body = checked(completion_body(chat_, choices, {}), "ChatCompletion");
  EXPECT_EQ(dump(body.at("choices").at(0).at("logprobs")),
            "{\"content\":[{\"token\":\"a\xEF\xBF\xBD\",\"logprob\":-5E-1,\"bytes\":[97,226],"
            "\"top_logprobs\":[{\"token\":\"a\xEF\xBF\xBD\",\"logprob\":-5E-1,\"bytes\":[97,226]},"
            "{\"token\":\"\xEF\xBF\xBD\",\"logprob\":-9.999E3,\"bytes\":[227]}]}],"
            "\"refusal\":null}");
  choices[0].entries.clear();
  body = checked(completion_body(chat_, choices, {}), "ChatCompletion");
  EXPECT_EQ(dump(body.at("choices").at(0).at("logprobs")), R"({"content":[],"refusal":null})");
}

TEST_F(ReplyBodies, TextLogprobs) {
  text_.logprobs = true;
  // Two tokens that both look like U+FFFD are one entry; there is always an entry for the chosen
  // token's text.
  TokenEntry other{"b", -3, {{"\xE2", -1}, {"\xE3", -2}}, 5};
  std::vector<ChoicePart> choices = {{0, "ab", {entry_, other}, Finish::kLength}};
  json::value body = checked(completion_body(text_, choices, {}), "Completion");
  EXPECT_EQ(dump(body.at("choices").at(0).at("logprobs")),
            "{\"tokens\":[\"a\xEF\xBF\xBD\",\"b\"],\"token_logprobs\":[-5E-1,-3E0],"
            "\"top_logprobs\":[{\"a\xEF\xBF\xBD\":-5E-1,\"\xEF\xBF\xBD\":-9.999E3},"
            "{\"\xEF\xBF\xBD\":-1E0,\"b\":-3E0}],\"text_offset\":[3,5]}");
}

TEST_F(ReplyBodies, TheFirstTokenOfAPromptHasNoLogprob) {
  text_.logprobs = true;
  const TokenEntry first{.bytes = "a", .scored = false}, next{"b", -3, {{"b", -3}}, 1};
  std::vector<ChoicePart> choices = {{0, "ab", {first, next}, Finish::kLength}};
  const std::string expected =
      R"({"tokens":["a","b"],"token_logprobs":[null,-3E0],"top_logprobs":[null,{"b":-3E0}],)"
      R"("text_offset":[0,1]})";
  json::value body = checked(completion_body(text_, choices, {}), "Completion");
  EXPECT_EQ(dump(body.at("choices").at(0).at("logprobs")), expected);
  auto parts = events(part_events(text_, choices[0]), "CompletionChunk");
  EXPECT_EQ(dump(parts.at(0).at("choices").at(0).at("logprobs")), expected);
}

TEST_F(ReplyBodies, ChatStream) {
  chat_.logprobs = true;
  auto first = events(first_event(chat_, 1), "ChatCompletionChunk");
  EXPECT_EQ(dump(first.at(0).at("choices")),
            R"([{"index":1,"delta":{"role":"assistant","content":"","refusal":null},)"
            R"("logprobs":null,"finish_reason":null}])");
  EXPECT_FALSE(first[0].as_object().contains("usage"));
  auto parts =
      events(part_events(chat_, {1, "Hi", {entry_}, Finish::kLength}), "ChatCompletionChunk");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(dump(parts[0].at("choices").at(0).at("delta")), R"({"content":"Hi"})");
  EXPECT_EQ(parts[0].at("choices").at(0).at("logprobs").at("content").as_array().size(), 1u);
  EXPECT_EQ(dump(parts[1].at("choices")),
            R"([{"index":1,"delta":{},"logprobs":null,"finish_reason":"length"}])");
  EXPECT_EQ(part_events(chat_, {1, "", {}, {}}), "");
}

// Returns a part with two calls; the second was cut off by the length limit.
ChoicePart called_part() {
  ChoicePart part{.index = 1, .finish = Finish::kEndOfText, .called = true};
  part.reasoning = "hm";
  part.calls = {{0, "call_a", "read", R"({"p": "\u0001"})"}, {1, "call_b", "write", "{"}};
  return part;
}

TEST_F(ReplyBodies, CallsOfAWholeReply) {
  json::value body =
      checked(completion_body(chat_, {called_part()}, {9, 4, 3, 2}), "ChatCompletion");
  EXPECT_EQ(dump(body.at("choices")),
            R"([{"index":1,"message":{"role":"assistant","content":null,"refusal":null,)"
            R"("reasoning_content":"hm","tool_calls":[{"id":"call_a","type":"function",)"
            R"("function":{"name":"read","arguments":"{\"p\": \"\\u0001\"}"}},)"
            R"({"id":"call_b","type":"function","function":{"name":"write","arguments":"{"}}]},)"
            R"("logprobs":null,"finish_reason":"tool_calls"}])");
  EXPECT_EQ(body.at("usage").at("completion_tokens_details").at("reasoning_tokens"), 2);
  ChoicePart cut = called_part();
  cut.text = "I do.";
  cut.finish = Finish::kLength;
  body = checked(completion_body(chat_, {cut}, {}), "ChatCompletion");
  EXPECT_EQ(body.at("choices").at(0).at("message").at("content"), "I do.");
  EXPECT_EQ(body.at("choices").at(0).at("finish_reason"), "length");
}

TEST_F(ReplyBodies, CallsOfAStream) {
  ChoicePart part = called_part();
  part.text = "I do.";
  auto parts = events(part_events(chat_, part), "ChatCompletionChunk");
  std::vector<std::string> deltas;
  for (const json::value& value : parts) {
    deltas.push_back(dump(value.at("choices").at(0).at("delta")));
  }
  EXPECT_EQ(deltas,
            (std::vector<std::string>{
                R"({"reasoning_content":"hm"})", R"({"content":"I do."})",
                R"({"tool_calls":[{"index":0,"id":"call_a","type":"function",)"
                R"("function":{"name":"read","arguments":""}}]})",
                R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"p\": \"\\u0001\"}"}}]})",
                R"({"tool_calls":[{"index":1,"id":"call_b","type":"function",)"
                R"("function":{"name":"write","arguments":""}}]})",
                R"({"tool_calls":[{"index":1,"function":{"arguments":"{"}}]})", "{}"}));
  EXPECT_EQ(parts.back().at("choices").at(0).at("finish_reason"), "tool_calls");
  EXPECT_TRUE(parts[0].at("choices").at(0).at("finish_reason").is_null());
}

TEST_F(ReplyBodies, PartsOfCallsJoin) {
  ChoicePart whole{.index = 1};
  ChoicePart first = called_part(), second{.index = 1};
  first.finish = {};
  first.called = false;
  second.calls = {{1, "", "", "}"}, {2, "call_c", "x", ""}};
  whole.append(std::move(first));
  whole.append(std::move(second));
  ASSERT_EQ(whole.calls.size(), 3u);
  EXPECT_EQ(whole.calls[1].arguments, "{}");
  EXPECT_EQ(whole.calls[2].name, "x");
  EXPECT_FALSE(whole.called);
}

TEST_F(ReplyBodies, TextStream) {
  EXPECT_EQ(first_event(text_, 0), "");
  auto parts = events(part_events(text_, {2, "Hi", {}, Finish::kEndOfText}), "CompletionChunk");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(dump(parts[0].at("choices")),
            R"([{"index":2,"text":"Hi","logprobs":null,"finish_reason":null}])");
  EXPECT_EQ(dump(parts[1].at("choices")),
            R"([{"index":2,"text":"","logprobs":null,"finish_reason":"stop"}])");
  text_.logprobs = true;
  events(part_events(text_, {2, "Hi", {entry_}, Finish::kEndOfText}), "CompletionChunk");
}

TEST_F(ReplyBodies, UsageIsNullUntilTheLastChunk) {
  for (ReplyHead* head : {&chat_, &text_}) {
    const char* schema = head->chat ? "ChatCompletionChunk" : "CompletionChunk";
    head->include_usage = true;
    for (const json::value& part :
         events(part_events(*head, {0, "x", {}, Finish::kLength}), schema)) {
      EXPECT_TRUE(part.at("usage").is_null());
    }
    auto last = events(usage_event(*head, {5, 6, 2}), schema);
    ASSERT_EQ(last.size(), 1u);
    EXPECT_TRUE(last[0].at("choices").as_array().empty());
    EXPECT_EQ(last[0].at("usage").at("total_tokens").as_int64(), 11);
    EXPECT_EQ(last[0].at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64(), 2);
  }
}

TEST_F(ReplyBodies, TimingsComeLast) {
  Usage usage{.prompt_tokens = 12, .completion_tokens = 7, .cached_tokens = 2};
  usage.texts = 2;
  usage.prompt_seconds = 0.5;
  usage.generation_seconds = 0.25;
  for (ReplyHead* head : {&chat_, &text_}) {
    head->timings = true;
    const auto last =
        events(usage_event(*head, usage), head->chat ? "ChatCompletionChunk" : "CompletionChunk");
    ASSERT_EQ(last.size(), 1u);
    EXPECT_FALSE(last[0].as_object().contains("usage"));
    EXPECT_EQ(dump(last[0].at("timings")),
              R"({"cache_n":2,"prompt_n":10,"prompt_ms":5E2,"prompt_per_second":2E1,)"
              R"("predicted_n":7,"predicted_ms":2.5E2,"predicted_per_second":2E1})");
  }
  usage.generation_seconds = 0;
  const auto none = events(usage_event(chat_, usage), "ChatCompletionChunk");
  EXPECT_EQ(none.at(0).at("timings").at("predicted_per_second"), 0.0);
}

TEST_F(ReplyBodies, ProgressIsAnEventWithoutChoices) {
  const PromptProgress progress{.total = 12, .cached = 2, .read = 7, .seconds = 0.5};
  for (const ReplyHead* head : {&chat_, &text_}) {
    const auto told = events(progress_event(*head, progress),
                             head->chat ? "ChatCompletionChunk" : "CompletionChunk");
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(dump(told[0].at("choices")), "[]");
    EXPECT_EQ(dump(told[0].at("prompt_progress")),
              R"({"total":12,"cache":2,"processed":7,"time_ms":5E2})");
  }
}

TEST_F(ReplyBodies, AFailureEndsAStreamAsAnError) {
  EXPECT_EQ(finish_reason(Finish::kFailed), std::nullopt);
  EXPECT_EQ(finish_reason(Finish::kCancelled), std::nullopt);
  EXPECT_EQ(events(part_events(chat_, {0, "x", {}, Finish::kFailed}), "ChatCompletionChunk").size(),
            1u);
  auto errors = events(
      streamed_error({500, "server_error", "failed", "it broke", {}, {}}, HttpDialect::kEvents),
      "Error");
  EXPECT_EQ(errors.at(0).at("error").at("code"), "failed");
}

TEST_F(ReplyBodies, HostileTextStaysJson) {
  std::string hostile("\0\x1F\"\\\xFF\xED\xA0\x80</script>\n\ndata: x\r\n", 28);
  TokenEntry entry{hostile, NAN, {{hostile, INFINITY}}, 0};
  for (bool chat : {true, false}) {
    ReplyHead head{chat, hostile, 0, hostile, hostile, true, true};
    std::vector<ChoicePart> choices = {{0, hostile, {entry}, Finish::kLength}};
    checked(completion_body(head, choices, {}), chat ? "ChatCompletion" : "Completion");
    EXPECT_EQ(
        events(part_events(head, choices[0]), chat ? "ChatCompletionChunk" : "CompletionChunk")
            .size(),
        2u);
  }
}

TEST_F(ReplyBodies, TheSmallOnes) {
  ModelInfo model{"demo", 1700000000, 4096};
  EXPECT_EQ(model_body(model),
            "{\"id\":\"demo\",\"object\":\"model\",\"created\":1700000000,\"owned_by\":\"hearth\","
            "\"max_model_len\":4096,\"status\":{\"value\":\"loaded\"}}\n");
  checked(model_body(model), "Model");
  checked(model_body({"demo", 0, 4096, "failed", "it is broken"}), "Model");
  checked(model_list_body(std::vector<ModelInfo>{model, model}), "ModelList");
  EXPECT_EQ(tokenize_body({3, 1}), "{\"tokens\":[3,1],\"count\":2}\n");
  checked(tokenize_body({}), "TokenizeReply");
  EXPECT_EQ(text_body("content", "a\xFF"), "{\"content\":\"a\xEF\xBF\xBD\"}\n");
  checked(text_body("content", ""), "DetokenizeReply");
  EXPECT_EQ(text_body("prompt", "<s>"), "{\"prompt\":\"<s>\"}\n");
  checked(text_body("prompt", ""), "ApplyTemplateReply");
  checked(health_body("loading"), "Health");
  EXPECT_EQ(reply_id(true, "7"), "chatcmpl-7");
  EXPECT_EQ(reply_id(false, "7"), "cmpl-7");
}

}  // namespace
}  // namespace hearth
