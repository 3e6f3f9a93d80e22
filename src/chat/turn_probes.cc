#include "chat/turn_probes.h"

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <utility>

#include "base/error.h"
#include "chat/marker_atoms.h"
#include "chat/marker_space.h"

namespace hearth {
namespace {

using boost::json::array;
using boost::json::object;

constexpr std::string_view kOtherAnswer = "Quite so";
constexpr std::array<std::string_view, 3> kProbeIds = {"aB3dE5gH1", "kL7nP9rS2", "uV4xY6zA8"};

// Tokens known to end a turn, for templates in which a turn with calls ends differently from
// others.
constexpr std::array<std::string_view, 18> kTurnEnds = {
    "<|eom_id|>",    "<|eot_id|>",      "<|im_end|>",
    "<|end|>",       "<|eom|>",         "<|eot|>",
    "<|return|>",    "<|call|>",        "</s>",
    "<eos>",         "<end_of_turn>",   "<turn|>",
    "<|endoftext|>", "<|end_of_text|>", "<|tool_response>",
    "<|user|>",      "<|observation|>", "<｜end▁of▁sentence｜>",
};

// Returns a call with known names and values. Keys are in alphabetical order, since some templates
// sort them.
ProbeCall probe_call(const ProbeStyle& style, int number) {
  switch (number) {
    case 0:
      return {"paint_zeppelin", {}, {{"hue", "mauve"}, {"shade", "ochre"}}};
    case 1:
      return {"order_fennel", {}, {{"herb", "chervil"}, {"spice", "sumac"}}};
    case 2: {
      object values = {{"amount", 2.5},
                       {"code", "007"},
                       {"deep", object{{"list", array{"one", "two"}}, {"near", true}}}};
      if (!style.python_words) values["flag"] = true;
      values["whole"] = 12;
      return {"count_quokkas", {}, std::move(values)};
    }
    case 3:
      return {"ring_gong", {}, {}};
    default:
      return {"write_memo", {}, {{"text", "say \"hi\" to <b>\nline 2 \\ end"}}};
  }
}

object declared_value(const boost::json::value& value) {
  object schema = {{"description", "A value."}};
  if (value.is_string()) {
    schema["type"] = "string";
  } else if (value.is_bool()) {
    schema["type"] = "boolean";
  } else if (value.is_int64()) {
    schema["type"] = "integer";
  } else if (value.is_double()) {
    schema["type"] = "number";
  } else {
    schema["type"] = "object";
    schema["properties"] = object();
    for (const auto& member : value.as_object()) {
      schema["properties"].as_object()[member.key()] =
          member.value().is_array()
              ? object{{"type", "array"}, {"items", object{{"type", "string"}}}}
              : object{{"type", "boolean"}};
    }
  }
  return schema;
}

array declared_tools(const ProbeStyle& style) {
  array tools;
  for (int i = 0; i < 5; ++i) {
    const ProbeCall call = probe_call(style, i);
    object properties;
    array required;
    for (const auto& member : call.arguments) {
      properties[member.key()] = declared_value(member.value());
      required.push_back(boost::json::string(member.key()));
    }
    const object parameters = {
        {"type", "object"}, {"properties", properties}, {"required", required}};
    const object function = {
        {"name", call.name}, {"description", "A tool."}, {"parameters", parameters}};
    tools.push_back(object{{"type", "function"}, {"function", function}});
  }
  return tools;
}

object call_in_message(const ProbeStyle& style, const ProbeCall& call) {
  object function = {{"name", call.name}};
  if (style.history.arguments_as_text) {
    function["arguments"] = boost::json::serialize(call.arguments);
  } else {
    function["arguments"] = call.arguments;
  }
  return {{"id", call.id}, {"type", "function"}, {"function", function}};
}

size_t size_without_known_end(std::string_view turn) {
  turn = without_space_behind(turn);
  for (std::string_view end : kTurnEnds) {
    if (turn.ends_with(end)) return turn.size() - end.size();
  }
  return turn.size();
}

// Returns the length of the turn at the beginning of `text`, the text after the prompt. `tail`: the
// text after the turn, as it is after another turn.
size_t turn_size(std::string_view text, std::string_view tail, bool results) {
  if (!results) {
    text.remove_suffix(common_ending(text, tail));
    return size_without_known_end(text);
  }
  tail = without_space_behind(without_space_before(tail));
  if (!tail.empty()) return std::min(text.find(tail), text.size());
  size_t end = text.size();
  for (std::string_view known : kTurnEnds) end = std::min(end, text.find(known));
  return end;
}

// Returns the messages' text with the generation prompt at its end; empty where the template has no
// such prompt or cannot be rendered.
std::string text_to_continue(const RenderTurns& render, const array& messages, object variables) {
  try {
    const std::string without = render(messages, variables);
    variables["add_generation_prompt"] = true;
    const std::string text = render(messages, variables);
    return text == without ? std::string() : text;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

ProbeStyle style_of(const FoundTurnFormat& found) {
  return {.history = found.format.history,
          .null_content = found.format.history.null_content,
          .named_ids = found.named_ids,
          .results = found.results,
          .tools = !found.bare,
          .one = found.format.harmony || (found.format.calls && found.format.calls->one),
          .content_before_calls = found.shows_content_before_calls,
          .reasoning = found.shows_reasoning,
          .reasoning_before_calls = found.shows_reasoning_before_calls,
          .python = found.format.calls && found.format.calls->arguments == ArgumentForm::kPython,
          .switches = found.reasoning_switches};
}

TurnProbe make_probe(const ProbeStyle& style, std::string what, const std::vector<int>& calls,
                     std::string content, std::string reasoning) {
  TurnProbe probe;
  probe.what = std::move(what);
  probe.variables = style.switches;
  if (style.tools) probe.variables["tools"] = declared_tools(style);
  probe.messages.push_back(object{{"role", "user"}, {"content", kProbeQuestion}});
  object turn = {{"role", "assistant"}, {"content", content}};
  if (content.empty() && style.null_content) turn["content"] = nullptr;
  if (!reasoning.empty()) turn[style.history.reasoning_key] = reasoning;
  array list;
  for (size_t i = 0; i < calls.size(); ++i) {
    ProbeCall call = probe_call(style, calls[i]);
    call.id = style.named_ids ? "functions." + call.name + ":" + std::to_string(i)
                              : std::string(kProbeIds[i % kProbeIds.size()]);
    list.push_back(call_in_message(style, call));
    probe.calls.push_back(std::move(call));
  }
  if (!list.empty()) turn["tool_calls"] = std::move(list);
  probe.turn = probe.messages.size();
  probe.messages.push_back(std::move(turn));
  if (style.results) {
    for (const ProbeCall& call : probe.calls) {
      probe.messages.push_back(object{
          {"role", "tool"}, {"tool_call_id", call.id}, {"name", call.name}, {"content", "done"}});
    }
  }
  probe.content = std::move(content);
  probe.reasoning = std::move(reasoning);
  return probe;
}

std::vector<TurnProbe> turn_probes(const ProbeStyle& style) {
  std::vector<TurnProbe> probes;
  auto add = [&](std::string what, const std::vector<int>& calls, std::string content = {},
                 std::string reasoning = {}) {
    probes.push_back(
        make_probe(style, std::move(what), calls, std::move(content), std::move(reasoning)));
  };
  const std::string content = "Here goes", reasoning = "Mulling it over";
  add("an answer without calls", {}, "Nothing to do");
  if (style.reasoning) add("reasoning before an answer", {}, content, reasoning);
  add("a call", {1});
  add("a call with values of many types", {2});
  // Templates with Python's form may write nested values as JSON.
  probes.back().often_wrong = style.python;
  add("a call without arguments", {3});
  add("a call with marks in a text", {4});
  probes.back().often_wrong = style.python;
  if (style.content_before_calls) add("a call behind content", {0}, content);
  if (style.reasoning_before_calls) add("reasoning before a call", {1}, {}, reasoning);
  if (style.one) return probes;
  add("two calls", {1, 0});
  if (style.content_before_calls)
    add("two calls behind content", {3, style.python ? 1 : 2}, content);
  add("three calls", {1, 2, 0});
  probes.back().often_wrong = true;
  return probes;
}

ProbeText render_probe(const RenderTurns& render, const TurnProbe& probe) {
  object variables = probe.variables;
  variables["add_generation_prompt"] = false;
  const std::string text = render(probe.messages, variables);
  array other(probe.messages.begin(), probe.messages.begin() + probe.turn);
  const std::string prompt = text_to_continue(render, other, variables);
  other.push_back(object{{"role", "assistant"}, {"content", kOtherAnswer}});
  const std::string reference = render(other, variables);
  const size_t answer = reference.rfind(kOtherAnswer);
  const bool answered = answer != std::string::npos;
  size_t begin = common_beginning(text, std::string_view(reference).substr(0, answer));
  if (!prompt.empty() && text.starts_with(prompt)) {
    // Harmony's messages have heads that begin alike.
    const bool heads =
        begin > prompt.size() &&
        std::string_view(text).substr(prompt.size(), begin - prompt.size()).find("<|channel|>") !=
            std::string_view::npos;
    if (prompt.size() > begin || heads) begin = prompt.size();
  }
  std::string_view tail;
  if (answered) tail = std::string_view(reference).substr(answer + kOtherAnswer.size());
  const std::string_view behind = std::string_view(text).substr(begin);
  const bool results = probe.turn + 1 < probe.messages.size();
  const size_t size = turn_size(behind, tail, results);
  return {.prompt = text.substr(0, begin),
          .turn = std::string(behind.substr(0, size)),
          .rest = std::string(behind.substr(size))};
}

}  // namespace hearth
