#include "server/completion_request.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <cmath>
#include <functional>
#include <span>

#include "server/chat_messages.h"
#include "server/sampling_defaults.h"
#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

constexpr uint32_t kVocabulary = 1000;

CompletionCall chat(const std::string& fields,
                    const std::string& messages = R"([{"role":"user","content":"Hi"}])") {
  return read_chat_call("{\"messages\":" + messages + fields + "}", openai_sampling(), {},
                        kVocabulary);
}

CompletionCall text(const std::string& fields, const std::string& prompt = "\"Hi\"") {
  return read_text_call("{\"prompt\":" + prompt + fields + "}", openai_sampling(), {}, kVocabulary);
}

// Returns the error's "code: message", with the field in "[]" unless the message begins with it.
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const RequestError& error) {
    EXPECT_EQ(error.api().status, 400u);
    EXPECT_EQ(error.api().type, "invalid_request_error");
    EXPECT_EQ(error.api().message.find(error.api().param.value_or("")), 0u);
    return error.api().code + ": " + error.api().message;
  }
  return "none";
}
std::string chat_error(const std::string& fields) {
  return error_of([&] { chat(fields); });
}
std::string messages_error(const std::string& messages) {
  return error_of([&] { chat("", messages); });
}
std::string text_error(const std::string& fields) {
  return error_of([&] { text(fields); });
}
std::string prompt_error(const std::string& prompt) {
  return error_of([&] { text("", prompt); });
}

TEST(CompletionRequest, Defaults) {
  CompletionCall call = chat("");
  EXPECT_TRUE(call.chat);
  EXPECT_EQ(call.model, "");
  EXPECT_EQ(call.request.max_tokens, 0u);
  EXPECT_EQ(call.request.choices, 1u);
  EXPECT_EQ(call.request.sampling.temperature, 1);
  EXPECT_EQ(call.request.sampling.top_k, 0u);
  EXPECT_FALSE(call.seed_given || call.stream || call.include_usage || call.ignore_eos);
  EXPECT_FALSE(call.request.logprobs);
  EXPECT_EQ(text("").request.max_tokens, 16u);
  EXPECT_FALSE(text("").chat);
}

TEST(CompletionRequest, ReadsEveryField) {
  CompletionCall call = chat(R"(,"model":"m","max_tokens":5,"max_completion_tokens":7.0,
      "temperature":0.5,"top_p":0.25,"top_k":9,"min_p":0.125,"repetition_penalty":1.5,
      "presence_penalty":-2,"frequency_penalty":2,"seed":-1,"stop":["a","b"],
      "logit_bias":{"7":1.5,"0":-100},"n":3,"ignore_eos":true,"stream":true,
      "stream_options":{"include_usage":true,"include_obfuscation":false},"timings_per_token":true,
      "return_progress":true,"logprobs":true,"top_logprobs":4,
      "chat_template_kwargs":{"enable_thinking":false},
      "user":"u","metadata":{"a":1},"store":false,"new_field":[1])");
  EXPECT_EQ(call.model, "m");
  const Request& request = call.request;
  EXPECT_EQ(request.max_tokens, 7u);
  EXPECT_EQ(request.sampling.temperature, 0.5f);
  EXPECT_EQ(request.sampling.top_p, 0.25f);
  EXPECT_EQ(request.sampling.top_k, 9u);
  EXPECT_EQ(request.sampling.min_p, 0.125f);
  EXPECT_EQ(request.sampling.repeat_penalty, 1.5f);
  EXPECT_EQ(request.sampling.presence_penalty, -2);
  EXPECT_EQ(request.sampling.frequency_penalty, 2);
  EXPECT_TRUE(call.seed_given);
  EXPECT_EQ(request.sampling.seed, ~uint64_t{0});
  EXPECT_EQ(request.stops, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.sampling.logit_bias,
            (std::vector<std::pair<int32_t, float>>{{7, 1.5f}, {0, -INFINITY}}));
  EXPECT_EQ(request.choices, 3u);
  EXPECT_TRUE(call.ignore_eos && call.stream && call.include_usage && call.timings);
  EXPECT_TRUE(request.logprobs && request.report_read);
  EXPECT_EQ(request.top_logprobs, 4u);
  EXPECT_EQ(boost::json::serialize(call.template_kwargs), R"({"enable_thinking":false})");
}

