#include "server/completion_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

#include "server/chat_messages.h"
#include "server/json_fields.h"
#include "server/output_fields.h"
#include "server/sampling_fields.h"
#include "server/tool_fields.h"
#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

using boost::json::value;

// The state that the readers of fields share. They run in their table's order, so that a reader may
// use what earlier ones read.
struct Reading {
  const boost::json::object& body;
  const RequestLimits& limits;
  uint32_t vocabulary;
  uint32_t min_max_tokens;  // the least that max_tokens may be
  CompletionCall call;
};

using ReadField = void (*)(const value& field, const std::string& name, Reading& reading);

struct FieldRule {
  std::string_view name;
  ReadField read;
};

void read_model(const value& field, const std::string& name, Reading& reading) {
  reading.call.model = text_field(field, name);
}

void read_max_tokens(const value& field, const std::string& name, Reading& reading) {
  const int64_t count =
      integer_field(field, name, reading.min_max_tokens, std::numeric_limits<uint32_t>::max());
  reading.call.request.max_tokens = static_cast<uint32_t>(count);
  reading.call.generates = count > 0;
  reading.call.to_context = false;
}

// Reads n_predict or num_predict: a count, or -1 or -2, by which llama.cpp and ollama mean all that
// the context holds.
void read_predict(const value& field, const std::string& name, Reading& reading) {
  int64_t count = integer_field(field, name, -2, std::numeric_limits<uint32_t>::max());
  if (count == 0 && reading.min_max_tokens > 0) {
    throw RequestError(kInvalidValue, name,
                       "is 0; it must be at least 1, or -1 for all that the context holds");
  }
  reading.call.to_context = count < 0;
  reading.call.generates = count != 0;
  reading.call.request.max_tokens = static_cast<uint32_t>(std::max<int64_t>(count, 0));
}

void read_min_tokens(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.min_tokens =
      static_cast<uint32_t>(integer_field(field, name, 0, std::numeric_limits<uint32_t>::max()));
}

void read_temperature(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.temperature = static_cast<float>(real_field(field, name, 0, 2));
}

void read_top_p(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.top_p = static_cast<float>(real_field(field, name, 0, 1));
}

// Reads top_k; -1 means all tokens, as in other servers.
void read_top_k(const value& field, const std::string& name, Reading& reading) {
  int64_t top_k = integer_field(field, name, -1, std::numeric_limits<uint32_t>::max());
  reading.call.request.sampling.top_k = static_cast<uint32_t>(std::max<int64_t>(top_k, 0));
}

void read_min_p(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.min_p = static_cast<float>(real_field(field, name, 0, 1));
}

void read_repetition(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.repeat_penalty =
      static_cast<float>(real_field(field, name, 0.01, 100));
}

// Reads the window of the repeat penalty; -1 means all tokens, as in llama.cpp.
void read_repeat_window(const value& field, const std::string& name, Reading& reading) {
  int64_t last = integer_field(field, name, -1, std::numeric_limits<int32_t>::max());
  reading.call.request.sampling.penalty_window =
      static_cast<uint32_t>(last < 0 ? std::numeric_limits<int32_t>::max() : last);
}

void read_presence(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.presence_penalty =
      static_cast<float>(real_field(field, name, -2, 2));
}

void read_frequency(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.frequency_penalty =
      static_cast<float>(real_field(field, name, -2, 2));
}

void read_seed(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.seed = static_cast<uint64_t>(integer_field(field, name));
  reading.call.seed_given = true;
}

void read_stop(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.stops =
      stop_fields(field, name, reading.limits.stops, reading.limits.stop_bytes);
}

void read_stop_tokens(const value& field, const std::string& name, Reading& reading) {
  const boost::json::array& ids = array_field(field, name, 0, reading.limits.biases);
  reading.call.request.stop_tokens = ids_field(ids, name, reading.vocabulary);
}

void read_allowed(const value& field, const std::string& name, Reading& reading) {
  const boost::json::array& ids = array_field(field, name, 0, reading.limits.biases);
  reading.call.request.sampling.allowed = ids_field(ids, name, reading.vocabulary);
}

void read_include_stop(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.include_stop = bool_field(field, name);
}

void read_skip_special(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.special_text = !bool_field(field, name);
}

void read_bias(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.sampling.logit_bias =
      bias_fields(field, name, reading.limits.biases, reading.vocabulary);
}

void read_choices(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.choices =
      static_cast<uint32_t>(integer_field(field, name, 1, reading.limits.choices));
}

void read_ignore_eos(const value& field, const std::string& name, Reading& reading) {
  reading.call.ignore_eos = bool_field(field, name);
}

void read_stream(const value& field, const std::string& name, Reading& reading) {
  reading.call.stream = bool_field(field, name);
}

// Reads stream_options, after `stream`.
void read_stream_options(const value& field, const std::string& name, Reading& reading) {
  const boost::json::object& options = object_field(field, name);
  if (!reading.call.stream) {
    throw RequestError(kInvalidValue, name, "works only with stream; set stream to true");
  }
  if (const value* usage = find_field(options, "include_usage")) {
    reading.call.include_usage = bool_field(*usage, name + ".include_usage");
  }
}

