#include "chat/find_turn_format.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "chat/call_form.h"
#include "chat/call_texts.h"
#include "chat/marker_atoms.h"
#include "chat/marker_space.h"
#include "chat/reasoning_marks.h"
#include "chat/turn_probes.h"

namespace hearth {
namespace {

constexpr std::string_view kContentBefore = "Here goes";
constexpr std::string_view kLongId = "call_0123456789abcdefABCDEF";

bool is_same_form(const CallFormat& a, const CallFormat& b) {
  auto text = [](const CallFormat& form) {
    std::string all;
    for (const std::string* part :
         {&form.section_begin, &form.separator, &form.section_end, &form.begin, &form.name_end,
          &form.end, &form.id_begin, &form.id_end, &form.parameter, &form.key_end, &form.value_end,
          &form.json_key_end, &form.quote}) {
      all += without_any_space(*part) + '\0';
    }
    return all;
  };
  return a.id_place == b.id_place && a.arguments == b.arguments && text(a) == text(b);
}

const KnownFormat* known_form_of(const CallFormat& calls) {
  for (std::string_view name : known_format_names()) {
    const KnownFormat* known = find_known_format(name);
    if (known->format.calls && is_same_form(*known->format.calls, calls)) return known;
  }
  return nullptr;
}

// Returns the marker by which calls are told from content.
std::string_view opening_of(const CallFormat& form) {
  return without_space_around(form.section_begin.empty() ? form.begin : form.section_begin);
}

bool begins_with_tag(std::string_view text) {
  return text.starts_with('<') || (!text.empty() && is_tag_atom(marker_atoms(text).front()));
}

// Returns the known form of which the template shows only a part: without the end of the calls'
// section, or with a single call.
std::optional<CallFormat> known_form_around(const CallFormat& one) {
  for (std::string_view name : known_format_names()) {
    const KnownFormat* known = find_known_format(name);
    if (!known->format.calls || known->format.calls->section_begin.empty()) continue;
    CallFormat form = *known->format.calls;
    CallFormat joined = form;
    joined.begin = form.section_begin + form.begin;
    joined.section_begin = joined.separator = joined.section_end = "";
    CallFormat whole = joined;
    whole.end += form.section_end;
    if (!is_same_form(joined, one) && !is_same_form(whole, one)) continue;
    form.one = true;
    return form;
  }
  return std::nullopt;
}

std::string name_of_shape(const CallFormat& calls) {
  if (const KnownFormat* known = known_form_of(calls)) return known->format.name;
  switch (calls.arguments) {
    case ArgumentForm::kParameters:
      return "parameters";
    case ArgumentForm::kDictionary:
      return "dictionary";
    case ArgumentForm::kPython:
      return "python";
    case ArgumentForm::kJson:
      break;
  }
  return calls.name_end.starts_with('"') ? "json" : "named-json";
}

bool is_harmony(const ProbeText& text) {
  const std::string behind = text.turn + text.rest;
  for (std::string_view mark : {"<|channel|>", "<|message|>"}) {
    if (behind.find(mark) == std::string::npos && text.prompt.find(mark) == std::string::npos) {
      return false;
    }
  }
  return true;
}

// How far the search came with one style. A later value is better.
enum class ProbeStage : uint8_t { kNothing, kRaised, kHidden, kUntold, kUnproved, kFound };

struct StyleOutcome {
  ProbeStage stage = ProbeStage::kNothing;
  std::string problem = {};
  ProbeStyle style = {};
  std::optional<CallFormat> calls = std::nullopt;  // nothing for harmony
};

class TurnFormatFinder {
 public:
  TurnFormatFinder(const RenderTurns& render, ReasoningMarks marks)
      : render_(render), marks_(std::move(marks)) {}

  FoundTurnFormat find() {
    StyleOutcome best;
    for (ProbeStyle& style : styles()) {
      StyleOutcome outcome = try_style(std::move(style));
      if (outcome.stage > best.stage) best = std::move(outcome);
      if (best.stage == ProbeStage::kFound) break;
    }
    FoundTurnFormat found;
    found.problem = best.problem;
    TurnFormat& format = found.format;
    format.reasoning_begin = marks_.begin;
    format.reasoning_end = marks_.end;
    format.history = best.style.history;
    format.history.reasoning_key = marks_.key;
    format.name = "content";
    const ContentMarks content = find_content_marks(render_, best.style);
    format.content_begin = content.begin;
    format.content_end = content.end;
    if (best.stage != ProbeStage::kFound) return found;
    format.history.null_content = best.style.null_content;
    found.named_ids = best.style.named_ids;
    found.results = best.style.results;
    found.bare = !best.style.tools;
    format.history.id_length = id_length(best.style);
    format.calls = best.calls;
    format.harmony = !best.calls;
    if (format.harmony) {
      format.name = "gpt-oss";
      format.reasoning_begin.clear();
      format.reasoning_end.clear();
      find_harmony_key(best.style, &format);
    } else {
      format.name = name_of_shape(*best.calls);
    }
    found.shows_content_before_calls = best.style.content_before_calls && !format.harmony;
    found.reasoning_switches = marks_.switches;
    found.shows_reasoning = shows_reasoning(found, {});
    found.shows_reasoning_before_calls = shows_reasoning(found, {0});
    return found;
  }

