// RegexSet's derivatives, and the questions that they answer about an expression.
#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "grammar/regex_set.h"

namespace hearth {
namespace {

constexpr size_t kMaxRemembered = size_t{1} << 18;
constexpr size_t kMaxSearchSteps = 100'000;

void check_search(size_t met) {
  if (met <= kMaxSearchSteps) return;
  fail(ErrorCode::kRequest,
       "is too complex: after {} steps it is not known whether any text matches; simplify it",
       kMaxSearchSteps);
}

uint64_t one_less(uint64_t bound) { return bound == kNoLimit || bound == 0 ? bound : bound - 1; }

}  // namespace

RegexId RegexSet::derive(RegexId regex, uint8_t byte) {
  const Node& node = nodes_[regex];
  if (!spellable_.test(byte) || surely_begins_otherwise(node, byte)) return nothing();
  switch (node.kind) {  // cases that are as quick as a look-up
    case Kind::kNothing:
    case Kind::kEmpty:
      return nothing();
    case Kind::kEverything:
      return everything();
    case Kind::kBytes:
      return empty();
    default:
      break;
  }
  uint64_t key = mix_hash(mix_hash(1, regex), byte);
  uint32_t found = derivative_table_.find(key, [&](uint32_t at) {
    return derivatives_[at].regex == regex && derivatives_[at].byte == byte;
  });
  if (found != kNoId) return derivatives_[found].result;
  if (work_left_ == 0) {
    fail(ErrorCode::kRequest, "is too complex to compile: simplify it");
  }
  --work_left_;
  RegexId result = derive_node(regex, byte);
  if (derivatives_.size() >= kMaxRemembered) {
    derivatives_.clear();
    derivative_table_.clear();
  }
  derivative_table_.insert(key, static_cast<uint32_t>(derivatives_.size()));
  derivatives_.push_back({regex, byte, result});
  return result;
}

ByteSet RegexSet::firsts(RegexId regex) const {
  ByteSet result;
  const Node* node = &nodes_[regex];
  for (; node->kind == Kind::kConcat; node = &nodes_[node->b]) {
    result |= firsts(node->a);
    if (!nullable(node->a)) return result & spellable_;
  }
  switch (node->kind) {
    case Kind::kNothing:
    case Kind::kEmpty:
      break;
    case Kind::kBytes:
      result |= sets_[node->a];
      break;
    case Kind::kLiteral:
      result.set(static_cast<uint8_t>(literals_[node->a]));
      break;
    case Kind::kAnyOf:
      for (RegexId part : parts(*node)) result |= firsts(part);
      break;
    case Kind::kAllOf: {
      ByteSet common = all_bytes();
      for (RegexId part : parts(*node)) common &= firsts(part);
      result |= common;
      break;
    }
    case Kind::kRepeat:
      result |= firsts(node->a);
      break;
    default:
      result = all_bytes();
  }
  return result & spellable_;
}

bool RegexSet::surely_begins_otherwise(const Node& node, uint8_t byte) const {
  const Node& head = node.kind == Kind::kConcat ? nodes_[node.a] : node;
  if (head.kind == Kind::kBytes) return !sets_[head.a].test(byte);
  return head.kind == Kind::kLiteral && static_cast<uint8_t>(literals_[head.a]) != byte;
}

RegexId RegexSet::derive_node(RegexId regex, uint8_t byte) {
  const Node node = nodes_[regex];
  switch (node.kind) {
    case Kind::kLiteral: {
      if (node.b == 2) {
        ByteSet last;
        last.set(static_cast<uint8_t>(literals_[node.a + 1]));
        return bytes(last);
      }
      return add({.kind = Kind::kLiteral, .finite = true, .a = node.a + 1, .b = node.b - 1});
    }
    case Kind::kConcat:
      return derive_concat(regex, byte);
    case Kind::kNot:
      return complement(derive(node.a, byte));
    case Kind::kRepeat: {
      RegexId first = derive(node.a, byte);
      if (first == nothing()) return first;
      return join(first, repeat(node.a, one_less(node.least), one_less(node.most)));
    }
    case Kind::kMachine:
      return machines_[node.a]->derive(*this, node.least, byte);
    default:
      return derive_list(regex, byte);
  }
}

RegexId RegexSet::derive_concat(RegexId regex, uint8_t byte) {
  std::vector<RegexId> ways;
  while (true) {
    const Node node = nodes_[regex];
    if (node.kind != Kind::kConcat) {
      ways.push_back(derive(regex, byte));
      break;
    }
    RegexId first = derive(node.a, byte);
    if (first != nothing()) ways.push_back(join(first, node.b));
    if (!nullable(node.a)) break;
    regex = node.b;
  }
  return ways.size() == 1 ? ways[0] : any_of(ways);
}

RegexId RegexSet::derive_list(RegexId regex, uint8_t byte) {
  const Node node = nodes_[regex];
  bool all = node.kind == Kind::kAllOf;
  std::vector<RegexId> results;
  for (uint32_t i = 0; i < node.b; ++i) {
    RegexId part = derive(lists_[node.a + i], byte);
    if (part == nothing()) {
      if (all) return part;
      continue;
    }
    results.push_back(part);
  }
  return all ? all_of(results) : any_of(results);
}

// Returns whether some text matches, as far as the form shows without a search.
bool RegexSet::surely_lives(RegexId regex) const {
  const Node& node = nodes_[regex];
  return node.nullable || node.live == Live::kYes ||
         (node.plain && regex != nothing() && spellable_.all());
}

bool RegexSet::is_nothing(RegexId regex) {
  if (regex == nothing() || nodes_[regex].live == Live::kNo) return true;
  if (surely_lives(regex)) return false;
  const Node node = nodes_[regex];
  bool dead = false;
  if (node.kind == Kind::kConcat) {
    dead = is_nothing(node.a) || is_nothing(node.b);
  } else if (node.kind == Kind::kAnyOf) {
    dead = true;
    for (uint32_t i = 0; dead && i < node.b; ++i) dead = is_nothing(lists_[node.a + i]);
  } else {
    dead = !search_life(regex);
  }
  nodes_[regex].live = dead ? Live::kNo : Live::kYes;
  return dead;
}

// Returns how many conditions a text still has to meet, as far as the form shows.
uint32_t RegexSet::open_parts(RegexId regex) const {
  const Node* node = &nodes_[regex];
  if (node->nullable) return 0;
  if (node->kind == Kind::kConcat) node = &nodes_[node->a];
  if (node->kind != Kind::kAllOf) return 1;
  auto count =
      std::ranges::count_if(parts(*node), [this](RegexId part) { return !nullable(part); });
  return static_cast<uint32_t>(count) + 1;
}

// Searches for a text that matches, best first: few open conditions and a short beginning. If there
// is one, the expressions on the way to it are marked as matching something; if not, all that were
// met as matching nothing.
bool RegexSet::search_life(RegexId regex) {
  struct Met {
    RegexId regex;
    uint32_t from, depth;
  };
  std::vector<Met> met{{regex, 0, 0}};
  std::unordered_set<RegexId> known{regex};
  using Waiting = std::pair<uint32_t, uint32_t>;  // the distance, and the index in `met`
  std::priority_queue<Waiting, std::vector<Waiting>, std::greater<>> waiting;
  waiting.emplace(0, 0);
  while (!waiting.empty()) {
    uint32_t at = waiting.top().second;
    waiting.pop();
    for (uint8_t byte : representatives()) {
      RegexId next = derive(met[at].regex, byte);
      if (next == nothing() || nodes_[next].live == Live::kNo) continue;
      if (surely_lives(next)) {
        nodes_[next].live = Live::kYes;
        for (uint32_t i = at;; i = met[i].from) {
          nodes_[met[i].regex].live = Live::kYes;
          if (i == 0) return true;
        }
      }
      if (!known.insert(next).second) continue;
      uint32_t depth = met[at].depth + 1;
      waiting.emplace(depth + 8 * open_parts(next), static_cast<uint32_t>(met.size()));
      met.push_back({next, at, depth});
      check_search(met.size());
    }
  }
  for (const Met& dead : met) nodes_[dead.regex].live = Live::kNo;
  return false;
}

bool RegexSet::is_at_end(RegexId regex) {
  if (regex == nothing() || regex == empty()) return true;
  if (nodes_[regex].plain && spellable_.all()) return false;
  return std::ranges::all_of(representatives(),
                             [&](uint8_t byte) { return is_nothing(derive(regex, byte)); });
}

bool RegexSet::contains(RegexId larger, RegexId smaller) {
  return larger == smaller || is_nothing(all_of({smaller, complement(larger)}));
}

bool RegexSet::disjoint(RegexId a, RegexId b) { return is_nothing(all_of({a, b})); }

RegexId RegexSet::clamp_counters(RegexId regex, uint64_t most) {
  const Node node = nodes_[regex];
  switch (node.kind) {
    case Kind::kConcat: {
      RegexId head = clamp_counters(node.a, most);
      // Counters in `b` are at the beginning only if the head may be empty.
      RegexId rest = nullable(node.a) ? clamp_counters(node.b, most) : node.b;
      return head == node.a && rest == node.b ? regex : join(head, rest);
    }
    case Kind::kRepeat: {
      uint64_t least = std::min(node.least, most);
      uint64_t limit = std::min(node.most, most);
      return repeat(node.a, least, limit);
    }
    case Kind::kAnyOf: {
      std::vector<RegexId> results;
      for (uint32_t i = 0; i < node.b; ++i) {
        results.push_back(clamp_counters(lists_[node.a + i], most));
      }
      return any_of(results);
    }
    default:  // parts of an intersection may depend on each other at any distance
      return regex;
  }
}

bool RegexSet::begins_with_repeated(RegexId regex, RegexId part, uint64_t times) {
  const Node node = nodes_[regex];
  if (regex == everything()) return true;
  if (node.kind == Kind::kAnyOf) {
    for (uint32_t i = 0; i < node.b; ++i) {
      if (begins_with_repeated(lists_[node.a + i], part, times)) return true;
    }
    return false;
  }
  if (node.kind == Kind::kAllOf) return all_begin_with_repeated(regex, part);
  if (node.kind == Kind::kConcat && nodes_[node.a].kind == Kind::kAllOf) {
    return surely_lives(node.b) && all_begin_with_repeated(node.a, part);
  }
  Run run;
  if (!split_run(regex, &run) || run.most < times || !surely_lives(run.rest)) return false;
  return contains(run.part, part);
}

// Returns whether texts of an intersection may begin with any number of repetitions of `part`. They
// may where one part of the intersection allows that, and each of the others excludes only finitely
// many texts, so that some text always remains.
bool RegexSet::all_begin_with_repeated(RegexId regex, RegexId part) {
  const Node node = nodes_[regex];
  bool found = false;
  for (uint32_t i = 0; i < node.b; ++i) {
    RegexId inner = lists_[node.a + i];
    const Node& other = nodes_[inner];
    if (other.kind == Kind::kNot && nodes_[other.a].finite) continue;
    if (found || !begins_with_repeated(inner, part, kNoLimit)) return false;
    found = true;
  }
  return found;
}

}  // namespace hearth
