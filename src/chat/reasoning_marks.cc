#include "chat/reasoning_marks.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "chat/marker_atoms.h"
#include "chat/marker_space.h"

namespace hearth {
namespace {

using boost::json::object;

constexpr std::string_view kProbeReasoning = "Mulling it over";
constexpr std::string_view kProbeContent = "Here goes";
constexpr std::array<std::string_view, 4> kReasoningKeys = {"reasoning_content", "reasoning",
                                                            "thinking", "tool_plan"};
constexpr size_t kMarkReach = 160;  // bytes next to a text in which a mark is searched for

struct ReasoningPair {
  std::string_view begin_token, end_token, begin, end;
};
constexpr std::array<ReasoningPair, 5> kTokenPairs = {{
    {"<think>", "</think>", "<think>", "</think>"},
    {"[THINK]", "[/THINK]", "[THINK]", "[/THINK]"},
    {"<seed:think>", "</seed:think>", "<seed:think>", "</seed:think>"},
    {"<|START_THINKING|>", "<|END_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"},
    {"<|channel>", "<channel|>", "<|channel>thought", "<channel|>"},
}};

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Returns the part of a tag by which an opening and a closing one belong together: "think" for
// "</think>".
std::string core_of(std::string_view tag) {
  std::string core = lower_case(tag);
  std::erase_if(core, [](char c) { return std::string_view("<>|/[]").find(c) < 6; });
  for (std::string_view word : {"start", "begin", "end", "prefix", "suffix"}) {
    const size_t at = core.find(word);
    if (at != std::string::npos) core.erase(at, word.size());
  }
  return core;
}

bool is_pair(std::string_view begin, std::string_view end) {
  return is_tag_atom(begin) && is_tag_atom(end) && begin != end && core_of(begin) == core_of(end);
}

bool speaks_of_reasoning(std::string_view mark) {
  const std::string lower = lower_case(mark);
  for (std::string_view word : {"think", "thought", "reason", "inner"}) {
    if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

// Returns the closing tag of an opening one; empty where it is not known.
std::string closing_of(std::string_view tag) {
  std::string closing(tag);
  const std::array<std::pair<std::string_view, std::string_view>, 4> words = {
      {{"START", "END"}, {"start", "end"}, {"begin", "end"}, {"prefix", "suffix"}}};
  for (auto [word, other] : words) {
    const size_t at = closing.find(word);
    if (at != std::string::npos) return closing.replace(at, word.size(), other);
  }
  if (tag.find('/') != std::string_view::npos) return {};
  if (tag.starts_with("<|") && !tag.ends_with("|>")) {
    return fmt::format("<{}|>", tag.substr(2, tag.size() - 3));
  }
  return closing.insert(1, "/");
}

// Returns the last tag of a text with what follows it; empty where more than one word follows.
std::string_view last_mark(std::string_view text) {
  text = without_space_behind(text);
  if (text.size() > kMarkReach) text.remove_prefix(text.size() - kMarkReach);
  const std::vector<std::string_view> atoms = marker_atoms(text);
  size_t bytes = 0;
  for (size_t i = 1; i <= std::min<size_t>(atoms.size(), 2); ++i) {
    const std::string_view atom = atoms[atoms.size() - i];
    bytes += atom.size();
    if (is_tag_atom(atom)) return text.substr(text.size() - bytes);
  }
  return {};
}

std::string_view first_tag(std::string_view text) {
  text = without_space_before(text).substr(0, kMarkReach);
  if (text.empty()) return {};
  const std::string_view atom = marker_atoms(text).front();
  return is_tag_atom(atom) ? atom : std::string_view();
}

// Whether the mark also begins the user's message, so that it is not reasoning's.
bool begins_messages(std::string_view mark, std::string_view text) {
  const std::string_view head = last_mark(text.substr(0, text.find(kProbeQuestion)));
  return !head.empty() && marker_atoms(head).front() == marker_atoms(mark).front();
}

class ReasoningFinder {
 public:
  ReasoningFinder(const RenderTurns& render, ProbeStyle style)
      : render_(render), style_(std::move(style)) {}

  // Finds the marks around reasoning that the template renders in a history.
  std::optional<ReasoningMarks> shown() {
    for (const object& switches : switches_to_try()) {
      style_.switches = switches;
      if (!shows_any()) continue;
      for (std::string_view key : kReasoningKeys) {
        style_.history.reasoning_key = key;
        for (bool calls : {false, true}) {
          for (std::string_view content : {kProbeContent, std::string_view()}) {
            if (!calls && content.empty()) continue;
            std::optional<ReasoningMarks> marks = in_history(calls, content);
            if (marks) return marks;
          }
        }
      }
    }
    return std::nullopt;
  }

  // Finds the marks at the end of a rendered prompt.
  std::optional<ReasoningMarks> prompted() {
    style_.history.reasoning_key = HistoryFormat().reasoning_key;
    for (const object& switches : switches_to_try()) {
      style_.switches = switches;
      std::optional<ReasoningMarks> marks = in_prompt();
      if (marks) return marks;
    }
    return std::nullopt;
  }

 private:
  static std::vector<object> switches_to_try() {
    return {{},
            {{"enable_thinking", true}},
            {{"thinking", true}},
            {{"enable_thinking", true}, {"thinking", true}, {"reasoning_effort", "high"}},
            {{"enable_thinking", false}},
            {{"thinking", false}}};
  }

  std::string text_of(const boost::json::array& messages, object variables, bool prompt) const {
    variables["add_generation_prompt"] = prompt;
    try {
      return render_(messages, variables);
    } catch (const Error&) {
      return {};
    }
  }

  // Whether the template shows reasoning under any key, or cannot be rendered with it.
  bool shows_any() const {
    for (int calls : {0, 1}) {
      TurnProbe probe = make_probe(style_, "reasoning", std::vector<int>(calls, 0));
      object& turn = probe.messages[probe.turn].as_object();
      for (std::string_view key : kReasoningKeys) turn[key] = kProbeReasoning;
      const std::string text = text_of(probe.messages, probe.variables, false);
      if (text.empty() || text.find(kProbeReasoning) != std::string::npos) return true;
    }
    return false;
  }

  std::optional<ReasoningMarks> in_history(bool calls, std::string_view content) const {
    std::vector<int> numbers;
    if (calls) numbers.push_back(0);
    const TurnProbe probe = make_probe(style_, "reasoning", numbers, std::string(content),
                                       std::string(kProbeReasoning));
    const std::string text = text_of(probe.messages, probe.variables, false);
    const size_t at = text.find(kProbeReasoning);
    if (at == std::string::npos) return std::nullopt;
    const std::string_view whole = text;
    const std::string_view mark = last_mark(whole.substr(0, at));
    const std::string_view end = first_tag(whole.substr(at + kProbeReasoning.size()));
    if (mark.empty() || end.empty() || !is_pair(marker_atoms(mark).front(), end) ||
        begins_messages(mark, text)) {
      return std::nullopt;
    }
    return ReasoningMarks{std::string(mark), std::string(end), style_.history.reasoning_key,
                          style_.switches};
  }

  std::optional<ReasoningMarks> in_prompt() const {
    TurnProbe probe = make_probe(style_, "prompt", {}, std::string(kProbeContent));
    probe.messages.erase(probe.messages.begin() + probe.turn, probe.messages.end());
    const std::string text = text_of(probe.messages, probe.variables, true);
    const std::string_view last = last_mark(text);
    if (last.empty()) return std::nullopt;
    const size_t at = without_space_behind(text).size() - last.size();
    const std::string_view before = last_mark(std::string_view(text).substr(0, at));
    if (!before.empty() && is_pair(marker_atoms(before).front(), last) &&
        speaks_of_reasoning(before)) {
      return ReasoningMarks{.begin = std::string(before), .end = std::string(last)};
    }
    const std::string end = closing_of(marker_atoms(last).front());
    if (!speaks_of_reasoning(last) || end.empty()) return std::nullopt;
    return ReasoningMarks{.begin = std::string(last), .end = end};
  }

  const RenderTurns& render_;
  ProbeStyle style_;
};

}  // namespace

ReasoningMarks find_reasoning_marks(const RenderTurns& render,
                                    const std::function<bool(std::string_view)>& has_token,
                                    ProbeStyle style) {
  ReasoningFinder finder(render, std::move(style));
  std::optional<ReasoningMarks> marks = finder.shown();
  if (!marks) marks = finder.prompted();
  if (marks) return *marks;
  for (const ReasoningPair& pair : kTokenPairs) {
    if (has_token(pair.begin_token) && has_token(pair.end_token)) {
      return {.begin = std::string(pair.begin), .end = std::string(pair.end)};
    }
  }
  return {};
}

ContentMarks find_content_marks(const RenderTurns& render, const ProbeStyle& style) {
  const TurnProbe probe = make_probe(style, "an answer", {}, std::string(kProbeContent));
  try {
    const ProbeText answer = render_probe(render, probe);
    const std::string text = answer.prompt + answer.turn + answer.rest;
    object variables = probe.variables;
    variables["add_generation_prompt"] = true;
    boost::json::array messages(probe.messages.begin(), probe.messages.begin() + probe.turn);
    const std::string prompt = render(messages, variables);
    const size_t at = text.rfind(kProbeContent);
    if (at == std::string::npos) return {};
    const std::string_view begin = last_mark(std::string_view(text).substr(0, at));
    const std::string_view end =
        first_tag(std::string_view(text).substr(at + kProbeContent.size()));
    if (!is_pair(begin, end) || begins_messages(begin, text)) return {};
    // The mark can only be in the generation prompt, which comes after the question.
    const size_t question = std::min(prompt.rfind(kProbeQuestion), prompt.size());
    if (prompt.find(begin, question) != std::string::npos) return {};
    return {.begin = std::string(begin), .end = std::string(end)};
  } catch (const Error&) {
    return {};
  }
}

std::string_view without_empty_reasoning(std::string_view text, const ReasoningMarks& marks) {
  text = without_space_before(text);
  if (marks.end.empty()) return text;
  if (text.starts_with(marks.begin)) {
    const std::string_view rest = without_space_before(text.substr(marks.begin.size()));
    if (!rest.starts_with(marks.end)) return text;
    text = rest;
  }
  if (text.starts_with(marks.end)) text.remove_prefix(marks.end.size());
  return without_space_before(text);
}

}  // namespace hearth