 private:
  // Returns the styles to try, the likeliest first.
  static std::vector<ProbeStyle> styles() {
    std::vector<ProbeStyle> styles;
    for (bool tools : {true, false}) {
      for (bool results : {false, true}) {
        for (bool null_content : {false, true}) {
          for (bool text : {false, true}) {
            ProbeStyle style;
            style.tools = tools;
            style.results = results;
            style.null_content = null_content;
            style.history.arguments_as_text = text;
            styles.push_back(std::move(style));
          }
        }
      }
    }
    return styles;
  }

  ProbeText text_of(const ProbeStyle& style, const std::vector<int>& calls,
                    std::string_view content = {}) const {
    return render_probe(render_, make_probe(style, "calls", calls, std::string(content)));
  }

  StyleOutcome try_style(ProbeStyle style) {
    StyleOutcome outcome;
    outcome.style = style;
    ProbeText one;
    try {
      one = text_of(style, {0});
    } catch (const Error& error) {
      outcome.stage = ProbeStage::kRaised;
      outcome.problem = fmt::format("raises an error for a call: {}", error.what());
      return outcome;
    }
    const TurnProbe probe = make_probe(style, "a call", {0});
    const ProbeCall& call = probe.calls[0];
    if (one.turn.find(call.name) == std::string::npos) {
      if (!style.named_ids && one.turn.find(call.id) != std::string::npos) {
        style.named_ids = true;
        return try_style(std::move(style));
      }
      outcome.stage = ProbeStage::kHidden;
      outcome.problem = "does not show calls of tools in a history";
      return outcome;
    }
    const bool has_call = find_call(one.turn, 0, call).has_value();
    if (is_harmony(one) && has_call) {
      outcome.stage = ProbeStage::kFound;
      return outcome;
    }
    outcome.stage = ProbeStage::kUntold;
    outcome.problem = has_call ? "writes calls in a way that is not known"
                               : "writes the arguments of a call in a way that is not known";
    if (has_call) find_form(one, &outcome);
    return outcome;
  }

  void find_form(const ProbeText& one, StyleOutcome* outcome) {
    ProbeStyle& style = outcome->style;
    std::vector<int> numbers = {0, 1};
    ProbeText text;
    try {
      text = text_of(style, numbers);
      const std::vector<ProbeCall> calls = make_probe(style, "two calls", numbers).calls;
      const std::optional<CallSpot> first = find_call(text.turn, 0, calls[0]);
      style.one = !first || !find_call(text.turn, first->end, calls[1]);
    } catch (const Error&) {
      style.one = true;
    }
    if (style.one) {
      numbers = {0};
      text = one;
    }
    const std::vector<ProbeCall> calls = make_probe(style, "calls", numbers).calls;
    const std::string_view turn = without_empty_reasoning(text.turn, marks_);
    const std::string before = before_behind_content(style, numbers, calls[0]);
    std::optional<CallFormat> form = form_of_calls(turn, calls, before);
    if (!form) return;
    form->one = style.one;
    const std::string_view opening = opening_of(*form);
    // Calls whose beginning looks like text are recognised only at a turn's beginning, so probes
    // have no content before them.
    style.content_before_calls =
        begins_with_tag(opening) && without_space_before(before).starts_with(opening);
    style.python = form->arguments == ArgumentForm::kPython;
    if (form->one) {
      const std::optional<CallFormat> known = known_form_around(*form);
      if (known) form = known;
    }
    if (form->arguments == ArgumentForm::kParameters) find_json_values(&style, &*form);
    outcome->problem = difference(style, *form);
    outcome->stage = outcome->problem.empty() ? ProbeStage::kFound : ProbeStage::kUnproved;
    outcome->calls = std::move(form);
  }

  // Returns the text between content and the first call's name; empty where the template does not
  // show the content.
  std::string before_behind_content(const ProbeStyle& style, const std::vector<int>& numbers,
                                    const ProbeCall& call) const {
    try {
      const ProbeText text = text_of(style, numbers, kContentBefore);
      const size_t at = text.turn.find(kContentBefore);
      const size_t name = text.turn.find(call.name);
      if (at == std::string::npos || name == std::string::npos || at > name) return {};
      const size_t begin = at + kContentBefore.size();
      return text.turn.substr(begin, name - begin);
    } catch (const Error&) {
      return {};
    }
  }

