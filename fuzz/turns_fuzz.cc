// Fuzzes turns of every known form. The first byte chooses the form, the second the request. The
// rest is a model's output, in which bytes from 0xf8 on are tokens: markers and the end.
//   - text that the language allows is read as such: whole calls have arguments that are JSON of
//     their schemas, and turns that must have calls have nothing else
//   - any text is read, whether the language allows it or not
// If the first byte is 0xff, the rest is a chat template, in which a form is looked for.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "chat/recorded_turn.h"
#include "chat/turn_template.h"

namespace hearth {
namespace {

constexpr uint8_t kFirstToken = 0xf8;
constexpr const char* kSchema =
    R"({"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},
        "c":{"type":["string","boolean","null"]},"d":{"type":"array","items":{"type":"string"}}},
        "required":["a"]})";

struct Form {
  const KnownFormat* known;
  TurnVocabulary bytes;
};

std::vector<Form> make_forms() {
  std::vector<Form> forms;
  for (std::string_view name : known_format_names()) {
    const KnownFormat* known = find_known_format(name);
    forms.push_back({known, made_turn_vocabulary(known->controls)});
  }
  return forms;
}

std::vector<int32_t> tokens_of(const Form& form, std::string_view bytes) {
  std::vector<int32_t> tokens;
  const auto markers = static_cast<int32_t>(form.known->controls.size());
  for (char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    const int32_t marker = byte - kFirstToken;
    const bool text = byte < kFirstToken || marker > markers;
    tokens.push_back(text ? byte : marker == markers ? form.bytes.end : 257 + marker);
  }
  return tokens;
}

// Returns the tokens without those that the language does not allow at their place.
std::vector<int32_t> allowed_of(const TurnLanguage& language, const std::vector<int32_t>& tokens) {
  Matcher matcher(*language.begin);
  std::vector<int32_t> allowed;
  for (int32_t token : tokens) {
    if (matcher.accept(token)) allowed.push_back(token);
  }
  return allowed;
}

void check_message(const TurnMessage& message, const TurnOrder& order, bool of_language) {
  HEARTH_CHECK(is_well_formed(message.content), "content is not UTF-8");
  HEARTH_CHECK(is_well_formed(message.reasoning), "reasoning is not UTF-8");
  for (const TurnMessage::Call& call : message.calls) {
    const bool known = std::ranges::count(order.tools, call.name, &Tool::name) > 0;
    HEARTH_CHECK(known, "a call of no tool");
    HEARTH_CHECK(is_well_formed(call.arguments), "arguments are not UTF-8");
    if (!call.whole) continue;
    const boost::json::value arguments = read_json(call.arguments);
    HEARTH_CHECK(arguments.is_object(), "arguments are no object");
    if (call.name != "go") continue;
    const boost::json::value* a = arguments.get_object().if_contains("a");
    HEARTH_CHECK(a != nullptr && a->is_string(), "arguments lack what is required");
  }
  if (of_language && order.choice == ToolChoice::kRequired) {
    HEARTH_CHECK(message.content.empty(), "content where calls are required");
  }
}

void run(const Form& form, uint8_t asked, std::string_view bytes) {
  TurnOrder order{.tools = {{.name = "go", .parameters = kSchema}, {.name = "go_on"}}};
  order.choice = static_cast<ToolChoice>(asked % 3);
  order.parallel = (asked & 4) == 0;
  if (asked & 8) order.prompt_tail = "<think>\n";
  if (form.known->format.harmony) order.prompt_tail = "<|start|>assistant";
  const auto language = std::make_shared<const TurnLanguage>(
      compile_turn(form.known->format, order, form.bytes.markers, form.bytes.trie));
  const std::vector<int32_t> tokens = tokens_of(form, bytes);
  check_message(read_turn(language, tokens), order, false);
  const std::vector<int32_t> allowed = allowed_of(*language, tokens);
  check_message(read_turn(language, allowed), order, true);
}

void find_form(std::string_view source) {
  const ChatTemplate chat(source);
  const TurnVocabulary vocabulary = made_turn_vocabulary({"<think>", "</think>"});
  const FoundTurnFormat found = prove_turn_format(renderer_of(chat), vocabulary);
  HEARTH_CHECK(found.format.calls_tools() == found.problem.empty(), "a problem is not told");
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace hearth;
  if (size < 2) return 0;
  static const std::vector<Form> kForms = make_forms();
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  if (data[0] != 0xff) {
    run(kForms[data[0] % kForms.size()], data[1], bytes.substr(0, 300));
    return 0;
  }
  try {
    find_form(bytes);
  } catch (const Error&) {
  }
  return 0;
}