TEST(CompletionRequest, ShapesOfTheTextByEveryName) {
  struct Said {
    const char* fields;
    OutputKind kind;
    const char *name, *text;
  };
  const Said all[] = {
      {R"("response_format":{"type":"text"})", OutputKind::kFree, "schema", ""},
      {R"("response_format":{"type":"json_object"})", OutputKind::kJsonObject, "response_format",
       ""},
      {R"("response_format":{"type":"json_object","schema":{"b":1,"a":2}})",
       OutputKind::kJsonSchema, "response_format.schema", R"({"b":1,"a":2})"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"a":1}}})",
       OutputKind::kJsonSchema, "response_format.json_schema.schema", R"({"a":1})"},
      {R"("structured_outputs":{"json":"{ }"})", OutputKind::kJsonSchema, "structured_outputs.json",
       "{ }"},
      {R"("structured_outputs":{"json_object":false,"regex":"a+"})", OutputKind::kRegex,
       "structured_outputs.regex", "a+"},
      {R"("structured_outputs":{"grammar":"root ::= x"})", OutputKind::kGbnf,
       "structured_outputs.grammar", "root ::= x"},
      {R"("guided_json":true)", OutputKind::kJsonSchema, "guided_json", "true"},
      {R"("json_schema":{})", OutputKind::kJsonSchema, "json_schema", "{}"},
      {R"("guided_regex":"[0-9]")", OutputKind::kRegex, "guided_regex", "[0-9]"},
      {R"("guided_choice":["a","b"])", OutputKind::kChoice, "guided_choice", ""},
      {R"("guided_grammar":"x")", OutputKind::kGbnf, "guided_grammar", "x"},
      {R"("grammar":"")", OutputKind::kFree, "schema", ""},
  };
  for (const Said& said : all) {
    const OutputShape shape = chat(std::string(",") + said.fields).shape;
    EXPECT_EQ(shape.kind, said.kind) << said.fields;
    EXPECT_EQ(shape.name, said.name);
    EXPECT_EQ(shape.text, said.text);
  }
  EXPECT_EQ(text(R"(,"guided_choice":["a","b"])").shape.choices,
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(chat_error(R"(,"guided_regex":"a","grammar":"x")"),
            "invalid_value: grammar cannot be combined with guided_regex; leave one of them out");
  EXPECT_EQ(chat_error(R"(,"response_format":{"type":"json_schema"})"),
            "missing_required_parameter: response_format.json_schema is missing");
  EXPECT_EQ(chat_error(R"(,"response_format":{"type":"xml"})"),
            "unsupported_parameter: response_format.type asks for something that this server does "
            "not support; give it text, json_object or json_schema");
  EXPECT_EQ(chat_error(R"(,"structured_outputs":{"choice":["a",1]})"),
            "invalid_type: structured_outputs.choice[1] is a number; it must be a string");
}

TEST(CompletionRequest, NullIsAbsent) {
  CompletionCall call = chat(R"(,"model":null,"max_tokens":null,"temperature":null,"seed":null,
      "stop":null,"logit_bias":null,"n":null,"stream":null,"stream_options":null,"logprobs":null,
      "top_logprobs":null,"tools":null,"response_format":null,"chat_template_kwargs":null)");
  EXPECT_EQ(call.request.sampling.temperature, 1);
  EXPECT_FALSE(call.seed_given);
  EXPECT_EQ(messages_error("null"), "missing_required_parameter: messages is missing");
  EXPECT_EQ(prompt_error("null"), "missing_required_parameter: prompt is missing");
}

TEST(CompletionRequest, BodiesThatAreNone) {
  auto error = [](std::string_view body) {
    return error_of([&] { read_chat_call(body, openai_sampling(), {}, kVocabulary); });
  };
  EXPECT_EQ(error("{\"messages\":"),
            "invalid_json: the body cannot be read: the JSON is incomplete: it ends at byte 12");
  EXPECT_EQ(error("[]"), "invalid_type: the body is an array; it must be an object");
  EXPECT_EQ(error("{}"), "missing_required_parameter: messages is missing");
  EXPECT_EQ(error("{\"seed\":1e999}").substr(0, 13), "invalid_json:");
  std::string deep = "{\"a\":" + std::string(80, '[') + std::string(80, ']') + "}";
  EXPECT_EQ(error(deep).substr(0, 13), "invalid_json:");
}

