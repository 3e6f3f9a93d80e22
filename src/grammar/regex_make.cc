// RegexSet's constructors, which bring expressions into normal form.
#include <algorithm>
#include <tuple>

#include "grammar/regex_set.h"

namespace hearth {
namespace {

uint64_t add_bounds(uint64_t a, uint64_t b) { return a > kNoLimit - b ? kNoLimit : a + b; }

uint64_t multiply_bounds(uint64_t a, uint64_t b) {
  if (a == 0 || b == 0) return 0;
  return a > kNoLimit / b ? kNoLimit : a * b;
}

}  // namespace

RegexId RegexSet::bytes(const ByteSet& set) {
  if (set.none()) return nothing();
  return add({.kind = Kind::kBytes, .finite = true, .a = set_number(set)});
}

RegexId RegexSet::literal(std::string_view text) {
  if (text.empty()) return empty();
  for (char c : text) {
    ByteSet single;
    single.set(static_cast<uint8_t>(c));
    set_number(single);
  }
  if (text.size() == 1) {
    ByteSet single;
    single.set(static_cast<uint8_t>(text[0]));
    return bytes(single);
  }
  auto at = static_cast<uint32_t>(literals_.size());
  literals_ += text;
  size_t before = nodes_.size();
  RegexId id = add(
      {.kind = Kind::kLiteral, .finite = true, .a = at, .b = static_cast<uint32_t>(text.size())});
  if (nodes_.size() == before) literals_.resize(at);
  return id;
}

RegexId RegexSet::concat(std::span<const RegexId> parts) {
  RegexId whole = empty();
  for (size_t i = parts.size(); i-- > 0;) whole = join(parts[i], whole);
  return whole;
}

RegexId RegexSet::join(RegexId head, RegexId rest) {
  std::vector<RegexId> heads;
  while (nodes_[head].kind == Kind::kConcat) {
    heads.push_back(nodes_[head].a);
    head = nodes_[head].b;
  }
  rest = join_one(head, rest);
  while (!heads.empty()) {
    rest = join_one(heads.back(), rest);
    heads.pop_back();
  }
  return rest;
}

// Concatenates; `head` is not a kConcat itself.
RegexId RegexSet::join_one(RegexId head, RegexId rest) {
  if (head == nothing() || rest == nothing()) return nothing();
  if (head == empty()) return rest;
  if (rest == empty()) return head;
  bool more = nodes_[rest].kind == Kind::kConcat;
  RegexId next = more ? nodes_[rest].a : rest;
  if (head == everything() && next == everything()) return rest;
  Run first{head, 0, 1, 1, head}, second{next, 0, 1, 1, next};
  bool runs = split_run(head, &first);
  runs = split_run(next, &second) || runs;
  if (runs && first.part == second.part) {
    RegexId both = repeat(first.part, add_bounds(first.least, second.least),
                          add_bounds(first.most, second.most));
    return more ? join(both, nodes_[rest].b) : both;
  }
  const Node &h = nodes_[head], &r = nodes_[rest];
  return add({.kind = Kind::kConcat,
              .nullable = h.nullable && r.nullable,
              .plain = h.plain && r.plain,
              .finite = h.finite && r.finite,
              .height = std::max(h.height + 1, r.height),
              .a = head,
              .b = rest});
}

bool RegexSet::split_run(RegexId regex, Run* run) const {
  const Node* node = &nodes_[regex];
  RegexId rest = empty();
  if (node->kind == Kind::kConcat) {
    rest = node->b;
    node = &nodes_[node->a];
  }
  if (node->kind != Kind::kRepeat) return false;
  *run = {node->a, rest, node->least, node->most, regex};
  return true;
}

RegexId RegexSet::repeat(RegexId regex, uint64_t least, uint64_t most) {
  const Node node = nodes_[regex];
  if (least > most) return nothing();
  if (most == 0 || regex == empty()) return empty();
  if (regex == nothing()) return least == 0 ? empty() : nothing();
  if (least == 1 && most == 1) return regex;
  if (regex == everything()) return everything();
  if (node.nullable) least = 0;
  if (node.kind == Kind::kRepeat && node.least <= 1) {
    return repeat(node.a, multiply_bounds(least, node.least), multiply_bounds(most, node.most));
  }
  if (node.kind == Kind::kBytes && sets_[node.a].all() && least == 0 && most == kNoLimit) {
    return everything();
  }
  return add({.kind = Kind::kRepeat,
              .nullable = least == 0,
              .plain = node.plain,
              .finite = node.finite && most != kNoLimit,
              .height = node.height + 1,
              .a = regex,
              .least = least,
              .most = most});
}

RegexId RegexSet::complement(RegexId regex) {
  const Node& node = nodes_[regex];
  if (regex == nothing()) return everything();
  if (regex == everything()) return nothing();
  if (node.kind == Kind::kNot) return node.a;
  return add({.kind = Kind::kNot,
              .nullable = !node.nullable,
              .plain = false,
              .height = node.height + 1,
              .a = regex});
}

void RegexSet::flatten(Kind kind, std::span<const RegexId> given, std::vector<RegexId>* out) const {
  for (RegexId part : given) {
    const Node& node = nodes_[part];
    if (node.kind == kind) {
      std::span<const RegexId> inner = parts(node);
      out->insert(out->end(), inner.begin(), inner.end());
    } else {
      out->push_back(part);
    }
  }
  std::ranges::sort(*out);
  out->erase(std::unique(out->begin(), out->end()), out->end());
}

// Merges all parts that are sets of bytes into one.
void RegexSet::merge_bytes(Kind kind, std::vector<RegexId>* parts) {
  auto is_bytes = [this](RegexId part) { return nodes_[part].kind == Kind::kBytes; };
  if (std::ranges::count_if(*parts, is_bytes) < 2) return;
  ByteSet merged = kind == Kind::kAllOf ? all_bytes() : ByteSet();
  for (RegexId part : *parts) {
    if (!is_bytes(part)) continue;
    const ByteSet& set = sets_[nodes_[part].a];
    merged = kind == Kind::kAllOf ? merged & set : merged | set;
  }
  std::erase_if(*parts, is_bytes);
  parts->push_back(bytes(merged));
}

// Merges alternatives that differ only in the bounds of their first repetition, where the bounds
// overlap or touch.
void RegexSet::merge_runs(std::vector<RegexId>* parts) {
  std::vector<Run> runs;
  for (RegexId part : *parts) {
    Run run;
    if (split_run(part, &run)) runs.push_back(run);
  }
  if (runs.size() < 2) return;
  std::ranges::sort(runs, [](const Run& a, const Run& b) {
    return std::tie(a.part, a.rest, a.least) < std::tie(b.part, b.rest, b.least);
  });
  for (size_t i = 0; i < runs.size();) {
    Run merged = runs[i];
    size_t end = i + 1;
    while (end < runs.size() && runs[end].part == merged.part && runs[end].rest == merged.rest &&
           (merged.most == kNoLimit || runs[end].least <= merged.most + 1)) {
      merged.most = std::max(merged.most, runs[end++].most);
    }
    if (end > i + 1) {
      for (size_t j = i; j < end; ++j) std::erase(*parts, runs[j].whole);
      parts->push_back(join(repeat(merged.part, merged.least, merged.most), merged.rest));
    }
    i = end;
  }
}

bool RegexSet::has_opposites(std::span<const RegexId> parts) {
  return std::ranges::any_of(parts, [&](RegexId part) {
    const Node& node = nodes_[part];
    return node.kind == Kind::kNot && std::ranges::find(parts, node.a) != parts.end();
  });
}

RegexId RegexSet::any_of(std::span<const RegexId> given) {
  std::vector<RegexId> parts;
  flatten(Kind::kAnyOf, given, &parts);
  std::erase(parts, nothing());
  if (std::ranges::find(parts, everything()) != parts.end()) return everything();
  merge_bytes(Kind::kAnyOf, &parts);
  merge_runs(&parts);
  auto matches_empty = [this](RegexId part) { return part != empty() && nullable(part); };
  if (std::ranges::any_of(parts, matches_empty)) std::erase(parts, empty());
  std::ranges::sort(parts);
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  if (parts.empty()) return nothing();
  if (parts.size() == 1) return parts[0];
  return has_opposites(parts) ? everything() : add_list(Kind::kAnyOf, parts);
}

RegexId RegexSet::all_of(std::span<const RegexId> given) {
  std::vector<RegexId> parts;
  flatten(Kind::kAllOf, given, &parts);
  std::erase(parts, everything());
  if (std::ranges::find(parts, nothing()) != parts.end()) return nothing();
  merge_bytes(Kind::kAllOf, &parts);
  if (std::ranges::find(parts, nothing()) != parts.end()) return nothing();
  if (std::ranges::find(parts, empty()) != parts.end()) {
    bool all = std::ranges::all_of(parts, [this](RegexId part) { return nullable(part); });
    return all ? empty() : nothing();
  }
  std::ranges::sort(parts);
  if (parts.empty()) return everything();
  if (parts.size() == 1) return parts[0];
  return has_opposites(parts) ? nothing() : add_list(Kind::kAllOf, parts);
}

RegexId RegexSet::machine(const RegexMachine& machine, uint64_t state) {
  auto at = std::ranges::find(machines_, &machine);
  const auto number = static_cast<uint32_t>(at - machines_.begin());
  if (at == machines_.end()) {
    machines_.push_back(&machine);
    const ByteSet told = machine.bytes();
    for (uint32_t byte = 0; byte < told.size(); ++byte) {
      if (told.test(byte))
        set_number(byte_range(static_cast<uint8_t>(byte), static_cast<uint8_t>(byte)));
    }
  }
  return add({.kind = Kind::kMachine,
              .nullable = machine.nullable(state),
              .plain = false,
              .a = number,
              .least = state});
}

}  // namespace hearth
