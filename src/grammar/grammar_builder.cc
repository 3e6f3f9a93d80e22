#include "grammar/grammar_builder.h"

#include <algorithm>

#include "base/error.h"
#include "grammar/grammar_reducer.h"

namespace hearth {
namespace {

constexpr size_t kMaxSymbols = 2'000'000;
// The limit on items of a list, which no text reaches. An upper bound of at least this counts as
// none.
constexpr uint64_t kMaxItems = 0x7fffffff;

}  // namespace

Symbol GrammarBuilder::add_symbol(SymbolInfo info) {
  if (symbols_.size() + size_ >= kMaxSymbols) {
    fail(ErrorCode::kRequest, "needs a grammar of more than {} symbols; make it smaller",
         kMaxSymbols);
  }
  symbols_.push_back(std::move(info));
  return {static_cast<uint32_t>(symbols_.size() - 1)};
}

Symbol GrammarBuilder::terminal(RegexId regex) {
  auto [known, added] = terminals_.try_emplace({regex, tag_}, kNoId);
  if (added) {
    known->second = add_symbol({.kind = Kind::kTerminal, .tag = tag_, .regex = regex}).id;
  }
  return {known->second};
}

Symbol GrammarBuilder::control(std::span<const int32_t> token_ids) {
  SymbolInfo info{.kind = Kind::kControl, .tag = tag_};
  info.tokens.assign(token_ids.begin(), token_ids.end());
  std::ranges::sort(info.tokens);
  return add_symbol(std::move(info));
}

Symbol GrammarBuilder::rule(std::string_view name) {
  SymbolInfo info{.kind = Kind::kRule};
  info.name = name;
  return add_symbol(std::move(info));
}

void GrammarBuilder::add(Symbol lhs, std::span<const Symbol> rhs) {
  size_ += rhs.size() + 1;
  if (symbols_.size() + size_ >= kMaxSymbols) {
    fail(ErrorCode::kRequest, "needs a grammar of more than {} symbols; make it smaller",
         kMaxSymbols);
  }
  symbols_[lhs.id].rules.emplace_back(rhs.begin(), rhs.end());
}

Symbol GrammarBuilder::repeated(Symbol item, Symbol separator, uint64_t least, uint64_t most) {
  if (least > most) return rule("nothing");
  if (least > kMaxItems) {
    fail(ErrorCode::kRequest,
         "asks for at least {} items, and at most {} are supported: ask for fewer", least,
         kMaxItems);
  }
  return add_symbol({.kind = Kind::kRepeated,
                     .item = item,
                     .separator = separator,
                     .least = least,
                     .most = most > kMaxItems ? kNoLimit : most});
}

std::shared_ptr<const Grammar> GrammarBuilder::build(Symbol start) {
  return GrammarReducer(*this, start).build();
}

}  // namespace hearth