TEST(CompletionRequest, TypesAreStrict) {
  EXPECT_EQ(chat_error(R"(,"temperature":"1")"),
            "invalid_type: temperature is a string; it must be a number");
  EXPECT_EQ(chat_error(R"(,"n":true)"), "invalid_type: n is a boolean; it must be an integer");
  EXPECT_EQ(chat_error(R"(,"n":1.5)"), "invalid_type: n is 1.5; it must be an integer");
  EXPECT_EQ(chat_error(R"(,"stream":1)"),
            "invalid_type: stream is a number; it must be true or false");
  EXPECT_EQ(chat_error(R"(,"logprobs":3)"),
            "invalid_type: logprobs is a number; it must be true or false");
  EXPECT_EQ(text_error(R"(,"logprobs":true)"),
            "invalid_type: logprobs is a boolean; it must be an integer");
  EXPECT_EQ(chat_error(R"(,"stop":1)"),
            "invalid_type: stop is a number; it must be a string or an array of strings");
  EXPECT_EQ(chat_error(R"(,"stop":["a",null])"),
            "invalid_type: stop[1] is null; it must be a string");
  EXPECT_EQ(chat_error(R"(,"logit_bias":[])"),
            "invalid_type: logit_bias is an array; it must be an object");
  EXPECT_EQ(chat_error(R"(,"logit_bias":{"1":"2"})"),
            "invalid_type: logit_bias.1 is a string; it must be a number");
  EXPECT_EQ(chat_error(R"(,"chat_template_kwargs":"x")"),
            "invalid_type: chat_template_kwargs is a string; it must be an object");
  EXPECT_EQ(chat_error(R"(,"model":{})"), "invalid_type: model is an object; it must be a string");
}

TEST(CompletionRequest, RangesAreHeld) {
  EXPECT_EQ(chat_error(R"(,"temperature":2.5)"),
            "invalid_value: temperature is 2.5; it must lie between 0 and 2");
  EXPECT_EQ(chat_error(R"(,"max_tokens":0)"),
            "invalid_value: max_tokens is 0; it must lie between 1 and 4294967295");
  EXPECT_EQ(chat_error(R"(,"n":17)"), "invalid_value: n is 17; it must lie between 1 and 16");
  EXPECT_EQ(chat_error(R"(,"n":0)"), "invalid_value: n is 0; it must lie between 1 and 16");
  EXPECT_EQ(chat_error(R"(,"logprobs":true,"top_logprobs":21)"),
            "invalid_value: top_logprobs is 21; it must lie between 0 and 20");
  EXPECT_EQ(text_error(R"(,"logprobs":21)"),
            "invalid_value: logprobs is 21; it must lie between 0 and 20");
  for (const char* field :
       {R"("top_p":1.1)", R"("top_p":-0.1)", R"("min_p":2)", R"("top_k":-2)",
        R"("repetition_penalty":0)", R"("presence_penalty":2.1)", R"("frequency_penalty":-3)",
        R"("seed":9223372036854775808)", R"("seed":1e300)", R"("max_tokens":-1)",
        R"("logit_bias":{"5":101})", R"("logit_bias":{"1000":1})", R"("logit_bias":{"-1":1})",
        R"("logit_bias":{"01":1})", R"("logit_bias":{"":1})", R"("logit_bias":{"1 ":1})",
        R"("stop":"")", R"("stop":["a",""])"}) {
    EXPECT_EQ(chat_error(std::string(",") + field).substr(0, 14), "invalid_value:") << field;
  }
  EXPECT_EQ(chat(R"(,"top_k":-1)").request.sampling.top_k, 0u);
  EXPECT_EQ(chat(R"(,"seed":9223372036854775807)").request.sampling.seed, INT64_MAX + uint64_t{0});
  EXPECT_EQ(chat(R"(,"seed":-9223372036854775808)").request.sampling.seed, uint64_t{1} << 63);
}

