#include "grammar/grammar_reducer.h"

#include <algorithm>

#include "base/error.h"

namespace hearth {

// Collects the alternatives of all symbols: of a rule all that were added; of a repeated symbol
// one, which has each symbol of the shortest list once.
void GrammarReducer::find_alternatives() {
  alternatives_.clear();
  for (uint32_t id = 0; id < builder_.symbols_.size(); ++id) {
    const Info& info = builder_.symbols_[id];
    for (const std::vector<Symbol>& rule : info.rules) alternatives_.push_back({id, rule});
    if (info.kind != Kind::kRepeated) continue;
    std::vector<Symbol> shortest;
    if (info.least > 0) shortest.push_back(info.item);
    if (info.least > 1 && info.separator != kNoSymbol) shortest.push_back(info.separator);
    alternatives_.push_back({id, shortest});
  }
}

// Returns the closure of a property of symbols. A symbol gets the property where all symbols of one
// of its alternatives have it.
std::vector<bool> GrammarReducer::close(std::vector<bool> holds) const {
  std::vector<std::vector<uint32_t>> uses(holds.size());
  std::vector<size_t> missing(alternatives_.size());
  std::vector<uint32_t> found;
  for (uint32_t id = 0; id < holds.size(); ++id) {
    if (holds[id]) found.push_back(id);
  }
  auto settle = [&](uint32_t id) {
    if (holds[id]) return;
    holds[id] = true;
    found.push_back(id);
  };
  for (uint32_t at = 0; at < alternatives_.size(); ++at) {
    missing[at] = alternatives_[at].symbols.size();
    for (Symbol symbol : alternatives_[at].symbols) uses[symbol.id].push_back(at);
    if (missing[at] == 0) settle(alternatives_[at].lhs);
  }
  while (!found.empty()) {
    uint32_t id = found.back();
    found.pop_back();
    for (uint32_t at : uses[id]) {
      if (--missing[at] == 0) settle(alternatives_[at].lhs);
    }
  }
  return holds;
}

// Returns the symbols that the start symbol leads to. It may be hard to decide whether a text can
// complete one of the others, and they are not needed.
std::vector<bool> GrammarReducer::find_reached() const {
  std::vector<bool> reached(builder_.symbols_.size());
  std::vector<Symbol> waiting{start_};
  while (!waiting.empty()) {
    const Symbol symbol = waiting.back();
    waiting.pop_back();
    if (symbol == kNoSymbol || reached[symbol.id]) continue;
    reached[symbol.id] = true;
    const Info& info = builder_.symbols_[symbol.id];
    for (const std::vector<Symbol>& rule : info.rules) {
      waiting.insert(waiting.end(), rule.begin(), rule.end());
    }
    waiting.push_back(info.item);
    waiting.push_back(info.separator);
  }
  return reached;
}

void GrammarReducer::find_productive() {
  const std::vector<bool> reached = find_reached();
  std::vector<bool> holds(builder_.symbols_.size());
  for (uint32_t id = 0; id < holds.size(); ++id) {
    if (!reached[id]) continue;
    const Info& info = builder_.symbols_[id];
    holds[id] = (info.kind == Kind::kTerminal && !builder_.regexes_.is_nothing(info.regex)) ||
                (info.kind == Kind::kControl && !info.tokens.empty());
  }
  productive_ = close(std::move(holds));
  if (!productive_[start_.id]) {
    fail(ErrorCode::kRequest, "accepts no text at all: correct it");
  }
  for (Info& info : builder_.symbols_) {
    std::erase_if(info.rules, [&](const std::vector<Symbol>& rule) {
      return !std::ranges::all_of(rule, [&](Symbol symbol) { return productive_[symbol.id]; });
    });
    if (info.kind == Kind::kRepeated) settle_list(info);
  }
}

void GrammarReducer::settle_list(Info& info) const {
  bool separated = info.separator != kNoSymbol;
  if (separated && !productive_[info.separator.id]) info.most = std::min<uint64_t>(info.most, 1);
  if (!productive_[info.item.id]) info.most = 0;
  if (info.most == 0) info = {.kind = Kind::kRule, .rules = {{}}};
}

void GrammarReducer::find_nullable() {
  find_alternatives();
  std::vector<bool> holds(builder_.symbols_.size());
  for (uint32_t id = 0; id < holds.size(); ++id) {
    const Info& info = builder_.symbols_[id];
    holds[id] = info.kind == Kind::kTerminal && builder_.regexes_.nullable(info.regex);
  }
  nullable_ = close(std::move(holds));
  for (const Info& info : builder_.symbols_) {
    if (info.kind == Kind::kRepeated && info.separator != kNoSymbol && info.most > 1 &&
        nullable_[info.item.id] && nullable_[info.separator.id]) {
      fail(ErrorCode::kRequest,
           "has a list whose items and separators may both be empty: make one of them non-empty");
    }
  }
}

void GrammarReducer::visit(Symbol symbol, std::vector<Symbol>* waiting) {
  if (numbers_[symbol.id] != kNoId) return;
  numbers_[symbol.id] = 0;
  waiting->push_back(symbol);
}

// Numbers the symbols that the start symbol leads to.
void GrammarReducer::number_symbols() {
  numbers_.assign(builder_.symbols_.size(), kNoId);
  std::vector<Symbol> waiting;
  visit(start_, &waiting);
  while (!waiting.empty()) {
    Symbol symbol = waiting.back();
    waiting.pop_back();
    const Info& info = builder_.symbols_[symbol.id];
    if (info.kind == Kind::kTerminal) {
      terminals_.push_back(symbol);
    } else if (info.kind == Kind::kControl) {
      controls_.push_back(symbol);
    } else {
      rules_.push_back(symbol);
    }
    for (const std::vector<Symbol>& rule : info.rules) {
      for (Symbol part : rule) visit(part, &waiting);
    }
    if (info.kind != Kind::kRepeated) continue;
    visit(info.item, &waiting);
    if (info.separator != kNoSymbol && info.most > 1) visit(info.separator, &waiting);
  }
  uint32_t count = 0;
  for (const std::vector<Symbol>* group : {&terminals_, &controls_, &rules_}) {
    for (Symbol symbol : *group) numbers_[symbol.id] = count++;
  }
}

void GrammarReducer::write_rule(Grammar& grammar, const Info& info, uint32_t lhs) const {
  for (const std::vector<Symbol>& rule : info.rules) {
    for (size_t i = 0; i < rule.size(); ++i) {
      grammar.dots_.push_back({.next = number(rule[i]), .lhs = lhs, .last = i + 1 == rule.size()});
    }
    grammar.dots_.push_back({.lhs = lhs});
  }
}

void GrammarReducer::write_list(Grammar& grammar, const Info& info, uint32_t lhs) const {
  auto list = static_cast<uint32_t>(grammar.lists_.size());
  bool separated = info.separator != kNoSymbol && info.most > 1;
  bool fills_up = !separated && nullable_[info.item.id];
  grammar.lists_.push_back({.dot = static_cast<uint32_t>(grammar.dots_.size()),
                            .separated = separated,
                            .fills_up = fills_up,
                            .least = fills_up ? 0 : info.least,
                            .most = info.most});
  uint32_t item = number(info.item);
  grammar.dots_.push_back({.next = item, .lhs = lhs, .list = list});
  grammar.dots_.push_back(
      {.next = separated ? number(info.separator) : item, .lhs = lhs, .list = list});
  grammar.dots_.push_back({.lhs = lhs});
}

// Fills, for each symbol, the dots at which it may be the first of a rule, and each rule's first
// symbols.
void GrammarReducer::write_starts(Grammar& grammar) const {
  grammar.starts_.resize(grammar.symbols());
  grammar.firsts_.resize(grammar.symbols() - grammar.first_rule_);
  auto note = [&](uint32_t dot, uint32_t count) {
    const Grammar::Dot& at = grammar.dots_[dot];
    grammar.starts_[at.next].push_back({dot, count});
    grammar.firsts_[at.lhs - grammar.first_rule_].push_back(at.next);
  };
  bool beginning = true;
  for (uint32_t dot = 0; dot < grammar.dots_.size(); ++dot) {
    const Grammar::Dot& at = grammar.dots_[dot];
    if (at.list != kNoId) {
      const Grammar::List& list = grammar.lists_[at.list];
      note(dot, 0);
      uint64_t one = list.most == kNoLimit ? std::min<uint64_t>(list.least, 1) : 1;
      if (list.separated && grammar.nullable_[at.next]) note(dot + 1, static_cast<uint32_t>(one));
      dot += 2;
      beginning = true;
      continue;
    }
    if (beginning && at.next != kNoId) note(dot, 0);
    beginning = at.next == kNoId || (beginning && grammar.nullable_[at.next]);
  }
  for (std::vector<Grammar::SymbolId>& firsts : grammar.firsts_) {
    std::ranges::sort(firsts);
    firsts.erase(std::unique(firsts.begin(), firsts.end()), firsts.end());
  }
}

std::shared_ptr<const Grammar> GrammarReducer::build() {
  find_alternatives();
  find_productive();
  find_nullable();
  number_symbols();
  std::shared_ptr<Grammar> grammar(new Grammar());
  grammar->names_once_ = builder_.names_once_;
  grammar->tight_names_ = builder_.tight_names_;
  grammar->terminals_ = static_cast<uint32_t>(terminals_.size());
  grammar->first_rule_ = static_cast<uint32_t>(terminals_.size() + controls_.size());
  std::vector<RegexId> regexes;
  for (const std::vector<Symbol>* group : {&terminals_, &controls_, &rules_}) {
    for (Symbol symbol : *group) grammar->nullable_.push_back(nullable_[symbol.id]);
  }
  std::vector<uint32_t> tags;
  for (Symbol symbol : terminals_) {
    regexes.push_back(builder_.symbols_[symbol.id].regex);
    tags.push_back(tag_bit(symbol));
  }
  for (Symbol symbol : controls_) {
    grammar->controls_.push_back(std::move(builder_.symbols_[symbol.id].tokens));
    grammar->control_tags_.push_back(tag_bit(symbol));
  }
  grammar->tagged_ =
      std::ranges::any_of(tags, [](uint32_t bit) { return bit != 1; }) ||
      std::ranges::any_of(grammar->control_tags_, [](uint32_t bit) { return bit != 1; });
  grammar->top_ = static_cast<uint32_t>(grammar->nullable_.size());
  grammar->nullable_.push_back(nullable_[start_.id]);
  grammar->dots_.push_back({.next = number(start_), .lhs = grammar->top_, .last = true});
  grammar->dots_.push_back({.lhs = grammar->top_});
  for (Symbol symbol : rules_) {
    const Info& info = builder_.symbols_[symbol.id];
    write_rule(*grammar, info, number(symbol));
    if (info.kind == Kind::kRepeated) write_list(*grammar, info, number(symbol));
  }
  write_starts(*grammar);
  grammar->lexer_ =
      std::make_unique<Lexer>(std::move(builder_.regexes_), std::move(regexes), std::move(tags));
  return grammar;
}

}  // namespace hearth
