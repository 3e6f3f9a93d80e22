#include "server/messages_reply.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>

#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

class MessagesReplies : public testing::Test {
 protected:
  json::value checked(const std::string& body, const char* schema) {
    json::value value = read_json(body);
    EXPECT_EQ(schema_error(document_, schema, value), "") << body;
    return value;
  }

  // Checks every event of a stream against the schema, and returns their data.
  std::vector<json::value> events(std::string_view stream, const char* schema = "MessagesEvent") {
    std::vector<json::value> values;
    while (!stream.empty()) {
      const size_t end = stream.find("\n\n"), line = stream.find('\n');
      EXPECT_EQ(stream.substr(0, 7), "event: ");
      EXPECT_EQ(stream.substr(line + 1, 6), "data: ");
      values.push_back(checked(std::string(stream.substr(line + 7, end - line - 7)), schema));
      EXPECT_EQ(values.back().at("type"), json::string_view(stream.substr(7, line - 7)));
      stream.remove_prefix(end + 2);
    }
    return values;
  }

  // Returns the content that a client would put together from the events.
  std::string content_of(const std::vector<json::value>& all) {
    json::array content;
    std::string input;
    bool open = false;
    for (const json::value& event : all) {
      const auto& type = event.at("type").as_string();
      if (type == "content_block_start") {
        EXPECT_FALSE(open);
        open = true;
        EXPECT_EQ(event.at("index"), content.size());
        content.push_back(event.at("content_block"));
        input.clear();
      } else if (type == "content_block_delta") {
        EXPECT_TRUE(open);
        EXPECT_EQ(event.at("index"), content.size() - 1);
        add(event.at("delta").as_object(), &content.back().as_object(), &input);
      } else if (type == "content_block_stop") {
        EXPECT_TRUE(open);
        open = false;
        EXPECT_EQ(event.at("index"), content.size() - 1);
        if (!input.empty()) content.back().as_object()["input"] = read_json(input);
      }
    }
    EXPECT_FALSE(open);
    return json::serialize(content);
  }

  std::string whole(ChoicePart choice, const Usage& usage = {}) {
    std::vector<ChoicePart> choices;
    choices.push_back(std::move(choice));
    return whole_body(*MessagesReply("req_7", "demo").whole(std::move(choices), usage));
  }

  json::value document_ = read_json(openapi_json());
  MessagesReply reply_{"req_7", "demo"};

 private:
  static void add(const json::object& delta, json::object* block, std::string* input) {
    const std::map<std::string, const char*, std::less<>> members = {
        {"text_delta", "text"}, {"thinking_delta", "thinking"}, {"signature_delta", "signature"}};
    const auto member = members.find(std::string(delta.at("type").as_string()));
    if (member == members.end()) {
      *input += delta.at("partial_json").as_string();
    } else {
      block->at(member->second).as_string() += delta.at(member->second).as_string();
    }
  }
};

TEST_F(MessagesReplies, AStreamOfText) {
  std::string stream = reply_.begin({9, 0, 0, 0}, 1);
  stream += reply_.part({.text = "It "});
  stream += reply_.part({.text = "is."});
  stream += reply_.part({.finish = Finish::kEndOfText});
  stream += reply_.end({9, 2, 4, 0});
  EXPECT_EQ(
      stream,
      "event: message_start\n"
      R"(data: {"type":"message_start","message":{"id":"msg_7","type":"message",)"
      R"("role":"assistant","model":"demo","content":[],"stop_reason":null,"stop_sequence":null,)"
      R"("usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,)"
      R"("output_tokens":0,"output_tokens_details":{"thinking_tokens":0}}}})"
      "\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
      "event: content_block_start\n"
      R"(data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}})"
      "\n\nevent: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",)"
      R"("text":"It "}})"
      "\n\nevent: content_block_delta\n"
      R"(data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta",)"
      R"("text":"is."}})"
      "\n\nevent: content_block_stop\n"
      R"(data: {"type":"content_block_stop","index":0})"
      "\n\nevent: message_delta\n"
      R"(data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},)"
      R"("usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,)"
      R"("output_tokens":2,"output_tokens_details":{"thinking_tokens":0}}})"
      "\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
  events(stream);
}