TEST(CompletionRequest, LimitsAreHeld) {
  auto repeated = [](const std::string& entry, int count) {
    std::string all = entry;
    for (int i = 1; i < count; ++i) all += "," + entry;
    return "[" + all + "]";
  };
  std::string message = R"({"role":"user","content":"x"})";
  EXPECT_EQ(messages_error(repeated(message, 2048)), "none");
  EXPECT_EQ(messages_error(repeated(message, 2049)),
            "invalid_value: messages has 2049 entries; it may have at most 2048");
  EXPECT_EQ(chat_error(",\"stop\":" + repeated("\"x\"", 16)), "none");
  EXPECT_EQ(chat_error(",\"stop\":" + repeated("\"x\"", 17)),
            "invalid_value: stop has 17 entries; it may have at most 16");
  EXPECT_EQ(chat_error(",\"stop\":\"" + std::string(1024, 'x') + "\""), "none");
  EXPECT_EQ(chat_error(",\"stop\":\"" + std::string(1025, 'x') + "\""),
            "invalid_value: stop has 1025 bytes; it may have at most 1024");
  EXPECT_EQ(prompt_error(repeated("\"x\"", 64)), "none");
  EXPECT_EQ(prompt_error(repeated("\"x\"", 65)),
            "invalid_value: prompt has 65 entries; it may have at most 64");
  std::string biases;
  for (int i = 0; i < 1025; ++i) biases += (i ? ",\"" : "\"") + std::to_string(i) + "\":1";
  EXPECT_EQ(error_of([&] {
              read_text_call("{\"prompt\":\"\",\"logit_bias\":{" + biases + "}}", openai_sampling(),
                             {}, 5000);
            }),
            "invalid_value: logit_bias has 1025 entries; it may have at most 1024");
}

TEST(CompletionRequest, FieldsThatNeedEachOther) {
  EXPECT_EQ(chat_error(R"(,"top_logprobs":2)"),
            "invalid_value: top_logprobs works only with logprobs; set logprobs to true");
  EXPECT_EQ(chat_error(R"(,"top_logprobs":0)"), "none");
  EXPECT_EQ(chat_error(R"(,"stream_options":{"include_usage":true})"),
            "invalid_value: stream_options works only with stream; set stream to true");
  EXPECT_EQ(chat_error(R"(,"stream":true,"stream_options":{"include_usage":1})"),
            "invalid_type: stream_options.include_usage is a number; it must be true or false");
  EXPECT_EQ(text_error(R"(,"n":2,"best_of":2)"), "none");
  EXPECT_EQ(text_error(R"(,"best_of":2)"),
            "unsupported_parameter: best_of asks for something that this server does not support; "
            "leave it out, or give n the same value");
}

TEST(CompletionRequest, LogprobsOfAPromptComeWithItsEcho) {
  EXPECT_FALSE(text(R"(,"echo":true)").request.prompt_logprobs);
  EXPECT_FALSE(text(R"(,"logprobs":2)").request.prompt_logprobs);
  EXPECT_FALSE(text(R"(,"echo":false,"logprobs":2)").request.prompt_logprobs);
  const CompletionCall call = text(R"(,"echo":true,"logprobs":0)");
  EXPECT_TRUE(call.echo && call.request.prompt_logprobs && call.request.logprobs);
  EXPECT_EQ(call.request.top_logprobs, 0u);
  EXPECT_EQ(text(R"(,"echo":true,"logprobs":20)").request.top_logprobs, 20u);
}

TEST(CompletionRequest, ATextMayGenerateNothing) {
  for (const char* name :
       {"max_tokens", "max_completion_tokens", "max_new_tokens", "n_predict", "num_predict"}) {
    const std::string field = fmt::format(",\"{}\":0", name);
    EXPECT_FALSE(text(field).generates) << name;
    EXPECT_NE(chat_error(field).find(fmt::format("invalid_value: {} is 0; ", name)),
              std::string::npos);
  }
  EXPECT_TRUE(text("").generates);
  EXPECT_TRUE(text(R"(,"n_predict":-1)").generates);
  EXPECT_TRUE(text(R"(,"n_predict":-1)").to_context);
  // The most recent of several names for the number of tokens counts.
  EXPECT_FALSE(text(R"(,"n_predict":-1,"max_tokens":0)").generates);
  EXPECT_TRUE(text(R"(,"max_tokens":0,"max_completion_tokens":3)").generates);
  EXPECT_EQ(text_error(R"(,"max_tokens":0,"min_tokens":1)"),
            "invalid_value: min_tokens is 1, more than max_tokens, which is 0: raise max_tokens");
  EXPECT_EQ(text_error(R"(,"max_tokens":-1)"),
            "invalid_value: max_tokens is -1; it must lie between 0 and 4294967295");
}

