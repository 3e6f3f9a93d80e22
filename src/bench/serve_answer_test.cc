#include "bench/serve_answer.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

ReplyEvent body(double when, std::string text) {
  ReplyEvent event;
  event.when = when;
  event.kind = ReplyEvent::Kind::kBody;
  event.status = 200;
  event.is_stream = true;
  event.text = std::move(text);
  return event;
}

ReplyEvent last(double when, std::string text = "") {
  ReplyEvent event = body(when, std::move(text));
  event.kind = ReplyEvent::Kind::kEnd;
  return event;
}

std::string text_event(const std::string& text) {
  return "data: {\"choices\":[{\"text\":\"" + text + "\",\"index\":0}],\"usage\":null}\n\n";
}

constexpr const char* kUsage =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":5}}\n\n";
constexpr const char* kDone = "data: [DONE]\n\n";

TEST(AnswerReader, TimesOfAStream) {
  AnswerReader reader({10, 5}, 100);
  reader.take(body(100.1, ": silence\n\n"));
  reader.take(body(100.5, text_event("a")));
  reader.take(body(100.6, text_event("b") + text_event("").substr(0, 9)));
  reader.take(body(101.0, text_event("").substr(9)));
  reader.take(body(101.1, text_event("c") + text_event("d")));
  reader.take(body(101.2, kUsage));
  EXPECT_FALSE(reader.ended());
  reader.take(body(101.3, kDone));
  reader.take(last(105));
  ASSERT_TRUE(reader.ended());
  const ServedRequest& request = reader.request();
  EXPECT_TRUE(request.completed());
  EXPECT_TRUE(request.counted_by_server);
  EXPECT_EQ(request.prompt_tokens, 12u);
  EXPECT_EQ(request.output_tokens, 5u);
  EXPECT_DOUBLE_EQ(request.ttft(), 100.5 - 100);
  EXPECT_DOUBLE_EQ(request.whole(), 101.3 - 100);
  EXPECT_DOUBLE_EQ(request.tpot(), (101.3 - 100.5) / 4);
  EXPECT_DOUBLE_EQ(request.longest_gap, 101.1 - 100.6);
}

TEST(AnswerReader, ChatBeginsWithItsFirstText) {
  AnswerReader reader({10, 5}, 0);
  reader.take(
      body(1, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"));
  reader.take(body(2, "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n"));
  reader.take(last(3, kDone));
  EXPECT_EQ(reader.request().first, 2);
  EXPECT_FALSE(reader.request().counted_by_server);
  EXPECT_EQ(reader.request().output_tokens, 1u);
  EXPECT_EQ(reader.request().prompt_tokens, 10u);
  EXPECT_EQ(reader.request().tpot(), 0);
}

TEST(AnswerReader, TokensWithoutText) {
  AnswerReader reader({10, 5}, 0);
  reader.take(last(3, std::string(kUsage) + kDone));
  EXPECT_TRUE(reader.request().completed());
  EXPECT_EQ(reader.request().ttft(), 3);
}

ServedRequest failed(const std::vector<ReplyEvent>& events) {
  AnswerReader reader({10, 5}, 0);
  for (const ReplyEvent& event : events) reader.take(event);
  EXPECT_TRUE(reader.ended());
  EXPECT_FALSE(reader.request().completed());
  return reader.request();
}

TEST(AnswerReader, KindsOfFailure) {
  ReplyEvent busy = last(1, R"({"error":{"message":"too many\nwait","code":"busy"}})");
  busy.status = 429;
  EXPECT_EQ(failed({busy}).failure, "HTTP 429");
  EXPECT_EQ(failed({busy}).said, "too many wait");
  ReplyEvent page = last(1, "<html>");
  page.is_stream = false;
  EXPECT_EQ(failed({page}).failure, "no stream");
  EXPECT_EQ(failed({page}).said, "<html>");
  EXPECT_EQ(failed({body(1, text_event("a")), last(2)}).failure, "cut short");
  EXPECT_EQ(failed({last(2, kDone)}).failure, "no tokens");
  EXPECT_EQ(failed({body(1, "data: {\n\n")}).failure, "malformed");
  ServedRequest error =
      failed({body(1, text_event("a")), body(2, "data: {\"error\":{\"message\":\"gone\"}}\n\n")});
  EXPECT_EQ(error.failure, "error in stream");
  EXPECT_EQ(error.said, "gone");
  EXPECT_EQ(error.end, 2);
  ReplyEvent refused;
  refused.kind = ReplyEvent::Kind::kFailed;
  refused.failure = "connect";
  EXPECT_EQ(failed({refused}).failure, "connect");
}

TEST(AnswerReader, StrangeJsonGivesNoText) {
  for (const char* data : {"7", "[]", "null", "{}", "{\"choices\":7}", "{\"choices\":[7]}",
                           "{\"choices\":[{\"text\":7}]}", "{\"choices\":[{\"delta\":[]}]}",
                           "{\"usage\":{\"prompt_tokens\":-1,\"completion_tokens\":1e99}}",
                           "{\"usage\":7,\"error\":null}"}) {
    AnswerReader reader({10, 5}, 0);
    reader.take(body(1, std::string("data: ") + data + "\n\n" + text_event("a") + kDone));
    reader.take(last(2));
    EXPECT_TRUE(reader.request().completed()) << data;
    EXPECT_EQ(reader.request().output_tokens, 1u) << data;
  }
}

TEST(ErrorMessage, FallsBackOnTheRawBody) {
  EXPECT_EQ(error_message("{\"error\":\"no such model\"}"), "no such model");
  EXPECT_EQ(error_message("{\"detail\":1}"), "{\"detail\":1}");
  EXPECT_EQ(error_message(std::string(5000, 'x')).size(), 200u);
  EXPECT_EQ(error_message("a\x1b[1m\tb"), "a [1m b");
}

}  // namespace
}  // namespace hearth
