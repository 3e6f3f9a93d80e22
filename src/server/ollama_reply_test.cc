#include "server/ollama_reply.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json_reader.h"
#include "server/openapi.h"
#include "server/test_schema.h"

namespace hearth {
namespace {

namespace json = boost::json;

class OllamaReplies : public testing::Test {
 protected:
  json::value checked(std::string_view body, OllamaRoute route) {
    json::value value = read_json(body);
    const char* schema = route == OllamaRoute::kChat ? "OllamaChatReply" : "OllamaGenerateReply";
    EXPECT_EQ(schema_error(document_, schema, value), "") << body;
    return value;
  }

  // Returns the lines of a stream of these parts.
  std::vector<json::value> lines(const std::vector<ChoicePart>& parts, OllamaReplyHead head) {
    OllamaReply reply(head);
    std::string all = reply.begin({}, 1);
    for (const ChoicePart& part : parts) all += reply.part(part);
    all += reply.end(kTaken);
    std::vector<json::value> values;
    for (std::string_view rest = all; !rest.empty();) {
      const size_t end = rest.find('\n');
      values.push_back(checked(rest.substr(0, end), head.route));
      rest.remove_prefix(end + 1);
    }
    return values;
  }

  json::value whole(ChoicePart choice, OllamaReplyHead head) {
    std::vector<ChoicePart> choices;
    if (head.asked == OllamaAsked::kText) choices.push_back(std::move(choice));
    const OllamaRoute route = head.route;
    return checked(whole_body(*OllamaReply(std::move(head)).whole(std::move(choices), kTaken)),
                   route);
  }

  static constexpr Usage kTaken{.prompt_tokens = 5,
                                .completion_tokens = 7,
                                .total_seconds = 2,
                                .prompt_seconds = 0.5,
                                .generation_seconds = 1.25};
  const json::value document_ = read_json(openapi_json());
};

ChoicePart text_part(std::string text) { return {.text = std::move(text)}; }
ChoicePart end_part(Finish finish) {
  ChoicePart part;
  part.finish = finish;
  return part;
}

TEST_F(OllamaReplies, LinesOfAChat) {
  ChoicePart thought;
  thought.reasoning = "hm";
  const auto all =
      lines({thought, text_part("Hel"), text_part("lo\xff"), end_part(Finish::kLength)},
            {.model = "demo:latest"});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].at_pointer("/message/thinking"), "hm");
  EXPECT_EQ(all[0].at_pointer("/message/content"), "");
  EXPECT_EQ(all[1].at_pointer("/message/content"), "Hel");
  EXPECT_EQ(all[2].at_pointer("/message/content"), "lo\xef\xbf\xbd");
  EXPECT_EQ(all[2].at("done"), false);
  const json::value& last = all[3];
  EXPECT_EQ(last.at("model"), "demo:latest");
  EXPECT_EQ(last.at("done_reason"), "length");
  EXPECT_EQ(last.at("total_duration"), 2'000'000'000);
  EXPECT_EQ(last.at("prompt_eval_count"), 5);
  EXPECT_EQ(last.at("prompt_eval_duration"), 500'000'000);
  EXPECT_EQ(last.at("eval_count"), 7);
  EXPECT_EQ(last.at("eval_duration"), 1'250'000'000);
}

TEST_F(OllamaReplies, CallsAreWhole) {
  ChoicePart first, more, second;
  first.calls = {{.index = 0, .id = "a", .name = "f"}};
  more.calls = {{.index = 0, .arguments = R"({"x":)"}};
  second.calls = {{.index = 0, .arguments = "1}"}, {.index = 1, .id = "b", .name = "g"}};
  ChoicePart cut;
  cut.calls = {{.index = 1, .arguments = R"({"y")"}};
  const auto all = lines({first, more, second, cut, end_part(Finish::kEndOfText)}, {.calls = true});
  ASSERT_EQ(all.size(), 3u);
  const json::value& call = all[0].at_pointer("/message/tool_calls/0");
  EXPECT_EQ(call.at("id"), "a");
  EXPECT_EQ(call.at_pointer("/function/name"), "f");
  EXPECT_EQ(call.at_pointer("/function/arguments/x"), 1);
  EXPECT_EQ(all[1].at_pointer("/message/tool_calls/0/function/index"), 1);
  EXPECT_TRUE(all[1].at_pointer("/message/tool_calls/0/function/arguments").as_object().empty());
  EXPECT_EQ(all[2].at("done_reason"), "stop");
}

TEST_F(OllamaReplies, WholeBodiesHaveTheSameFields) {
  ChoicePart choice = end_part(Finish::kStopString);
  choice.text = "Hello";
  choice.reasoning = "hm";
  choice.calls = {{.index = 0, .id = "a", .name = "f", .arguments = "{}"}};
  choice.entries = {{.bytes = "Hello", .logprob = -0.5, .top = {{"Hi", -1}}}};
  const json::value chat = whole(choice, {.logprobs = true});
  EXPECT_EQ(chat.at_pointer("/message/content"), "Hello");
  EXPECT_EQ(chat.at_pointer("/message/tool_calls/0/function/name"), "f");
  EXPECT_EQ(chat.at_pointer("/logprobs/0/top_logprobs/0/token"), "Hi");
  EXPECT_EQ(chat.at("done_reason"), "stop");
  choice.calls = {};
  const json::value text = whole(choice, {.route = OllamaRoute::kGenerate});
  EXPECT_EQ(text.at("response"), "Hello");
  EXPECT_EQ(text.at("thinking"), "hm");
  EXPECT_EQ(text.at("eval_count"), 7);
}

TEST_F(OllamaReplies, NothingAskedIsAModelThatIsThere) {
  const json::value chat = whole({}, {.asked = OllamaAsked::kToLoad});
  EXPECT_EQ(chat.at("done_reason"), "load");
  EXPECT_FALSE(chat.as_object().contains("eval_count"));
  const auto text = lines({}, {.route = OllamaRoute::kGenerate, .asked = OllamaAsked::kToLoad});
  ASSERT_EQ(text.size(), 1u);
  EXPECT_EQ(text[0].at("done_reason"), "load");
  EXPECT_EQ(lines({}, {.asked = OllamaAsked::kToLetGo})[0].at("done_reason"), "unload");
}

TEST_F(OllamaReplies, LogprobsOfALine) {
  ChoicePart part = text_part("a");
  part.entries = {{.bytes = "a", .logprob = -1}};
  const auto all = lines({part, end_part(Finish::kEndOfText)}, {.logprobs = true});
  EXPECT_EQ(all[0].at_pointer("/logprobs/0/token"), "a");
}

TEST_F(OllamaReplies, ErrorsAreALine) {
  EXPECT_EQ(OllamaReply({}).error({500, "", "code", "It \"failed\"."}),
            "{\"error\":\"It \\\"failed\\\".\"}\n");
}

TEST(OllamaTime, IsRfc3339) {
  EXPECT_EQ(ollama_time(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(ollama_time(1795578770.25), "2026-11-25T03:52:50.250000Z");
  EXPECT_EQ(ollama_nanoseconds(-1), 0u);
}

}  // namespace
}  // namespace hearth