ChoicePart messages_calls() {
  ChoicePart part{.text = "I do.", .finish = Finish::kEndOfText, .reasoning = "hm, so"};
  part.calls = {{0, "call_a", "read", R"({"p": "\u0001", "n": 1.5})"},
                {1, "abcDEF123", "list", "{}"}};
  part.called = true;
  return part;
}

constexpr const char* kCalledContent =
    R"([{"type":"thinking","thinking":"hm, so","signature":"aGVhcnRo"},)"
    R"({"type":"text","text":"I do."},)"
    R"({"type":"tool_use","id":"toolu_a","name":"read","input":{"p":"\u0001","n":1.5E0}},)"
    R"({"type":"tool_use","id":"abcDEF123","name":"list","input":{}}])";

TEST_F(MessagesReplies, ProgressIsAPing) {
  const auto told = events(reply_.progress({.total = 12, .cached = 2, .read = 7, .seconds = 0.5}));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].at("type"), "ping");
  EXPECT_EQ(told[0].at_pointer("/prompt_progress/processed"), 7);
}

TEST_F(MessagesReplies, AWholeReply) {
  const json::value body = checked(whole(messages_calls(), {9, 3, 4, 1}), "MessagesReply");
  EXPECT_EQ(json::serialize(body.at("content")), kCalledContent);
  EXPECT_EQ(body.at("id"), "msg_7");
  EXPECT_EQ(body.at("stop_reason"), "tool_use");
  EXPECT_EQ(json::serialize(body.at("usage")),
            R"({"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,)"
            R"("output_tokens":3,"output_tokens_details":{"thinking_tokens":1}})");
  const json::value empty = checked(whole({.finish = Finish::kEndOfText}), "MessagesReply");
  EXPECT_TRUE(empty.at("content").as_array().empty());
}

