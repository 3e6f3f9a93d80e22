#include "grammar/grammar.h"

namespace hearth {

size_t Grammar::memory() const {
  size_t bytes = lexer_->memory() + dots_.capacity() * sizeof(Dot) +
                 lists_.capacity() * sizeof(List) + nullable_.capacity() / 8;
  for (const auto& tokens : controls_)
    bytes += sizeof(tokens) + tokens.capacity() * sizeof(int32_t);
  for (const auto& starts : starts_) bytes += sizeof(starts) + starts.capacity() * sizeof(Start);
  for (const auto& firsts : firsts_) bytes += sizeof(firsts) + firsts.capacity() * sizeof(SymbolId);
  return bytes;
}

}  // namespace hearth