void read_timings(const value& field, const std::string& name, Reading& reading) {
  reading.call.timings = bool_field(field, name);
}

void read_progress_wish(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.report_read = bool_field(field, name);
}

void read_chat_logprobs(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.logprobs = bool_field(field, name);
}

// Reads top_logprobs, after `logprobs`.
void read_top_logprobs(const value& field, const std::string& name, Reading& reading) {
  auto top = static_cast<uint32_t>(integer_field(field, name, 0, reading.limits.top_logprobs));
  if (top > 0 && !reading.call.request.logprobs) {
    throw RequestError(kInvalidValue, name, "works only with logprobs; set logprobs to true");
  }
  reading.call.request.top_logprobs = top;
}

void read_text_logprobs(const value& field, const std::string& name, Reading& reading) {
  reading.call.request.top_logprobs =
      static_cast<uint32_t>(integer_field(field, name, 0, reading.limits.top_logprobs));
  reading.call.request.logprobs = true;
}

// Reads echo, after `logprobs`.
void read_echo(const value& field, const std::string& name, Reading& reading) {
  reading.call.echo = bool_field(field, name);
  reading.call.request.prompt_logprobs = reading.call.echo && reading.call.request.logprobs;
}

// Reads best_of, after `n`: only the number of `n` is accepted.
void read_best_of(const value& field, const std::string& name, Reading& reading) {
  if (integer_field(field, name) != int64_t{reading.call.request.choices}) {
    refuse_unsupported(name, "leave it out, or give n the same value");
  }
}

void read_template_kwargs(const value& field, const std::string& name, Reading& reading) {
  reading.call.template_kwargs = object_field(field, name);
}

// Reads add_generation_prompt, after `chat_template_kwargs`.
void read_prompt_wish(const value& field, const std::string& name, Reading& reading) {
  read_generation_prompt(field, name, &reading.call.template_kwargs);
}

void read_continuation(const value& field, const std::string& name, Reading& reading) {
  reading.call.continue_final = read_continue_final(field, name, &reading.call.template_kwargs);
}

void read_chat_messages(const value&, const std::string&, Reading& reading) {
  reading.call.messages = read_messages(reading.body, reading.limits.messages);
}

void read_prompt(const value& field, const std::string& name, Reading& reading) {
  reading.call.prompts = prompt_fields(field, name, reading.limits.prompts, reading.vocabulary);
}

// Reads tools, after `chat_template_kwargs`. The next two readers also run after
// chat_template_kwargs.
void read_tool_list(const value& field, const std::string& name, Reading& reading) {
  read_tools(field, name, reading.limits.tools, &reading.call.turn, &reading.call.template_kwargs);
}

// Reads tool_choice, after `tools`.
void read_choice_of_tools(const value& field, const std::string& name, Reading& reading) {
  read_tool_choice(field, name, &reading.call.turn, &reading.call.template_kwargs);
}

void read_effort(const value& field, const std::string& name, Reading& reading) {
  read_reasoning_effort(field, name, &reading.call.template_kwargs);
}

void read_parallel(const value& field, const std::string& name, Reading& reading) {
  reading.call.turn.parallel = bool_field(field, name);
}

void read_include_reasoning(const value& field, const std::string& name, Reading& reading) {
  reading.call.include_reasoning = bool_field(field, name);
}

// Refuses the old field function_call; without functions "none" and "auto" change nothing, so both
// pass.
void refuse_function_call(const value& field, const std::string& name, Reading&) {
  if (field.is_string() && (field.get_string() == "none" || field.get_string() == "auto")) return;
  refuse_unsupported(name, "use tools and tool_choice");
}

using ReadShape = void (*)(const value& field, const std::string& name, OutputShape* shape);

template <ReadShape read>
void read_shape(const value& field, const std::string& name, Reading& reading) {
  read(field, name, &reading.call.shape);
}

void refuse_modalities(const value& field, const std::string& name, Reading&) {
  constexpr size_t kModalities = 16;
  const boost::json::array& modalities = array_field(field, name, 0, kModalities);
  for (size_t i = 0; i < modalities.size(); ++i) {
    if (text_field(modalities[i], entry_name(name, i)) != "text") {
      refuse_unsupported(name, "leave it out, or ask only for text");
    }
  }
}