TEST_F(MessagesReplies, DeltasJoinedAreTheWhole) {
  std::string stream = reply_.begin({}, 1);
  std::vector<ChoicePart> parts(6);
  parts[0].reasoning = "hm,";
  parts[1].reasoning = " so";
  parts[1].text = "I ";
  parts[2].text = "do.";
  parts[2].calls = {{0, "call_a", "read", R"({"p": "\u0)"}};
  parts[3].calls = {{0, "", "", R"(001")"}};
  parts[4].calls = {{0, "", "", R"(, "n": 1.5})"}, {1, "abcDEF123", "list", ""}};
  parts[5].calls = {{1, "", "", "{}"}};
  parts[5].finish = Finish::kEndOfText;
  parts[5].called = true;
  for (const ChoicePart& part : parts) stream += reply_.part(part);
  stream += reply_.end({});
  const std::vector<json::value> all = events(stream);
  EXPECT_EQ(content_of(all), kCalledContent);
  EXPECT_EQ(all.at(all.size() - 2).at("delta").at("stop_reason"), "tool_use");
}

TEST_F(MessagesReplies, RestOfACallComesBeforeLaterContent) {
  std::vector<ChoicePart> parts(2);
  parts[0].calls = {{0, "call_a", "read", "{"}};
  parts[1].calls = {{0, "", "", "}"}, {1, "call_b", "list", "{}"}};
  parts[1].text = "And.";
  parts[1].finish = Finish::kLength;
  parts[1].called = true;
  std::string stream;
  for (const ChoicePart& part : parts) stream += reply_.part(part);
  const std::vector<json::value> all = events(stream + reply_.end({}));
  EXPECT_EQ(content_of(all), R"([{"type":"tool_use","id":"toolu_a","name":"read","input":{}},)"
                             R"({"type":"text","text":"And."},)"
                             R"({"type":"tool_use","id":"toolu_b","name":"list","input":{}}])");
  EXPECT_EQ(all.at(all.size() - 2).at("delta").at("stop_reason"), "max_tokens");
}

TEST_F(MessagesReplies, StopReasons) {
  auto reason = [&](Finish finish) {
    return json::serialize(
        checked(whole({.text = "x", .finish = finish}), "MessagesReply").at("stop_reason"));
  };
  EXPECT_EQ(reason(Finish::kEndOfText), "\"end_turn\"");
  EXPECT_EQ(reason(Finish::kLength), "\"max_tokens\"");
  EXPECT_EQ(reason(Finish::kContext), "\"max_tokens\"");
  EXPECT_EQ(reason(Finish::kStopString), "\"stop_sequence\"");
}

TEST_F(MessagesReplies, ACallThatWasCutHasNoInput) {
  ChoicePart part{.finish = Finish::kLength};
  part.calls = {{0, "call_a", "read", R"({"p": "x)"}};
  part.called = true;
  const json::value body = checked(whole(part), "MessagesReply");
  EXPECT_EQ(json::serialize(body.at("content").at(0).at("input")), "{}");
}

TEST_F(MessagesReplies, Errors) {
  const std::map<unsigned, const char*> types = {{400, "invalid_request_error"},
                                                 {401, "authentication_error"},
                                                 {403, "permission_error"},
                                                 {404, "not_found_error"},
                                                 {413, "request_too_large"},
                                                 {429, "rate_limit_error"},
                                                 {500, "api_error"},
                                                 {503, "overloaded_error"},
                                                 {529, "overloaded_error"}};
  for (const auto& [status, type] : types) {
    const ApiError error{status, "", "code", "n is 3", "n", {{"Retry-After", "2"}}};
    const json::value body = checked(messages_error_body(error, "req_7"), "MessagesError");
    EXPECT_EQ(body.at("error").at("type"), json::string_view(type));
    EXPECT_EQ(body.at("error").at("message"), "n is 3");
    EXPECT_EQ(body.at("request_id"), "req_7");
    EXPECT_EQ(events(reply_.error(error), "MessagesError").size(), 1u);
    const HttpReply reply = messages_error_reply(error, "req_7");
    EXPECT_EQ(reply.status, status);
    EXPECT_EQ(reply.body, messages_error_body(error, "req_7"));
    EXPECT_EQ(reply.fields, error.fields);
  }
  const ApiError thread{400, "", std::string(kThreadCode), "m", "thread", {}};
  EXPECT_EQ(checked(messages_error_body(thread, "u"), "MessagesError").at("error").at("details"),
            read_json(R"({"error_code":"thread_unsupported_request","unsupported":["thread"]})"));
  const std::string large =
      messages_error_body({400, "", "code", std::string(3000, '\x01'), {}, {}}, "u");
  checked(large, "MessagesError");
  EXPECT_LE(large.size(), kErrorBytes);
}

TEST_F(MessagesReplies, HostileTextStaysJson) {
  const std::string hostile("\0\x1F\"\\\xFF\xED\xA0\x80</script>\n\ndata: x\r\n", 28);
  ChoicePart part{.text = hostile, .finish = Finish::kLength, .reasoning = hostile};
  part.calls = {{0, hostile, hostile, hostile}};
  checked(whole(part), "MessagesReply");
  std::string stream = reply_.begin({}, 1);
  stream += reply_.part(part);
  stream += reply_.end({});
  EXPECT_EQ(events(stream).size(), 14u);
  checked(messages_error_body({500, "", "code", hostile, {}, {}}, "u"), "MessagesError");
}

TEST_F(MessagesReplies, InputTokens) {
  EXPECT_EQ(input_tokens_body(12), "{\"input_tokens\":12}\n");
  checked(input_tokens_body(0), "InputTokens");
}

}  // namespace
}  // namespace hearth
