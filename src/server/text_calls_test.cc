#include "server/text_calls.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace hearth {
namespace {

template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const RequestError& error) {
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}

TEST(TextCalls, Tokenize) {
  TokenizeCall call = read_tokenize_call(R"({"content":"a"})", {});
  EXPECT_EQ(call.text, "a");
  EXPECT_TRUE(call.add_special);
  EXPECT_FALSE(call.parse_special);
  call = read_tokenize_call(R"({"prompt":"b","add_special":false,"parse_special":true,"x":1})", {});
  EXPECT_EQ(call.text, "b");
  EXPECT_FALSE(call.add_special);
  EXPECT_TRUE(call.parse_special);
  auto error = [](const char* body) { return error_of([&] { read_tokenize_call(body, {}); }); };
  EXPECT_EQ(error("{}"), "missing_required_parameter: content is missing");
  EXPECT_EQ(error(R"({"prompt":[1]})"), "invalid_type: prompt is an array; it must be a string");
  EXPECT_EQ(error(R"({"content":"","add_special":0})"),
            "invalid_type: add_special is a number; it must be true or false");
}

TEST(TextCalls, Detokenize) {
  EXPECT_EQ(read_detokenize_call(R"({"tokens":[1,2]})", {}, 3), (std::vector<int32_t>{1, 2}));
  EXPECT_TRUE(read_detokenize_call(R"({"tokens":[]})", {}, 3).empty());
  auto error = [](const char* body) {
    return error_of([&] { read_detokenize_call(body, {}, 3); });
  };
  EXPECT_EQ(error(R"({"tokens":[3]})"),
            "invalid_value: tokens[0] is 3; it must lie between 0 and 2");
  EXPECT_EQ(error(R"({"tokens":"1"})"),
            "invalid_type: tokens is a string; it must be an array of ids");
}

TEST(TextCalls, ApplyTemplate) {
  TemplateCall call = read_template_call(
      R"({"messages":[{"role":"user","content":"x"}],"chat_template_kwargs":{"a":1}})", {});
  EXPECT_EQ(boost::json::serialize(call.messages), R"([{"role":"user","content":"x"}])");
  EXPECT_EQ(boost::json::serialize(call.template_kwargs), R"({"a":1})");
  EXPECT_EQ(error_of([] { read_template_call("{}", {}); }),
            "missing_required_parameter: messages is missing");
}

TEST(TextCalls, ApplyTemplateShowsTheToolsThatAChatWould) {
  const std::string begin = R"({"messages":[{"role":"user","content":"x"}],
      "tools":[{"type":"function","function":{"name":"f"}}],"reasoning_effort":"low")";
  const TemplateCall call = read_template_call(begin + "}", {});
  EXPECT_EQ(call.template_kwargs.at("tools").as_array().size(), 1u);
  EXPECT_EQ(call.template_kwargs.at("reasoning_effort"), "low");
  EXPECT_FALSE(read_template_call(begin + R"(,"tool_choice":"none"})", {})
                   .template_kwargs.contains("tools"));
  EXPECT_EQ(error_of([&] { read_template_call(begin + R"(,"tool_choice":1})", {}); }),
            "invalid_type: tool_choice is a number; it must be a string or an object");
}

}  // namespace
}  // namespace hearth
