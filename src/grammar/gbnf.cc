#include "grammar/gbnf.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "grammar/gbnf_reader.h"
#include "grammar/grammar_builder.h"
#include "grammar/regex_parser.h"

namespace hearth {
namespace {

// The largest and deepest expression that becomes one terminal; larger and deeper ones become
// rules.
constexpr size_t kLargestTerminal = 20'000;
constexpr uint32_t kDeepestTerminal = 200;

// Converts GBNF's tree to symbols and terminals.
class GbnfConverter {
 public:
  GbnfConverter(GrammarBuilder& builder, GbnfText text)
      : text_(std::move(text)), builder_(builder) {}

  Symbol convert() {
    parts_.resize(text_.rules.size());
    std::vector<uint32_t> order = plain_rules();
    std::vector<bool> plain(text_.rules.size());
    for (uint32_t rule : order) plain[rule] = true;
    for (uint32_t rule = 0; rule < parts_.size(); ++rule) {
      if (!plain[rule]) parts_[rule].symbol = builder_.rule(text_.rules[rule].name);
    }
    for (uint32_t rule : order) parts_[rule] = part(text_.rules[rule].body);
    for (uint32_t rule = 0; rule < parts_.size(); ++rule) {
      if (!plain[rule]) add_choices(parts_[rule].symbol, text_.rules[rule].body);
    }
    return symbol(parts_[text_.root]);
  }

 private:
  // The conversion of a node: a regular expression if possible, else a symbol.
  struct Part {
    std::optional<RegexId> regex;
    Symbol symbol;
    size_t size = 1;  // the size of the expression's source
    uint32_t depth = 1;
  };

  // Returns the rules that are not recursive, each after those that it names.
  std::vector<uint32_t> plain_rules() const {
    std::vector<std::vector<uint32_t>> users(text_.rules.size());
    std::vector<size_t> missing(text_.rules.size());
    for (uint32_t rule = 0; rule < users.size(); ++rule) {
      std::vector<uint32_t> named;
      collect_names(text_.rules[rule].body, &named);
      missing[rule] = named.size();
      for (uint32_t other : named) users[other].push_back(rule);
    }
    std::vector<uint32_t> order;
    for (uint32_t rule = 0; rule < users.size(); ++rule) {
      if (missing[rule] == 0) order.push_back(rule);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      for (uint32_t user : users[order[i]]) {
        if (--missing[user] == 0) order.push_back(user);
      }
    }
    return order;
  }

  static void collect_names(const GbnfNode& node, std::vector<uint32_t>* named) {
    if (node.kind == GbnfNode::Kind::kRule) named->push_back(node.rule);
    for (const GbnfNode& inner : node.parts) collect_names(inner, named);
  }

  Symbol symbol(const Part& part) {
    return part.regex ? builder_.terminal(*part.regex) : part.symbol;
  }

  Part part(const GbnfNode& node) {
    RegexSet& set = builder_.regexes();
    switch (node.kind) {
      case GbnfNode::Kind::kLiteral:
        return {.regex = set.literal(node.literal), .symbol = {}};
      case GbnfNode::Kind::kClass:
        return {.regex = utf8_regex(set, node.points), .symbol = {}};
      case GbnfNode::Kind::kRule:
        return parts_[node.rule];
      case GbnfNode::Kind::kRepeat: {
        Part inner = part(node.parts[0]);
        if (!inner.regex) {
          return {.regex = {}, .symbol = builder_.repeated(inner.symbol, node.least, node.most)};
        }
        inner.regex = set.repeat(*inner.regex, node.least, node.most);
        return deeper(inner);
      }
      case GbnfNode::Kind::kSequence:
        return sequence(node);
      default:
        return choice(node);
    }
  }

  Part deeper(Part part) {
    ++part.depth;
    if (part.size <= kLargestTerminal && part.depth <= kDeepestTerminal) return part;
    return {.regex = {}, .symbol = builder_.terminal(*part.regex)};
  }

