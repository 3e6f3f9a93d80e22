#include "server/responses_reply.h"

#include <gtest/gtest.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/responses_request.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

ResponseHead response_head(const std::string& members) {
  ResponsesBody body = read_responses_body("{" + members + "}", {});
  return {.unique = "1a",
          .model = "m",
          .created = 7,
          .temperature = 0.7f,
          .echo = std::move(body.echo)};
}

// Returns the data of a stream's events; checks that their names are their types and that they are
// numbered from 0.
std::vector<json::value> response_events(const std::string& stream) {
  std::vector<json::value> events;
  size_t at = 0;
  while (at < stream.size()) {
    const size_t line = stream.find('\n', at), end = stream.find("\n\n", at);
    const std::string name = stream.substr(at, line - at);
    const std::string data = stream.substr(line + 1, end - line - 1);
    EXPECT_EQ(data.find("data: "), 0u) << data;
    json::value event = read_json(data.substr(6));
    EXPECT_EQ(name, "event: " + std::string(event.at("type").as_string()));
    EXPECT_EQ(event.at("sequence_number"), events.size());
    events.push_back(std::move(event));
    at = end + 2;
  }
  return events;
}

std::string event_types(const std::vector<json::value>& events) {
  std::string types;
  for (const json::value& event : events) {
    std::string type(event.at("type").as_string());
    types += (type.starts_with("response.") ? type.substr(9) : type) + "\n";
  }
  return types;
}

const Usage kTurnUsage{
    .prompt_tokens = 9, .completion_tokens = 5, .cached_tokens = 4, .reasoning_tokens = 2};

std::vector<ChoicePart> turn_parts() {
  return {{.reasoning = "I "},
          {.reasoning = "must"},
          {.text = "Look"},
          {.text = ".", .calls = {{.index = 0, .id = "call_1", .name = "f"}}},
          {.calls = {{.index = 0, .arguments = "{\"a\""}}},
          {.calls = {{.index = 0, .arguments = ":1}"},
                     {.index = 1, .id = "call_2", .name = "crew__g", .arguments = "{}"}}},
          {.finish = Finish::kEndOfText, .called = true}};
}

constexpr const char* kNamespace = R"("input":"x","tools":[{"type":"function","name":"f"},
    {"type":"namespace","name":"crew","description":"","tools":[{"type":"function","name":"g"}]}])";

std::string response_stream(ResponsesReply& reply, const std::vector<ChoicePart>& parts) {
  std::string stream = reply.begin(kTurnUsage, 1);
  for (const ChoicePart& part : parts) stream += reply.part(part);
  return stream;
}

std::string ended_stream(ResponsesReply& reply, const std::vector<ChoicePart>& parts) {
  const std::string stream = response_stream(reply, parts);
  return stream + reply.end(kTurnUsage);
}

class ResponsesReplies : public testing::Test {
 protected:
  void expect_valid(const json::value& value, const char* schema) {
    EXPECT_EQ(schema_error(document_, schema, value), "") << json::serialize(value);
  }
  std::vector<json::value> checked_events(const std::string& stream) {
    std::vector<json::value> events = response_events(stream);
    for (const json::value& event : events) expect_valid(event, "ResponsesEvent");
    return events;
  }

  const json::value document_ = read_json(openapi_json());
};

TEST_F(ResponsesReplies, StreamEventsOfEveryItemFromBeginningToEnd) {
  ResponsesReply reply(response_head(kNamespace));
  const std::string stream = ended_stream(reply, turn_parts());
  const std::vector<json::value> events = checked_events(stream);
  EXPECT_EQ(event_types(events),
            "created\nin_progress\n"
            "output_item.added\ncontent_part.added\nreasoning_text.delta\nreasoning_text.delta\n"
            "reasoning_text.done\ncontent_part.done\noutput_item.done\n"
            "output_item.added\ncontent_part.added\noutput_text.delta\noutput_text.delta\n"
            "output_text.done\ncontent_part.done\noutput_item.done\n"
            "output_item.added\nfunction_call_arguments.delta\nfunction_call_arguments.delta\n"
            "function_call_arguments.done\noutput_item.done\n"
            "output_item.added\nfunction_call_arguments.delta\nfunction_call_arguments.done\n"
            "output_item.done\ncompleted\n");
}

