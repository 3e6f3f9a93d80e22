#include "bench/serve_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <cmath>
#include <set>

#include "base/error.h"
#include "base/json_reader.h"

namespace hearth {
namespace {

TEST(ReadShapes, LinesOfCsv) {
  using Shapes = std::vector<RequestShape>;
  EXPECT_EQ(read_shapes("512,128\n1,1", "f"), (Shapes{{512, 128}, {1, 1}}));
  EXPECT_EQ(read_shapes("prompt_tokens,output_tokens\r\n 3 , 4 \r\n\r\n5,6\r\n", "f"),
            (Shapes{{3, 4}, {5, 6}}));
  EXPECT_EQ(read_shapes("\"prompt\",\"output\"\n3,4", "f"), (Shapes{{3, 4}}));
  EXPECT_EQ(read_shapes("1048576,1", "f"), (Shapes{{1 << 20, 1}}));
}

std::string complaint(std::string_view csv) {
  try {
    read_shapes(csv, "f.csv");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(ReadShapes, NamesTheLineAtFault) {
  EXPECT_NE(complaint("1,2\n\n3;4\n").find("f.csv:3: '3;4'"), std::string::npos);
  for (const char* bad : {"0,1", "1,0", "1", "1,", ",1", "-1,2", "1,2,3", "1.5,2", "1048577,1",
                          "1,2\nprompt,output", "99999999999,1"}) {
    EXPECT_NE(complaint(bad).find("' is not a pair of lengths such as 512,128, each from 1 to"),
              std::string::npos)
        << bad;
  }
  EXPECT_NE(complaint("").find("f.csv has no line"), std::string::npos);
  EXPECT_NE(complaint("prompt,output\n").find("has no line"), std::string::npos);
}

TEST(PoissonArrivals, GapsAreExponential) {
  constexpr int kCount = 100'000;
  constexpr double kRate = 4;
  PoissonArrivals arrivals(kRate, 7);
  double last = 0, squares = 0;
  int above = 0;  // gaps longer than the mean
  for (int i = 0; i < kCount; ++i) {
    double next = arrivals.next();
    double gap = (next - last) * kRate;
    ASSERT_GE(gap, 0);
    squares += gap * gap;
    above += gap > 1;
    last = next;
  }
  // These are means of 100,000 values. Their standard errors are 1, sqrt(20) and sqrt(p (1 - p)),
  // each over the root of 100,000. Five standard errors are allowed.
  EXPECT_NEAR(last * kRate / kCount, 1, 5 * 0.00317);
  EXPECT_NEAR(squares / kCount, 2, 5 * 0.01415);
  EXPECT_NEAR(static_cast<double>(above) / kCount, std::exp(-1), 5 * 0.00153);
}

TEST(PoissonArrivals, FollowTheSeed) {
  PoissonArrivals one(2, 1), same(2, 1), other(2, 2), faster(4, 1);
  double first = one.next();
  EXPECT_EQ(same.next(), first);
  EXPECT_NE(other.next(), first);
  EXPECT_DOUBLE_EQ(faster.next(), first / 2);
}

boost::json::value made(RequestMaker& maker, RequestShape shape) {
  return read_json(maker.next(shape));
}

TEST(RequestMaker, TokenIds) {
  ServeCall call;
  call.model = "m";
  RequestMaker maker(call, 99);
  boost::json::value body = made(maker, {50, 7});
  EXPECT_EQ(body.at("model").as_string(), "m");
  EXPECT_EQ(body.at("prompt").as_array().size(), 50u);
  for (const boost::json::value& id : body.at("prompt").as_array()) {
    EXPECT_GE(id.as_int64(), 300);
    EXPECT_LE(id.as_int64(), 999);
  }
  EXPECT_EQ(body.at("max_tokens").as_int64(), 7);
  EXPECT_TRUE(body.at("stream").as_bool());
  EXPECT_TRUE(body.at("ignore_eos").as_bool());
  EXPECT_TRUE(body.at("stream_options").at("include_usage").as_bool());
  EXPECT_EQ(body.at("temperature").as_int64(), 0);
  EXPECT_EQ(call.path(), "/v1/completions");
}

TEST(RequestMaker, TextAndChat) {
  ServeCall call;
  call.text = true;
  RequestMaker text(call, 1);
  boost::json::value body = made(text, {9, 1});
  EXPECT_FALSE(body.as_object().contains("model"));
  std::string_view prompt = body.at("prompt").as_string();
  EXPECT_EQ(std::ranges::count(prompt, ' '), 8);
  call.chat = true;
  RequestMaker chat(call, 1);
  boost::json::value asked = made(chat, {9, 1});
  EXPECT_EQ(asked.at("messages").at(0).at("role").as_string(), "user");
  EXPECT_EQ(asked.at("messages").at(0).at("content").as_string(), prompt);
  EXPECT_EQ(call.path(), "/v1/chat/completions");
}

TEST(RequestMaker, NoTwoPromptsBeginAlike) {
  RequestMaker maker({}, 5), again({}, 5), later({}, 6);
  std::set<std::string> seen;
  for (int i = 0; i < 3000; ++i) {
    std::string body = maker.next({4, 1});
    std::string prompt = body.substr(0, body.find(']'));
    EXPECT_TRUE(seen.insert(prompt).second) << prompt;
  }
  EXPECT_EQ(again.next({4, 1}), RequestMaker({}, 5).next({4, 1}));
  EXPECT_NE(later.next({4, 1}), RequestMaker({}, 5).next({4, 1}));
}

TEST(RequestMaker, SharesAPrefix) {
  ServeCall call;
  call.shared_prefix = 20;
  RequestMaker maker(call, 5);
  auto first = made(maker, {30, 1}).at("prompt").as_array();
  auto second = made(maker, {40, 1}).at("prompt").as_array();
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + 20, second.begin()));
  EXPECT_NE(first[20], second[20]);
  EXPECT_EQ(made(maker, {10, 1}).at("prompt").as_array().size(), 10u);
}

}  // namespace
}  // namespace hearth