TEST(CompletionRequest, RefusesUnsupportedFields) {
  const char* refused[] = {R"("functions":[{}])",
                           R"("function_call":{"name":"f"})",
                           R"("modalities":["text","audio"])",
                           R"("audio":{"voice":"x"})",
                           R"("prediction":{"type":"content"})",
                           R"("web_search_options":{})"};
  for (std::string field : refused) {
    std::string name = field.substr(1, field.find('"', 1) - 1);
    EXPECT_EQ(chat_error("," + field).find("unsupported_parameter: " + name + " "), 0u) << field;
  }
  EXPECT_EQ(text_error(R"(,"suffix":"x")").find("unsupported_parameter: suffix "), 0u);
  EXPECT_EQ(chat_error(R"(,"tools":[],"tool_choice":"auto","functions":[],"function_call":"none",
      "response_format":{"type":"text"},"modalities":["text"],"audio":null,"grammar":"")"),
            "none");
  EXPECT_EQ(text_error(R"(,"suffix":"")"), "none");
}

// Returns values that ask for the unbuilt field's effect, and values that ask for none.
std::pair<std::vector<std::string>, std::vector<std::string>> samples(const UnbuiltField& field) {
  switch (field.nothing) {
    case Nothing::kEmpty:
      return {{"true", "1", "0.5", "\"x\"", "[1]", "{\"a\":1}"},
              {"null", "false", "0", "0.0", "\"\"", "[]", "{}"}};
    case Nothing::kTrue:
      return {{"false", "0", "\"true\"", "{}"}, {"null", "true"}};
    case Nothing::kNumber:
      return {{fmt::format("{}", field.high + 1), "\"1\"", "true", "[]"},
              {"null", fmt::format("{}", field.high)}};
    case Nothing::kWord:
      return {{"\"other\"", "1", "\"\""},
              {"null", fmt::format("\"{}\"", field.words.substr(0, field.words.find(' ')))}};
    case Nothing::kNull:
      return {{"true", "false", "0", "{}"}, {"null"}};
  }
  return {};
}

void check_unbuilt(std::span<const UnbuiltField> fields,
                   const std::function<std::string(const std::string&)>& error_of) {
  for (const UnbuiltField& field : fields) {
    std::string begin = fmt::format(",\"{}\":", field.name);
    auto [asking, nothing] = samples(field);
    std::string refusal = fmt::format(
        "unsupported_parameter: {} asks for something that this server does not support; {}",
        field.name, field.remedy);
    for (const std::string& value : asking) EXPECT_EQ(error_of(begin + value), refusal) << value;
    for (const std::string& value : nothing) {
      EXPECT_EQ(error_of(begin + value), "none") << begin + value;
    }
  }
}

TEST(CompletionRequest, RefusesEveryUnsupportedFieldByName) {
  auto of_chat = [](const std::string& field) { return chat_error(field); };
  auto of_text = [](const std::string& field) { return text_error(field); };
  check_unbuilt(unbuilt_fields(), of_chat);
  check_unbuilt(unbuilt_fields(), of_text);
  check_unbuilt(unbuilt_chat_fields(), of_chat);
  check_unbuilt(unbuilt_text_fields(), of_text);
  EXPECT_EQ(chat_error(R"(,"typical_p":0.9)").find("unsupported_parameter: typical_p "), 0u);
  EXPECT_EQ(chat_error(R"(,"mirostat":2)").find("unsupported_parameter: mirostat "), 0u);
  EXPECT_EQ(chat_error(R"(,"mirostat_tau":3,"dry_base":2,"user":"x")"), "none");
}

TEST(CompletionRequest, NamesOfOtherServers) {
  auto most = [](const char* fields) { return text(fields).request.max_tokens; };
  EXPECT_EQ(most(R"(,"n_predict":3)"), 3u);
  EXPECT_EQ(most(R"(,"num_predict":4)"), 4u);
  EXPECT_EQ(most(R"(,"max_new_tokens":5)"), 5u);
  EXPECT_EQ(most(R"(,"n_predict":3,"max_tokens":7)"), 7u);
  EXPECT_EQ(most(R"(,"n_predict":-1)"), 0u);
  EXPECT_EQ(most(""), kTextMaxTokens);
  EXPECT_EQ(
      chat_error(R"(,"n_predict":0)"),
      "invalid_value: n_predict is 0; it must be at least 1, or -1 for all that the context holds");
  auto sampling = [](const char* fields) { return text(fields).request.sampling; };
  EXPECT_EQ(sampling(R"(,"repeat_penalty":1.5)").repeat_penalty, 1.5f);
  EXPECT_EQ(sampling(R"(,"repeat_penalty":1.5,"repetition_penalty":2)").repeat_penalty, 2.0f);
  EXPECT_EQ(sampling(R"(,"repeat_last_n":7)").penalty_window, 7u);
  EXPECT_GT(sampling(R"(,"repeat_last_n":-1)").penalty_window, 1u << 30);
}