// Checks the ids and texts in the events, item by item, against the last response.
TEST_F(ResponsesReplies, StreamTheItemsOfTheLastResponse) {
  ResponsesReply reply(response_head(kNamespace));
  const std::vector<json::value> events = response_events(ended_stream(reply, turn_parts()));
  std::map<uint64_t, std::set<std::string>> ids;
  std::map<uint64_t, std::string> deltas, done;
  for (const json::value& event : events) {
    const json::object& members = event.as_object();
    const json::value* place = members.if_contains("output_index");
    if (place == nullptr) continue;
    const auto index = place->to_number<uint64_t>();
    const json::value* item = members.if_contains("item");
    ids[index].emplace((item != nullptr ? item->at("id") : members.at("item_id")).as_string());
    if (const json::value* delta = members.if_contains("delta")) {
      deltas[index] += std::string(delta->as_string());
    }
    if (members.at("type") == "response.output_item.done") done[index] = json::serialize(*item);
  }
  const json::value& last = events.back().at("response");
  const json::array& output = last.at("output").as_array();
  ASSERT_EQ(output.size(), 4u);
  std::set<std::string> all;
  for (size_t i = 0; i < output.size(); ++i) {
    EXPECT_EQ(ids[i], (std::set<std::string>{std::string(output[i].at("id").as_string())}));
    EXPECT_EQ(json::serialize(output[i]), done[i]);
    all.merge(ids[i]);
  }
  EXPECT_EQ(all.size(), 4u);
  EXPECT_EQ(deltas[0], "I must");
  EXPECT_EQ(output[0].at("content").at(0).at("text"), "I must");
  EXPECT_EQ(output[1].at("content").at(0).at("text"), "Look.");
  EXPECT_EQ(output[2].at("arguments"), R"({"a":1})");
  EXPECT_EQ(output[2].at("call_id"), "call_1");
  EXPECT_EQ(output[3].at("namespace"), "crew");
  EXPECT_EQ(output[3].at("name"), "g");
  EXPECT_EQ(last.at("status"), "completed");
  EXPECT_EQ(json::serialize(last.at("usage")),
            R"({"input_tokens":9,"input_tokens_details":{"cached_tokens":4,)"
            R"("cache_write_tokens":0},"output_tokens":5,)"
            R"("output_tokens_details":{"reasoning_tokens":2},"total_tokens":14})");
}

TEST_F(ResponsesReplies, StreamPromptProgress) {
  ResponsesReply reply(response_head(R"("input":"x")"));
  std::string stream = reply.begin({}, 1);
  stream += reply.progress({.total = 12, .cached = 2, .read = 7, .seconds = 0.5});
  const auto events = response_events(stream);
  EXPECT_EQ(event_types(events), "created\nin_progress\nprompt_progress\n");
  EXPECT_EQ(events[2].at_pointer("/prompt_progress/processed"), 7);
}

TEST_F(ResponsesReplies, WholeRepliesEqualStreamedOnes) {
  ResponsesReply streamed(response_head(kNamespace)), whole(response_head(kNamespace));
  const std::vector<json::value> events = response_events(ended_stream(streamed, turn_parts()));
  ChoicePart choice;
  for (ChoicePart part : turn_parts()) choice.append(std::move(part));
  std::vector<ChoicePart> choices;
  choices.push_back(std::move(choice));
  std::unique_ptr<BodySource> source = whole.whole(std::move(choices), kTurnUsage);
  const json::value body = read_json(whole_body(*source));
  expect_valid(body, "ResponsesObject");
  const json::value& last = events.back().at("response");
  EXPECT_EQ(json::serialize(body.at("output")), json::serialize(last.at("output")));
  EXPECT_EQ(json::serialize(body.at("usage")), json::serialize(last.at("usage")));
  EXPECT_EQ(body.at("id"), "resp_1a");
  EXPECT_EQ(body.at("temperature"), 0.7);
  EXPECT_EQ(body.at("tools").as_array().size(), 2u);
}

constexpr const char* kSummed = R"("input":"x","reasoning":{"summary":"auto"},
    "include":["reasoning.encrypted_content"])";

TEST_F(ResponsesReplies, StreamReasoningAsASummaryWhereAsked) {
  ResponsesReply reply(response_head(kSummed));
  const std::string stream = ended_stream(reply, {{.reasoning = "I "},
                                                  {.reasoning = "must"},
                                                  {.text = "Hm."},
                                                  {.finish = Finish::kEndOfText}});
  const std::vector<json::value> events = checked_events(stream);
  EXPECT_EQ(event_types(events),
            "created\nin_progress\n"
            "output_item.added\ncontent_part.added\nreasoning_summary_part.added\n"
            "reasoning_text.delta\nreasoning_summary_text.delta\n"
            "reasoning_text.delta\nreasoning_summary_text.delta\n"
            "reasoning_text.done\ncontent_part.done\n"
            "reasoning_summary_text.done\nreasoning_summary_part.done\noutput_item.done\n"
            "output_item.added\ncontent_part.added\noutput_text.delta\n"
            "output_text.done\ncontent_part.done\noutput_item.done\ncompleted\n");
  EXPECT_EQ(json::serialize(events[2].at("item").at("summary")), "[]");
  EXPECT_EQ(events[6].at("delta"), "I ");
  EXPECT_EQ(events[11].at("text"), "I must");
  EXPECT_EQ(events[12].at("part").at("text"), "I must");
  const json::value& response = events.back().at("response");
  EXPECT_EQ(response.at("reasoning").at("summary"), "auto");
  const json::value& item = response.at("output").at(0);
  EXPECT_EQ(json::serialize(item.at("summary")), R"([{"type":"summary_text","text":"I must"}])");
  EXPECT_EQ(item.at("content").at(0).at("text"), "I must");
  EXPECT_EQ(item.at("encrypted_content"), "hearth1.SSBtdXN0");
  EXPECT_EQ(json::serialize(item), json::serialize(events[13].at("item")));
}

