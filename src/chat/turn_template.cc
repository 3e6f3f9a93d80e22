#include "chat/turn_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <memory>

#include "base/error.h"
#include "base/json_reader.h"
#include "chat/marker_space.h"
#include "chat/turn_markup.h"
#include "chat/turn_probes.h"

namespace hearth {
namespace {

namespace json = boost::json;

constexpr size_t kTailBytes = 256;

std::vector<Tool> tools_of(const TurnProbe& probe) {
  std::vector<Tool> tools;
  const json::value* declared = probe.variables.if_contains("tools");
  if (declared != nullptr && declared->is_array()) {
    for (const json::value& tool : declared->get_array()) {
      const json::object& function = tool.at("function").as_object();
      tools.push_back({.name = std::string(function.at("name").as_string()),
                       .parameters = json::serialize(function.at("parameters"))});
    }
    return tools;
  }
  for (const ProbeCall& call : probe.calls) {
    const bool known = std::ranges::count(tools, call.name, &Tool::name) > 0;
    if (!known) tools.push_back({.name = call.name, .parameters = R"({"type":"object"})"});
  }
  return tools;
}

// Returns the tokens of a text that the template wrote.
std::vector<int32_t> tokens_of(const std::string& text, const TurnVocabulary& vocabulary) {
  std::vector<int32_t> tokens;
  for (const MarkerPart& part : split_marker(text, vocabulary.markers)) {
    if (part.token >= 0) {
      tokens.push_back(part.token);
    } else {
      std::ranges::copy(vocabulary.encode(part.text), std::back_inserter(tokens));
    }
  }
  if (vocabulary.end >= 0) tokens.push_back(vocabulary.end);
  return tokens;
}

bool same_json(const std::string& text, const json::object& value) {
  try {
    return read_json(text) == json::value(value);
  } catch (const Error&) {
    return false;
  }
}

// Returns how a message differs from its probe; empty where it does not.
std::string difference(const TurnProbe& probe, const TurnMessage& message) {
  if (message.calls.size() != probe.calls.size()) {
    return fmt::format("its {} calls are read as {}", probe.calls.size(), message.calls.size());
  }
  for (size_t i = 0; i < probe.calls.size(); ++i) {
    const ProbeCall& said = probe.calls[i];
    const TurnMessage::Call& read = message.calls[i];
    if (read.name != said.name) {
      return fmt::format("the name '{}' is read as '{}'", said.name, read.name);
    }
    if (!read.whole || !same_json(read.arguments, said.arguments)) {
      return fmt::format("the arguments {} are read as {}", json::serialize(said.arguments),
                         read.arguments);
    }
  }
  if (without_space_around(message.content) != without_space_around(probe.content)) {
    return fmt::format("the content '{}' is read as '{}'", probe.content, message.content);
  }
  return "";
}

std::string check_probe(const RenderTurns& render, const TurnProbe& probe,
                        const FoundTurnFormat& found, const TurnVocabulary& vocabulary) {
  const ProbeText text = render_probe(render, probe);
  TurnOrder order{.tools = tools_of(probe), .choice = ToolChoice::kAuto};
  order.prompt_tail =
      text.prompt.substr(text.prompt.size() - std::min(text.prompt.size(), kTailBytes));
  const auto language = std::make_shared<const TurnLanguage>(
      compile_turn(found.format, order, vocabulary.markers, vocabulary.trie));
  return difference(probe, read_turn(language, tokens_of(text.turn, vocabulary)));
}

}  // namespace

RenderTurns renderer_of(const ChatTemplate& chat) {
  return [&chat](const json::array& messages, const json::object& variables) {
    json::object request = {
        {"tools", nullptr}, {"documents", nullptr}, {"add_generation_prompt", true}};
    for (const auto& member : variables) request[member.key()] = member.value();
    request["messages"] = messages;
    return chat.render(request, {{"bos_token", "<s>"}, {"eos_token", "</s>"}}).text;
  };
}

RenderTurns renderer_of(const ChatPrompt& prompt) {
  return [&prompt](const json::array& messages, const json::object& variables) {
    return prompt.render(messages, variables).text;
  };
}

std::string prove_turns(const RenderTurns& render, const FoundTurnFormat& found,
                        const TurnVocabulary& vocabulary) {
  for (const TurnProbe& probe : turn_probes(style_of(found))) {
    if (probe.often_wrong) continue;
    try {
      const std::string what = check_probe(render, probe, found, vocabulary);
      if (!what.empty()) {
        return fmt::format("cannot be read back: in a turn with {}, {}", probe.what, what);
      }
    } catch (const Error& error) {
      return fmt::format("raises an error for a turn with {}: {}", probe.what, error.what());
    }
  }
  return "";
}

FoundTurnFormat prove_turn_format(const RenderTurns& render, const TurnVocabulary& vocabulary) {
  FoundTurnFormat found = find_turn_format(render, [&](std::string_view text) {
    return std::ranges::count(vocabulary.markers, text, &MarkerToken::text) > 0;
  });
  if (!found.format.calls_tools()) return found;
  found.problem = prove_turns(render, found, vocabulary);
  if (!found.problem.empty()) {
    found.format.calls.reset();
    found.format.harmony = false;
  }
  return found;
}

}  // namespace hearth