TEST(CompletionRequest, ReadsStopTokensAndAllowedTokens) {
  using Ids = std::vector<int32_t>;
  Request request = text(R"(,"stop_token_ids":[3,1],"allowed_token_ids":[5],"min_tokens":2,
      "include_stop_str_in_output":true,"skip_special_tokens":false)")
                        .request;
  EXPECT_EQ(request.stop_tokens, (Ids{3, 1}));
  EXPECT_EQ(request.sampling.allowed, (Ids{5}));
  EXPECT_EQ(request.sampling.min_tokens, 2u);
  EXPECT_TRUE(request.include_stop && request.special_text);
  Request usual = text(R"(,"stop_token_ids":[],"allowed_token_ids":[],"min_tokens":0,
      "include_stop_str_in_output":false,"skip_special_tokens":true)")
                      .request;
  EXPECT_TRUE(usual.stop_tokens.empty() && usual.sampling.allowed.empty());
  EXPECT_FALSE(usual.include_stop || usual.special_text);
  EXPECT_EQ(text_error(R"(,"allowed_token_ids":[1000])"),
            "invalid_value: allowed_token_ids[0] is 1000; it must lie between 0 and 999");
  EXPECT_EQ(text_error(R"(,"stop_token_ids":"x")"),
            "invalid_type: stop_token_ids is a string; it must be an array");
  EXPECT_EQ(text_error(R"(,"min_tokens":9,"max_tokens":8)"),
            "invalid_value: min_tokens is 9, more than max_tokens, which is 8: raise max_tokens");
  EXPECT_EQ(text_error(R"(,"min_tokens":17)").find("invalid_value: min_tokens "), 0u);
  EXPECT_EQ(chat_error(R"(,"min_tokens":17)"), "none");
}

TEST(CompletionRequest, AFinalMessageMayGoOn) {
  CompletionCall call = chat(R"(,"continue_final_message":true)");
  EXPECT_TRUE(call.continue_final);
  EXPECT_EQ(boost::json::serialize(call.template_kwargs), R"({"add_generation_prompt":false})");
  EXPECT_FALSE(chat(R"(,"continue_final_message":false)").continue_final);
  EXPECT_EQ(boost::json::serialize(chat(R"(,"add_generation_prompt":false)").template_kwargs),
            R"({"add_generation_prompt":false})");
  EXPECT_EQ(chat_error(R"(,"continue_final_message":true,"add_generation_prompt":true)")
                .find("invalid_value: continue_final_message cannot be combined with"),
            0u);
  RenderedChat rendered{"<u>Hi</u><a>Well, </a>", {{3, 5}, {12, 18}, {18, 20}}};
  end_with_final_message(chat("", R"([{"role":"user","content":"Hi"},
      {"role":"assistant","content":"Well, "}])")
                             .messages,
                         &rendered);
  EXPECT_EQ(rendered.text, "<u>Hi</u><a>Well, ");
  EXPECT_EQ(rendered.untrusted.size(), 2u);
  rendered.text = "<a>Well,</a>";  // the template trimmed the content
  end_with_final_message(chat("", R"([{"role":"assistant","content":"Well, "}])").messages,
                         &rendered);
  EXPECT_EQ(rendered.text, "<a>Well,");
  EXPECT_THROW(end_with_final_message(chat("", R"([{"role":"assistant","content":"x"}])").messages,
                                      &rendered),
               RequestError);
}