  // Concatenates two parts to one expression; none if one of them is a symbol or the result is too
  // large.
  std::optional<Part> joined(const Part& first, const Part& second) {
    if (!first.regex || !second.regex || first.size + second.size > kLargestTerminal) return {};
    return Part{.regex = builder_.regexes().concat({*first.regex, *second.regex}),
                .symbol = {},
                .size = first.size + second.size,
                .depth = std::max(first.depth, second.depth)};
  }

  std::vector<Part> sequence_parts(const GbnfNode& node) {
    std::vector<Part> parts;
    for (size_t i = node.parts.size(); i-- > 0;) {
      Part next = part(node.parts[i]);
      std::optional<Part> both;
      if (!parts.empty()) both = joined(next, parts.back());
      if (both) {
        parts.back() = *both;
      } else {
        parts.push_back(next);
      }
    }
    std::ranges::reverse(parts);
    return parts;
  }

  Part sequence(const GbnfNode& node) {
    std::vector<Part> parts = sequence_parts(node);
    if (parts.empty()) return {.regex = builder_.regexes().empty(), .symbol = {}};
    if (parts.size() == 1) return parts[0].regex ? deeper(parts[0]) : parts[0];
    Symbol rule = builder_.rule("");
    add_sequence(rule, parts);
    return {.regex = {}, .symbol = rule};
  }

  void add_sequence(Symbol rule, const std::vector<Part>& parts) {
    std::vector<Symbol> symbols;
    for (const Part& part : parts) symbols.push_back(symbol(part));
    builder_.add(rule, symbols);
  }

  Part choice(const GbnfNode& node) {
    if (node.parts.size() == 1) return part(node.parts[0]);
    std::vector<Part> ways;
    std::vector<RegexId> regexes;
    Part whole;
    for (const GbnfNode& inner : node.parts) {
      ways.push_back(part(inner));
      if (ways.back().regex) regexes.push_back(*ways.back().regex);
      whole.size += ways.back().size;
      whole.depth = std::max(whole.depth, ways.back().depth);
    }
    if (regexes.size() == ways.size() && whole.size <= kLargestTerminal) {
      whole.regex = builder_.regexes().any_of(regexes);
      return deeper(whole);
    }
    Symbol rule = builder_.rule("");
    for (const Part& way : ways) builder_.add(rule, {symbol(way)});
    return {.regex = {}, .symbol = rule};
  }

  void add_choices(Symbol rule, const GbnfNode& body) {
    for (const GbnfNode& way : body.parts) add_sequence(rule, sequence_parts(way));
  }

  GbnfText text_;
  GrammarBuilder& builder_;
  std::vector<Part> parts_;  // by rule
};

}  // namespace

Symbol add_gbnf(GrammarBuilder& builder, std::string_view text) {
  return GbnfConverter(builder, read_gbnf(text)).convert();
}

Symbol add_choices(GrammarBuilder& builder, std::span<const std::string> choices) {
  RegexSet& set = builder.regexes();
  std::vector<RegexId> texts;
  for (const std::string& choice : choices) texts.push_back(set.literal(choice));
  return builder.terminal(set.any_of(texts));
}

Symbol add_pattern(GrammarBuilder& builder, std::string_view pattern) {
  return builder.terminal(parse_pattern(builder.regexes(), pattern, {.search = false}));
}

std::shared_ptr<const Grammar> gbnf_grammar(std::string_view text, const ByteSet& spellable) {
  GrammarBuilder builder;
  builder.regexes().restrict_to(spellable);
  return builder.build(add_gbnf(builder, text));
}

std::shared_ptr<const Grammar> choice_grammar(std::span<const std::string> choices,
                                              const ByteSet& spellable) {
  GrammarBuilder builder;
  builder.regexes().restrict_to(spellable);
  return builder.build(add_choices(builder, choices));
}

std::shared_ptr<const Grammar> pattern_grammar(std::string_view pattern, const ByteSet& spellable) {
  GrammarBuilder builder;
  builder.regexes().restrict_to(spellable);
  return builder.build(add_pattern(builder, pattern));
}

}  // namespace hearth
