#include "chat/turn_markup.h"

#include <algorithm>

#include "chat/marker_space.h"

namespace hearth {
namespace {

constexpr uint64_t kMaxSpace = 4;  // characters at a seam; endless white space is not allowed
constexpr std::string_view kLooseMarks = "{}[],:";

}  // namespace

std::vector<MarkerPart> split_marker(std::string_view marker, std::span<const MarkerToken> tokens) {
  std::vector<MarkerPart> parts;
  for (size_t at = 0; at < marker.size();) {
    const MarkerToken* longest = nullptr;
    for (const MarkerToken& token : tokens) {
      if (token.text.empty() || !marker.substr(at).starts_with(token.text)) continue;
      if (longest == nullptr || token.text.size() > longest->text.size()) longest = &token;
    }
    if (longest != nullptr) {
      parts.push_back({longest->text, longest->id});
      at += longest->text.size();
    } else {
      if (parts.empty() || parts.back().token >= 0) parts.push_back({});
      parts.back().text += marker[at++];
    }
  }
  return parts;
}

RegexId TurnMarkup::space(uint64_t most) const {
  ByteSet bytes;
  for (char c : kMarkerSpace) bytes.set(static_cast<uint8_t>(c));
  return set_.repeat(set_.bytes(bytes), 0, std::max(most, kMaxSpace));
}

// Returns a marker's regular expression. White space may be longer or shorter than the marker's
// own, and may also stand around JSON's punctuation.
RegexId TurnMarkup::marker_text(std::string_view text, bool* quoted) {
  std::vector<RegexId> parts;
  bool spaced = false;
  auto add_space = [&](uint64_t most) {
    if (!spaced) parts.push_back(space(most));
    spaced = true;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_marker_space(c)) {
      const size_t end = std::min(text.find_first_not_of(kMarkerSpace, i), text.size());
      if (spaced) parts.pop_back();
      spaced = false;
      add_space(end - i + 1);
      i = end - 1;
      continue;
    }
    if (c == '"') *quoted = !*quoted;
    const bool loose = !*quoted && kLooseMarks.find(c) != std::string_view::npos;
    if (loose) add_space(0);
    parts.push_back(set_.literal({&c, 1}));
    spaced = false;
    if (loose) add_space(0);
  }
  return set_.concat(parts);
}

Symbol TurnMarkup::token(int32_t id) { return builder_.control({&id, 1}); }

Symbol TurnMarkup::marker(std::string_view text, bool* quoted) {
  bool own = false;
  if (quoted == nullptr) quoted = &own;
  std::vector<Symbol> symbols;
  for (const MarkerPart& part : split_marker(text, tokens_)) {
    symbols.push_back(part.token >= 0 ? token(part.token)
                                      : builder_.terminal(marker_text(part.text, quoted)));
  }
  const Symbol rule = builder_.rule("marker");
  builder_.add(rule, symbols);
  return rule;
}

MarkerHead TurnMarkup::head(std::string_view marker) const {
  const std::vector<MarkerPart> parts = split_marker(marker, tokens_);
  if (parts.empty()) return {};
  if (parts[0].token >= 0) return {"", parts[0].token, parts[0].text.size()};
  if (parts.size() > 1 && parts[0].text.size() < 3) {
    return {parts[0].text, parts[1].token, parts[0].text.size() + parts[1].text.size()};
  }
  const std::string& text = parts[0].text;
  size_t end = text.size();
  if (text[0] == '<') end = std::min(text.find('>'), text.size() - 1) + 1;
  if (text[0] == '[') end = std::min(text.find(']'), text.size() - 1) + 1;
  while (end > 1 && is_marker_space(text[end - 1])) --end;
  return {text.substr(0, end), -1, end};
}

RegexId TurnMarkup::without(std::string_view text) {
  if (text.empty()) return set_.everything();
  return set_.complement(set_.concat({set_.everything(), set_.literal(text), set_.everything()}));
}

RegexId TurnMarkup::up_to(std::string_view text) {
  const RegexId ends = set_.concat({set_.everything(), set_.literal(text)});
  const RegexId more = set_.concat({ends, set_.bytes(all_bytes()), set_.everything()});
  return set_.all_of({ends, set_.complement(more)});
}

// Returns the grammar of a text that may have control tokens in it. `plain`: what each stretch
// before a control token must match. `last`: what the stretch after the last control token must
// match.
Symbol TurnMarkup::free_parts(const FreeParts& parts) {
  std::vector<int32_t> controls;
  for (int32_t id : controls_) {
    if (std::ranges::find(parts.excluded, id) == parts.excluded.end()) controls.push_back(id);
  }
  auto terminal = [&](RegexId regex) { return builder_.terminal(regex); };
  auto first = [&](RegexId regex) { return terminal(set_.all_of({regex, parts.first})); };
  const Symbol mark = builder_.control(controls);
  const Symbol inner = builder_.rule("inner");
  builder_.add(inner, {mark, terminal(parts.plain)});
  const Symbol last = builder_.rule("last");
  builder_.add(last, {mark, terminal(parts.last)});
  if (parts.between != kNoSymbol) {
    auto behind = [&](RegexId regex) { return terminal(set_.all_of({regex, not_spaced()})); };
    builder_.add(inner, {parts.between, behind(parts.plain)});
    builder_.add(last, {parts.between, behind(parts.last)});
  }
  const Symbol text = builder_.rule("text");
  builder_.add(text, {first(parts.last)});
  builder_.add(text, {first(parts.plain), builder_.repeated(inner, 0, kNoLimit), last});
  return text;
}

RegexId TurnMarkup::not_spaced() {
  ByteSet space;
  for (char c : kMarkerSpace) space.set(static_cast<uint8_t>(c));
  return set_.complement(set_.concat({set_.bytes(space), set_.everything()}));
}

Symbol TurnMarkup::free_text(std::span<const int32_t> excluded, RegexId first, Symbol between) {
  const RegexId all = set_.everything();
  return free_parts({all, all, excluded, first, between});
}

Symbol TurnMarkup::free_text_until(const MarkerHead& head, std::span<const int32_t> excluded,
                                   RegexId first, Symbol between) {
  const RegexId all = set_.everything();
  if (head.token < 0) {
    return free_parts({without(head.text), up_to(head.text), excluded, first, between});
  }
  std::vector<int32_t> others(excluded.begin(), excluded.end());
  others.push_back(head.token);
  const RegexId last = head.text.empty() ? all : set_.concat({all, set_.literal(head.text)});
  const Symbol rule = builder_.rule("until");
  const Symbol text = free_parts({all, last, others, first, between});
  const uint8_t before = builder_.tag();
  tag(TurnTag::kStructure);
  const Symbol end = token(head.token);
  builder_.set_tag(before);
  builder_.add(rule, {text, end});
  return rule;
}

}  // namespace hearth