TEST(CompletionRequest, MessagesBecomeWhatTemplatesTake) {
  CompletionCall call = chat("", R"([
      {"role":"developer","content":"Be brief."},
      {"role":"user","name":"Ann",
       "content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
      {"content":"","role":"assistant","refusal":null,"tool_calls":[],"reasoning_content":"hm"}])");
  EXPECT_EQ(boost::json::serialize(call.messages),
            R"([{"role":"system","content":"Be brief."},)"
            R"({"role":"user","content":"a\nb","name":"Ann"},)"
            R"({"role":"assistant","content":"","reasoning_content":"hm"}])");
}

TEST(CompletionRequest, MessagesThatAreNone) {
  EXPECT_EQ(messages_error("[]"), "invalid_value: messages has 0 entries; it must have at least 1");
  EXPECT_EQ(messages_error("\"Hi\""), "invalid_type: messages is a string; it must be an array");
  EXPECT_EQ(messages_error("[7]"), "invalid_type: messages[0] is a number; it must be an object");
  EXPECT_EQ(messages_error(R"([{"content":"x"}])"),
            "missing_required_parameter: messages[0].role is missing");
  EXPECT_EQ(messages_error(R"([{"role":"user"}])"),
            "missing_required_parameter: messages[0].content is missing");
  EXPECT_EQ(messages_error(R"([{"role":"wizard\n","content":"x"}])"),
            "invalid_value: messages[0].role is 'wizard\\x0a'; it must be system, developer, user, "
            "assistant or tool");
  EXPECT_EQ(
      messages_error(R"([{"role":"user","content":3}])"),
      "invalid_type: messages[0].content is a number; it must be a string or an array of text "
      "parts");
  EXPECT_EQ(
      messages_error(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text"}]}])"),
      "missing_required_parameter: messages[0].content[1].text is missing");
  EXPECT_TRUE(messages_error(R"([{"role":"user","content":[{"type":"image_url"}]}])")
                  .ends_with("no images, sound or files are read: send text parts"));
  for (const char* message : {R"({"role":"function","content":"x","name":"f"})",
                              R"({"role":"assistant","content":"x","audio":{"id":"1"}})",
                              R"({"role":"user","content":[{"type":"input_audio"}]})"}) {
    EXPECT_EQ(messages_error(std::string("[") + message + "]")
                  .find("unsupported_parameter: messages[0]."),
              0u)
        << message;
  }
}

TEST(CompletionRequest, PromptsAreTextsOrIds) {
  auto prompts = [](const char* prompt) { return text("", prompt).prompts; };
  using Ids = std::vector<int32_t>;
  EXPECT_EQ(prompts("\"a\""), (std::vector<Prompt>{Prompt{"a"}}));
  EXPECT_EQ(prompts("[\"a\",\"\"]"), (std::vector<Prompt>{Prompt{"a"}, Prompt{""}}));
  EXPECT_EQ(prompts("[1,2.0,999]"), (std::vector<Prompt>{Prompt{"", Ids{1, 2, 999}}}));
  EXPECT_EQ(prompts("[[1],[2,3]]"),
            (std::vector<Prompt>{Prompt{"", Ids{1}}, Prompt{"", Ids{2, 3}}}));
  EXPECT_EQ(prompt_error("[]"), "invalid_value: prompt has 0 entries; it must have at least 1");
  EXPECT_EQ(prompt_error("[[]]"),
            "invalid_value: prompt[0] has 0 entries; it must have at least 1");
  EXPECT_EQ(prompt_error("[1,1000]"),
            "invalid_value: prompt[1] is 1000; it must lie between 0 and 999");
  EXPECT_EQ(prompt_error("[[1],[-1]]"),
            "invalid_value: prompt[1][0] is -1; it must lie between 0 and 999");
  EXPECT_EQ(prompt_error("[1,\"a\"]"),
            "invalid_type: prompt[1] is a string; it must be an integer");
  EXPECT_EQ(prompt_error("[\"a\",1]"),
            "invalid_type: prompt[1] is a number; it must be a string or an array of ids");
  EXPECT_EQ(prompt_error("{}"),
            "invalid_type: prompt is an object; it must be a string or an array");
}

TEST(CompletionRequest, LogprobsOfTextAreANumber) {
  Request request = text(R"(,"logprobs":5)").request;
  EXPECT_TRUE(request.logprobs);
  EXPECT_EQ(request.top_logprobs, 5u);
  EXPECT_TRUE(text(R"(,"logprobs":0)").request.logprobs);
  EXPECT_TRUE(text(R"(,"echo":true)").echo);
}

}  // namespace
}  // namespace hearth
