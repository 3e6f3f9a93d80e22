#include "grammar/regex_set.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {
namespace {

constexpr uint32_t kDeepest = 1000;
constexpr size_t kMaxNodes = 2'000'000;

}  // namespace

RegexSet::RegexSet() : representatives_{0} {
  add({.kind = Kind::kNothing, .finite = true});
  add({.kind = Kind::kEmpty, .nullable = true, .finite = true});
  add({.kind = Kind::kEverything, .nullable = true, .live = Live::kYes});
}

uint64_t RegexSet::hash(const Node& node) const {
  uint64_t value = mix_hash(0, static_cast<uint64_t>(node.kind));
  if (node.kind == Kind::kAnyOf || node.kind == Kind::kAllOf) {
    for (RegexId part : parts(node)) value = mix_hash(value, part);
    return value;
  }
  if (node.kind == Kind::kLiteral) {
    for (char c : text(node)) value = mix_hash(value, static_cast<uint8_t>(c));
    return value;
  }
  value = mix_hash(value, (uint64_t{node.a} << 32) | node.b);
  if (node.kind == Kind::kMachine) value = mix_hash(value, node.least);
  return mix_hash(mix_hash(value, node.least), node.most);
}

bool RegexSet::same(const Node& a, const Node& b) const {
  if (a.kind != b.kind) return false;
  if (a.kind == Kind::kAnyOf || a.kind == Kind::kAllOf) {
    return std::ranges::equal(parts(a), parts(b));
  }
  if (a.kind == Kind::kLiteral) return text(a) == text(b);
  return a.a == b.a && a.b == b.b && a.least == b.least && a.most == b.most;
}

RegexId RegexSet::add(Node node) {
  uint64_t key = hash(node);
  uint32_t found = node_table_.find(key, [&](uint32_t other) { return same(nodes_[other], node); });
  if (found != kNoId) return found;
  if (node.height > kDeepest) {
    fail(ErrorCode::kRequest, "has parts nested more than {} deep: make it flatter", kDeepest);
  }
  if (nodes_.size() >= kMaxNodes) {
    fail(ErrorCode::kRequest, "is too complex: it needs more than {} expressions; make it smaller",
         kMaxNodes);
  }
  auto id = static_cast<RegexId>(nodes_.size());
  nodes_.push_back(node);
  node_table_.insert(key, id);
  return id;
}

RegexId RegexSet::add_list(Kind kind, std::span<const RegexId> parts) {
  bool all = kind == Kind::kAllOf;
  Node node{.kind = kind, .nullable = all, .plain = !all, .finite = !all};
  for (RegexId part : parts) {
    const Node& other = nodes_[part];
    node.height = std::max(node.height, other.height + 1);
    node.plain = node.plain && other.plain;
    node.nullable = all ? node.nullable && other.nullable : node.nullable || other.nullable;
    node.finite = all ? node.finite || other.finite : node.finite && other.finite;
  }
  node.a = static_cast<uint32_t>(lists_.size());
  node.b = static_cast<uint32_t>(parts.size());
  lists_.insert(lists_.end(), parts.begin(), parts.end());
  size_t before = nodes_.size();
  RegexId id = add(node);
  if (nodes_.size() == before) lists_.resize(node.a);
  return id;
}

uint32_t RegexSet::set_number(const ByteSet& set) {
  uint64_t key = std::hash<ByteSet>()(set) * 0x9e3779b97f4a7c15;
  uint32_t found = set_table_.find(key, [&](uint32_t other) { return sets_[other] == set; });
  if (found != kNoId) return found;
  auto number = static_cast<uint32_t>(sets_.size());
  sets_.push_back(set);
  set_table_.insert(key, number);
  refine(set);
  return number;
}

// Splits every class into the bytes that lie in `set` and those that do not.
void RegexSet::refine(const ByteSet& set) {
  std::array<int32_t, 512> fresh;
  fresh.fill(-1);
  uint32_t count = 0;
  representatives_.clear();
  for (uint32_t byte = 0; byte < 256; ++byte) {
    int32_t& number = fresh[2 * class_of_[byte] + (set.test(byte) ? 1 : 0)];
    if (number < 0) {
      number = static_cast<int32_t>(count++);
      representatives_.push_back(static_cast<uint8_t>(byte));
    }
    class_of_[byte] = static_cast<uint8_t>(number);
  }
}

bool RegexSet::matches(RegexId regex, std::string_view text) {
  for (char c : text) regex = derive(regex, static_cast<uint8_t>(c));
  return nullable(regex);
}

void RegexSet::restrict_to(const ByteSet& spellable) {
  spellable_ = spellable;
  refine(spellable);
}

size_t RegexSet::memory() const {
  return nodes_.capacity() * sizeof(Node) + lists_.capacity() * sizeof(RegexId) +
         literals_.capacity() + sets_.capacity() * sizeof(ByteSet) + node_table_.bytes() +
         derivatives_.capacity() * sizeof(Derivative) + derivative_table_.bytes();
}

}  // namespace hearth