constexpr FieldRule kBothRules[] = {
    {"model", read_model},
    {"n_predict", read_predict},
    {"num_predict", read_predict},
    {"max_new_tokens", read_max_tokens},
    {"max_tokens", read_max_tokens},
    {"max_completion_tokens", read_max_tokens},  // wins where both are given
    {"min_tokens", read_min_tokens},
    {"temperature", read_temperature},
    {"top_p", read_top_p},
    {"top_k", read_top_k},
    {"min_p", read_min_p},
    {"repeat_penalty", read_repetition},
    {"repetition_penalty", read_repetition},
    {"repeat_last_n", read_repeat_window},
    {"presence_penalty", read_presence},
    {"frequency_penalty", read_frequency},
    {"seed", read_seed},
    {"stop", read_stop},
    {"stop_token_ids", read_stop_tokens},
    {"include_stop_str_in_output", read_include_stop},
    {"skip_special_tokens", read_skip_special},
    {"logit_bias", read_bias},
    {"allowed_token_ids", read_allowed},
    {"n", read_choices},
    {"best_of", read_best_of},
    {"ignore_eos", read_ignore_eos},
    {"stream", read_stream},
    {"stream_options", read_stream_options},
    {"timings_per_token", read_timings},
    {"return_progress", read_progress_wish},
    {"response_format", read_shape<read_response_format>},
    {"structured_outputs", read_shape<read_structured_outputs>},
    {"guided_json", read_shape<read_schema_field>},
    {"guided_regex", read_shape<read_regex_field>},
    {"guided_choice", read_shape<read_choice_field>},
    {"guided_grammar", read_shape<read_grammar_field>},
    {"grammar", read_shape<read_grammar_field>},
    {"json_schema", read_shape<read_schema_field>},
};

constexpr FieldRule kChatRules[] = {
    {"messages", read_chat_messages},
    {"chat_template_kwargs", read_template_kwargs},
    {"add_generation_prompt", read_prompt_wish},
    {"continue_final_message", read_continuation},
    {"logprobs", read_chat_logprobs},
    {"top_logprobs", read_top_logprobs},
    {"tools", read_tool_list},
    {"tool_choice", read_choice_of_tools},
    {"parallel_tool_calls", read_parallel},
    {"reasoning_effort", read_effort},
    {"include_reasoning", read_include_reasoning},
    {"function_call", refuse_function_call},
    {"modalities", refuse_modalities},
};

constexpr FieldRule kTextRules[] = {
    {"prompt", read_prompt},
    {"logprobs", read_text_logprobs},
    {"echo", read_echo},
};

void apply(std::span<const FieldRule> rules, Reading& reading) {
  for (const FieldRule& rule : rules) {
    const value* field = find_field(reading.body, rule.name);
    if (field != nullptr) rule.read(*field, std::string(rule.name), reading);
  }
}

CompletionCall read_call(const boost::json::object& object, std::span<const FieldRule> rules,
                         std::span<const UnbuiltField> unbuilt, const char* required,
                         uint32_t min_max_tokens, const SamplingParams& defaults,
                         const RequestLimits& limits, uint32_t vocabulary) {
  require_field(object, required, required);
  Reading reading{object, limits, vocabulary, min_max_tokens, {}};
  reading.call.request.sampling = defaults;
  reading.call.request.sampling.seed = 0;
  refuse_unbuilt(object, unbuilt_fields());
  refuse_unbuilt(object, unbuilt);
  apply(kBothRules, reading);
  apply(rules, reading);
  return std::move(reading.call);
}

std::vector<std::string_view> names(std::span<const FieldRule> rules,
                                    std::span<const UnbuiltField> unbuilt) {
  std::vector<std::string_view> all;
  for (const FieldRule& rule : kBothRules) all.push_back(rule.name);
  for (const FieldRule& rule : rules) all.push_back(rule.name);
  for (const UnbuiltField& field : unbuilt_fields()) all.push_back(field.name);
  for (const UnbuiltField& field : unbuilt) all.push_back(field.name);
  return all;
}

void check_min_tokens(const CompletionCall& call) {
  const uint32_t least = call.request.sampling.min_tokens, most = call.request.max_tokens;
  if ((call.generates && most == 0) || least <= most) return;
  throw RequestError(
      kInvalidValue, "min_tokens",
      fmt::format("is {}, more than max_tokens, which is {}: raise max_tokens", least, most));
}

}  // namespace

CompletionCall read_chat_call(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary) {
  return read_chat_call(read_object(body, limits.depth), defaults, limits, vocabulary);
}

CompletionCall read_chat_call(const boost::json::object& body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary) {
  CompletionCall call = read_call(body, kChatRules, unbuilt_chat_fields(), "messages", 1, defaults,
                                  limits, vocabulary);
  call.chat = true;
  check_min_tokens(call);
  return call;
}

CompletionCall read_text_call(std::string_view body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary) {
  return read_text_call(read_object(body, limits.depth), defaults, limits, vocabulary);
}

CompletionCall read_text_call(const boost::json::object& body, const SamplingParams& defaults,
                              const RequestLimits& limits, uint32_t vocabulary) {
  CompletionCall call =
      read_call(body, kTextRules, unbuilt_text_fields(), "prompt", 0, defaults, limits, vocabulary);
  const bool open = call.generates && call.request.max_tokens == 0 && !call.to_context;
  if (open) call.request.max_tokens = kTextMaxTokens;
  check_min_tokens(call);
  return call;
}

std::vector<std::string_view> chat_field_names() {
  return names(kChatRules, unbuilt_chat_fields());
}
std::vector<std::string_view> text_field_names() {
  return names(kTextRules, unbuilt_text_fields());
}

}  // namespace hearth
