// Random grammars over "a" and "b" for tests, whose texts are also found without a matcher: a set
// of texts for each symbol grows until no text is new.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "grammar/grammar_builder.h"

namespace hearth {

class TestGrammar {
 public:
  TestGrammar(uint32_t seed, size_t longest) : random_(seed), longest_(longest) {
    make_terminals();
    make_rules();
    grow();
  }

  // Throws where the grammar accepts no text.
  std::shared_ptr<const Grammar> build() { return builder_.build(symbols_[first_rule_]); }
  // Returns all texts of up to `longest` bytes.
  const std::set<std::string>& texts() const { return texts_[first_rule_]; }

 private:
  struct Rule {
    size_t lhs;
    std::vector<size_t> rhs;
  };
  struct List {
    size_t lhs, item, separator;
    uint64_t least, most;
  };
  static constexpr size_t kNone = 1000;

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void add(Symbol symbol, std::set<std::string> texts) {
    symbols_.push_back(symbol);
    texts_.push_back(std::move(texts));
  }

  void make_terminals() {
    RegexSet& set = builder_.regexes();
    RegexId a = set.literal("a"), b = set.literal("b");
    std::string run;
    std::set<std::string> runs;
    for (size_t i = 0; i < longest_; ++i) runs.insert(run += 'a');
    add(builder_.terminal(a), {"a"});
    add(builder_.terminal(b), {"b"});
    add(builder_.terminal(set.literal("ab")), {"ab"});
    add(builder_.terminal(set.any_of({a, set.literal("bb")})), {"a", "bb"});
    add(builder_.terminal(set.repeat(a, 1, kNoLimit)), runs);
    add(builder_.terminal(set.repeat(b, 0, 2)), {"", "b", "bb"});
    add(builder_.terminal(set.all_of({a, b})), {});
  }

  void make_rules() {
    first_rule_ = symbols_.size();
    size_t rules = 2 + below(3), lists = below(2);
    for (size_t i = 0; i < rules; ++i) add(builder_.rule("r"), {});
    size_t all = symbols_.size();
    for (size_t i = 0; i < lists; ++i) {
      List list{symbols_.size(), below(all), below(2) == 0 ? kNone : below(2), below(3), 0};
      list.most = below(3) == 0 ? kNoLimit : list.least + below(3);
      Symbol separator = list.separator == kNone ? kNoSymbol : symbols_[list.separator];
      add(builder_.repeated(symbols_[list.item], separator, list.least, list.most), {});
      lists_.push_back(list);
    }
    for (size_t lhs = first_rule_; lhs < first_rule_ + rules; ++lhs) {
      for (size_t i = 0, n = 1 + below(3); i < n; ++i) {
        Rule rule{lhs, {}};
        std::vector<Symbol> symbols;
        for (size_t j = 0, size = below(4); j < size; ++j) {
          rule.rhs.push_back(below(symbols_.size()));
          symbols.push_back(symbols_[rule.rhs.back()]);
        }
        builder_.add(symbols_[lhs], symbols);
        rules_.push_back(rule);
      }
    }
  }

  std::set<std::string> joined(const std::set<std::string>& left,
                               const std::set<std::string>& right) const {
    std::set<std::string> result;
    for (const std::string& first : left) {
      for (const std::string& second : right) {
        if (first.size() + second.size() <= longest_) result.insert(first + second);
      }
    }
    return result;
  }

  std::set<std::string> list_texts(const List& list) const {
    std::set<std::string> result, now{""};
    // An item may be empty, so more items than bytes may matter, but not many more.
    for (uint64_t count = 0; count <= std::min<uint64_t>(list.most, longest_ + 4); ++count) {
      if (count >= list.least) result.insert(now.begin(), now.end());
      if (count > 0 && list.separator != kNone) now = joined(now, texts_[list.separator]);
      now = joined(now, texts_[list.item]);
    }
    return result;
  }

  void grow() {
    for (bool grown = true; grown;) {
      grown = false;
      auto insert = [&](size_t lhs, const std::set<std::string>& texts) {
        size_t before = texts_[lhs].size();
        texts_[lhs].insert(texts.begin(), texts.end());
        grown = grown || texts_[lhs].size() > before;
      };
      for (const Rule& rule : rules_) {
        std::set<std::string> whole{""};
        for (size_t symbol : rule.rhs) whole = joined(whole, texts_[symbol]);
        insert(rule.lhs, whole);
      }
      for (const List& list : lists_) insert(list.lhs, list_texts(list));
    }
  }

  std::mt19937 random_;
  size_t longest_;
  GrammarBuilder builder_;
  std::vector<Symbol> symbols_;
  std::vector<std::set<std::string>> texts_;  // by symbol
  std::vector<Rule> rules_;
  std::vector<List> lists_;
  size_t first_rule_ = 0;
};

}  // namespace hearth
