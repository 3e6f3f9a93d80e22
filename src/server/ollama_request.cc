#include "server/ollama_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <limits>
#include <span>
#include <utility>

#include "base/printable.h"
#include "server/json_fields.h"
#include "server/made_chat.h"
#include "server/ollama_history.h"
#include "server/unbuilt_fields.h"

namespace hearth {
namespace {

using boost::json::object;
using boost::json::value;

constexpr size_t kOllamaWordBytes = 40;

// Options that have the same name in a chat's body, whose reader checks them.
constexpr std::array<std::string_view, 14> kSameOptions = {"num_predict",
                                                           "temperature",
                                                           "top_k",
                                                           "top_p",
                                                           "min_p",
                                                           "repeat_last_n",
                                                           "repeat_penalty",
                                                           "presence_penalty",
                                                           "frequency_penalty",
                                                           "seed",
                                                           "stop",
                                                           "typical_p",
                                                           "tfs_z",
                                                           "mirostat"};

using ReadOllamaField = void (*)(const value& field, const std::string& name, const object& body,
                                 OllamaBody* made);

struct OllamaRule {
  std::string_view name;
  ReadOllamaField read;
};

void copy_same(const value& field, const std::string& name, const object&, OllamaBody* made) {
  made->made[name] = field;
}

void read_options(const value& field, const std::string& name, const object& body,
                  OllamaBody* made) {
  const object& options = object_field(field, name);
  for (std::string_view option : kSameOptions) {
    if (const value* given = find_field(options, option)) made->made[option] = *given;
  }
  // A seed of -1 means that none is given.
  constexpr const char* kSeed = "seed";
  const value* seed = made->made.if_contains(kSeed);
  if (seed != nullptr && *seed == -1) made->made.erase(kSeed);
  made->context = read_ollama_context(body);
}

void read_ollama_format(const value& field, const std::string& name, const object&,
                        OllamaBody* made) {
  object& shape = made->made;
  if (field.is_object()) {
    shape["response_format"] =
        object{{"type", "json_schema"}, {"json_schema", object{{"schema", field}}}};
    return;
  }
  if (!field.is_string()) refuse_type(field, name, "json or a schema");
  const std::string word = text_field(field, name);
  if (word.empty()) return;
  if (word != "json") {
    throw RequestError(
        kInvalidValue, name,
        fmt::format("is '{}'; it must be json or a schema", printable(word, kOllamaWordBytes)));
  }
  shape["response_format"] = object{{"type", "json_object"}};
}

void read_think(const value& field, const std::string& name, const object&, OllamaBody* made) {
  if (field.is_bool()) {
    const bool thinks = field.get_bool();
    made->made["chat_template_kwargs"] = object{{"enable_thinking", thinks}, {"thinking", thinks}};
    made->must_reason = thinks;
    return;
  }
  if (!field.is_string()) refuse_type(field, name, "true, false, low, medium or high");
  const std::string effort = text_field(field, name);
  if (effort != "low" && effort != "medium" && effort != "high") {
    throw RequestError(kInvalidValue, name,
                       fmt::format("is '{}'; it must be true, false, low, medium or high",
                                   printable(effort, kOllamaWordBytes)));
  }
  made->made["reasoning_effort"] = effort;
  made->must_reason = true;
}

void read_history(const value& field, const std::string& name, const object&, OllamaBody* made) {
  boost::json::array messages = read_ollama_messages(field, name, made->max_messages);
  if (!messages.empty()) made->made["messages"] = std::move(messages);
}

// Reads the fields of /api/generate that make up the prompt.
void read_ollama_prompt(const value& field, const std::string& name, const object& body,
                        OllamaBody* made) {
  const std::string text = text_field(field, name);
  const value* raw = find_field(body, "raw");
  const value* system = find_field(body, "system");
  const std::string rules = system != nullptr ? text_field(*system, "system") : "";
  if (raw != nullptr && bool_field(*raw, "raw")) {
    if (!rules.empty()) {
      throw RequestError(kInvalidValue, "system",
                         "cannot be combined with raw; leave one of them out");
    }
    made->chat = false;
    if (!text.empty()) made->made["prompt"] = text;
    return;
  }
  if (text.empty()) return;
  boost::json::array messages;
  if (!rules.empty()) messages.push_back(object{{"role", "system"}, {"content", rules}});
  made->names.system = !rules.empty();
  messages.push_back(object{{"role", "user"}, {"content", text}});
  made->made["messages"] = std::move(messages);
}

void read_nothing(const value&, const std::string&, const object&, OllamaBody*) {}

constexpr OllamaRule kBothOllamaRules[] = {
    {"model", copy_same},           {"stream", copy_same},        {"options", read_options},
    {"format", read_ollama_format}, {"think", read_think},        {"logprobs", copy_same},
    {"top_logprobs", copy_same},    {"keep_alive", read_nothing},
};

constexpr OllamaRule kOllamaChatRules[] = {
    {"messages", read_history},
    {"tools", copy_same},
    {"tool_choice", copy_same},
};

constexpr OllamaRule kOllamaGenerateRules[] = {
    {"prompt", read_ollama_prompt},
    {"raw", read_nothing},  // read together with the prompt, as is `system`
    {"system", read_nothing},
};

std::span<const OllamaRule> rules_of(OllamaRoute route) {
  if (route == OllamaRoute::kChat) return kOllamaChatRules;
  return kOllamaGenerateRules;
}

// Changes what the made body of a raw prompt has in a chat's form: it drops the template's
// variables, sets num_predict to -1 by default, and makes `logprobs` the number that a completion
// has. Refuses `think`.
void fit_raw(OllamaBody* made) {
  object& prompt = made->made;
  if (made->must_reason) {
    throw RequestError(kUnsupportedField, "think", "does not work with raw prompts; leave it out");
  }
  prompt.erase("chat_template_kwargs");
  if (!prompt.contains("num_predict")) prompt["num_predict"] = -1;
  const value* wanted = find_field(prompt, "logprobs");
  const bool logprobs = wanted != nullptr && bool_field(*wanted, "logprobs");
  prompt.erase("logprobs");
  if (!logprobs) return;
  const value* top = find_field(prompt, "top_logprobs");
  prompt["logprobs"] = top != nullptr ? *top : value(0);
}

bool begins_field(std::string_view text, std::string_view name) {
  if (!text.starts_with(name)) return false;
  text.remove_prefix(name.size());
  return text.empty() || text[0] == ' ' || text[0] == '[' || text[0] == '.';
}

std::string renamed(std::string_view text, std::string_view from, std::string_view to) {
  return std::string(to) + std::string(text.substr(from.size()));
}

// Returns the name that a field of the made messages has in a body of /api/generate.
std::string prompt_name(std::string_view text, bool system) {
  constexpr std::string_view kMessages = "messages";
  const bool rules = system && text.starts_with("messages[0]");
  const size_t path = std::min(text.find(' '), text.size());
  return renamed(text, text.starts_with(kMessages) ? text.substr(0, path) : kMessages,
                 rules ? "system" : "prompt");
}

}  // namespace

std::string OllamaNames::translated(std::string_view text) const {
  for (std::string_view option : kSameOptions) {
    if (begins_field(text, option)) return "options." + std::string(text);
  }
  constexpr std::string_view kContext = "num_ctx";
  constexpr std::string_view kSchema = "response_format.json_schema.schema";
  if (begins_field(text, kContext)) return renamed(text, kContext, kOllamaContext);
  if (begins_field(text, kSchema)) return renamed(text, kSchema, "format");
  for (std::string_view shape : {"response_format.type", "response_format"}) {
    if (begins_field(text, shape)) return renamed(text, shape, "format");
  }
  for (std::string_view thinking : {"reasoning_effort", "chat_template_kwargs"}) {
    if (begins_field(text, thinking)) return renamed(text, thinking, "think");
  }
  if (route == OllamaRoute::kGenerate && begins_field(text, "messages")) {
    return prompt_name(text, system);
  }
  return std::string(text);
}

ApiError OllamaNames::translated(ApiError error) const {
  return with_own_names(*this, std::move(error));
}

OllamaBody read_ollama_body(std::string_view body, OllamaRoute route, const RequestLimits& limits) {
  const object asked = read_object(body, limits.depth);
  OllamaBody made;
  made.names.route = route;
  made.max_messages = limits.messages;
  refuse_unbuilt(asked, unbuilt_ollama_fields());
  made.made["stream"] = true;
  for (std::span<const OllamaRule> rules :
       {std::span<const OllamaRule>(kBothOllamaRules), rules_of(route)}) {
    for (const OllamaRule& rule : rules) {
      const value* field = find_field(asked, rule.name);
      if (field != nullptr) rule.read(*field, std::string(rule.name), asked, &made);
    }
  }
  if (!made.chat) fit_raw(&made);
  made.asks_nothing = !made.made.contains(made.chat ? "messages" : "prompt");
  return made;
}

CompletionCall read_ollama_call(const OllamaBody& body, const SamplingParams& defaults,
                                const RequestLimits& limits, uint32_t vocabulary) {
  CompletionCall call;
  if (body.asks_nothing) {
    call.generates = false;
    if (const value* model = find_field(body.made, "model")) {
      call.model = text_field(*model, "model");
    }
    call.stream = bool_field(body.made.at("stream"), "stream");
  } else if (body.chat) {
    call = read_made_chat(body.made, body.names, defaults, limits, vocabulary);
  } else {
    call = read_made(body.names,
                     [&] { return read_text_call(body.made, defaults, limits, vocabulary); });
  }
  call.context = body.context;
  call.must_reason = body.must_reason;
  return call;
}

uint32_t read_ollama_context(const object& body) {
  const value* options = find_field(body, "options");
  if (options == nullptr) return 0;
  const value* context = find_field(object_field(*options, "options"), "num_ctx");
  if (context == nullptr) return 0;
  return static_cast<uint32_t>(integer_field(*context, std::string(kOllamaContext), 0,
                                             std::numeric_limits<uint32_t>::max()));
}

std::vector<std::string_view> ollama_field_names(OllamaRoute route) {
  std::vector<std::string_view> names;
  for (const OllamaRule& rule : kBothOllamaRules) names.push_back(rule.name);
  for (const OllamaRule& rule : rules_of(route)) names.push_back(rule.name);
  for (const UnbuiltField& field : unbuilt_ollama_fields()) names.push_back(field.name);
  return names;
}

std::vector<std::string_view> ollama_option_names() {
  std::vector<std::string_view> names(kSameOptions.begin(), kSameOptions.end());
  names.push_back("num_ctx");
  return names;
}

}  // namespace hearth