// Whichever member of a reasoning item a client sends back, the chat's messages are the same.
TEST_F(ResponsesReplies, ComeBackAsTheSameReasoning) {
  const char* text = "I must\n\u00e9 \xf0\x9f\xa6\x8a \"look\".\n";
  ResponsesReply reply(response_head(kSummed));
  const std::string stream =
      ended_stream(reply, {{.reasoning = text}, {.text = "Hm."}, {.finish = Finish::kEndOfText}});
  const json::object whole =
      checked_events(stream).back().at("response").at("output").at(0).as_object();
  const auto history = [](const json::object& item) {
    const ResponsesBody body = read_responses_body(
        R"({"input":[)" + json::serialize(item) + R"(,{"role":"assistant","content":"Hm."}]})", {});
    return json::serialize(body.chat.at("messages"));
  };
  json::object expected{
      {"role", "assistant"}, {"content", "Hm."}, {"reasoning_content", std::string(text)}};
  EXPECT_EQ(history(whole), "[" + json::serialize(expected) + "]");
  for (const char* kept : {"content", "encrypted_content", "summary"}) {
    json::object item{{"type", "reasoning"}, {"id", "rs_1"}, {"summary", json::array()}};
    item[kept] = whole.at(kept);
    EXPECT_EQ(history(item), history(whole)) << kept;
  }
}

// Text in the same part as the end of a call's arguments does not begin another call.
TEST_F(ResponsesReplies, GoOnWithACallBeforeAllElse) {
  ResponsesReply reply(response_head(kNamespace));
  const std::string stream =
      ended_stream(reply, {{.calls = {{.index = 0, .id = "call_1", .name = "f"}}},
                           {.text = "!", .calls = {{.index = 0, .arguments = "{}"}}},
                           {.finish = Finish::kEndOfText, .called = true}});
  const json::value last = checked_events(stream).back();
  const json::array& output = last.at("response").at("output").as_array();
  ASSERT_EQ(output.size(), 2u);
  EXPECT_EQ(output[0].at("arguments"), "{}");
  EXPECT_EQ(output[1].at("content").at(0).at("text"), "!");
}

TEST_F(ResponsesReplies, SayWhereTheyWereCut) {
  ResponsesReply reply(response_head(R"("input":"x","max_output_tokens":2)"));
  const std::string stream = ended_stream(reply, {{.text = "ab"}, {.finish = Finish::kLength}});
  const json::value last = checked_events(stream).back();
  EXPECT_EQ(last.at("type"), "response.incomplete");
  EXPECT_EQ(last.at("response").at("status"), "incomplete");
  EXPECT_EQ(last.at("response").at("incomplete_details").at("reason"), "max_output_tokens");
  EXPECT_EQ(last.at("response").at("output").at(0).at("status"), "incomplete");
}

TEST_F(ResponsesReplies, HaveAMessageWhereTheModelSaidNothing) {
  ResponsesReply reply(response_head(R"("input":"x")"));
  const std::string stream = ended_stream(reply, {{.finish = Finish::kEndOfText}});
  const json::value last = checked_events(stream).back();
  const json::array& output = last.at("response").at("output").as_array();
  ASSERT_EQ(output.size(), 1u);
  EXPECT_EQ(output[0].at("content").at(0).at("text"), "");
}

TEST_F(ResponsesReplies, StreamErrorsWithTheOutputSoFar) {
  const ApiError error{503, "", "cancelled",
                       "the server was shut down before this answer was complete"};
  ResponsesReply reply(response_head(R"("input":"x")"));
  const std::string stream = response_stream(reply, {{.text = "ab"}});
  const std::vector<json::value> events = checked_events(stream + reply.error(error));
  EXPECT_EQ(event_types(events),
            "created\nin_progress\noutput_item.added\ncontent_part.added\noutput_text.delta\n"
            "output_text.done\ncontent_part.done\noutput_item.done\nerror\nfailed\n");
  EXPECT_EQ(events[8].at("code"), "cancelled");
  const json::value& last = events.back().at("response");
  EXPECT_EQ(last.at("status"), "failed");
  EXPECT_EQ(last.at("error").at("code"), "server_error");
  EXPECT_EQ(last.at("error").at("message").as_string(), error.message);
  EXPECT_EQ(last.at("output").at(0).at("content").at(0).at("text"), "ab");
}

TEST_F(ResponsesReplies, CountTokens) {
  const json::value body = read_json(response_tokens_body(12));
  expect_valid(body, "ResponsesInputTokens");
  EXPECT_EQ(body.at("input_tokens"), 12);
}

}  // namespace
}  // namespace hearth