  // Finds out how the template writes parameters whose values are not text.
  void find_json_values(ProbeStyle* style, CallFormat* form) const {
    constexpr std::string_view kNumberKey = "amount";
    try {
      const ProbeText text = text_of(*style, {2});
      const std::string_view turn = text.turn;
      style->python_words = turn.find("True") != std::string_view::npos;
      const size_t key = turn.find(kNumberKey);
      if (key == std::string_view::npos) return;
      const size_t begin = key + kNumberKey.size();
      const size_t value = turn.find("2.5", begin);
      if (value == std::string_view::npos) return;
      const std::string_view end = turn.substr(begin, value - begin);
      if (end != form->key_end) form->json_key_end = end;
    } catch (const Error&) {
      return;
    }
  }

  // Returns the name of the first probe that the form does not explain; empty where it explains
  // all.
  std::string difference(const ProbeStyle& style, const CallFormat& form) const {
    const bool known = known_form_of(form) != nullptr;
    for (const TurnProbe& probe : turn_probes(style)) {
      if (probe.calls.empty()) continue;
      const bool forgiven = probe.often_wrong && (known || style.python);
      try {
        const ProbeText text = render_probe(render_, probe);
        if (explains(form, probe, text.turn) || forgiven) continue;
      } catch (const Error& error) {
        if (forgiven) continue;
        return fmt::format("raises an error for {}: {}", probe.what, error.what());
      }
      return fmt::format("writes {} unlike other calls", probe.what);
    }
    return {};
  }

  bool explains(const CallFormat& form, const TurnProbe& probe, std::string_view turn) const {
    turn = without_empty_reasoning(turn, marks_);
    const size_t content = probe.content.empty() ? std::string::npos : turn.find(probe.content);
    if (content != std::string::npos) {
      turn = without_space_before(turn.substr(content + probe.content.size()));
      // Some templates put marks around the content that comes before calls.
      const std::string_view opening = opening_of(form);
      if (!opening.empty() && !turn.starts_with(opening)) {
        for (std::string_view atom : marker_atoms(turn.substr(0, turn.find(opening)))) {
          if (!is_tag_atom(atom) && !without_any_space(atom).empty()) return false;
          turn.remove_prefix(atom.size());
        }
      }
    }
    const bool open = !form.section_end.empty() && probe.calls.size() == 1;
    return is_written_so(form, probe.calls, turn, open);
  }

  // Returns the length of ids that the template requires, since some templates refuse others; 0: it
  // takes any length.
  uint32_t id_length(const ProbeStyle& style) const {
    if (style.named_ids) return 0;
    TurnProbe probe = make_probe(style, "a long id", {0});
    const auto length = static_cast<uint32_t>(probe.calls[0].id.size());
    boost::json::object& turn = probe.messages[probe.turn].as_object();
    turn["tool_calls"].as_array()[0].as_object()["id"] = kLongId;
    if (style.results) probe.messages[probe.turn + 1].as_object()["tool_call_id"] = kLongId;
    try {
      render_probe(render_, probe);
      return 0;
    } catch (const Error&) {
      return length;
    }
  }

  bool shows_reasoning(const FoundTurnFormat& found, const std::vector<int>& calls) const {
    const TurnProbe probe = make_probe(style_of(found), "reasoning", calls,
                                       calls.empty() ? "Here goes" : "", "Mulling it over");
    try {
      const ProbeText text = render_probe(render_, probe);
      const std::string whole = text.prompt + text.turn;
      const size_t at = whole.find(probe.reasoning);
      if (at == std::string::npos || whole.rfind(marks_.begin, at) == std::string::npos) {
        return false;
      }
      const size_t end = whole.find(marks_.end, at);
      if (end == std::string::npos) return false;
      // The check looks at the first text after the reasoning: the content, or the markup of the
      // first call.
      const std::string_view rest = std::string_view(whole).substr(end + marks_.end.size());
      return found.format.harmony ||
             without_space_before(rest).starts_with(
                 calls.empty() ? probe.content : opening_of(*found.format.calls));
    } catch (const Error&) {
      return false;
    }
  }

  void find_harmony_key(ProbeStyle style, TurnFormat* format) const {
    for (std::string_view key : {"reasoning_content", "thinking", "reasoning"}) {
      style.history.reasoning_key = key;
      try {
        const TurnProbe probe = make_probe(style, "reasoning", {0}, {}, "Mulling it over");
        const ProbeText text = render_probe(render_, probe);
        if ((text.turn + text.prompt).find(probe.reasoning) == std::string::npos) continue;
        format->history.reasoning_key = key;
        return;
      } catch (const Error&) {
        continue;
      }
    }
    format->history.reasoning_key = "thinking";
  }

  const RenderTurns& render_;
  ReasoningMarks marks_;
};

}  // namespace

FoundTurnFormat find_turn_format(const RenderTurns& render,
                                 const std::function<bool(std::string_view)>& has_token) {
  return TurnFormatFinder(render, find_reasoning_marks(render, has_token, {})).find();
}

}  // namespace hearth
