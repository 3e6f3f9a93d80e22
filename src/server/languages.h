// Languages: the grammars that requests ask for, each compiled once and kept while there is memory
// for it.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "chat/turn_language.h"
#include "grammar/matcher.h"
#include "grammar/output_shape.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

class Languages {
 public:
  static constexpr size_t kMaxBytes = size_t{64} << 20;

  // Returns the matcher at the beginning of a text of this shape. All calls are for one model, so
  // `tokenizer` is always the same one. Any thread may call it. Throws RequestError where the shape
  // is wrong or its grammar would take too long to compile.
  std::shared_ptr<const Matcher> find(const OutputShape& shape, const Tokenizer& tokenizer);

  // Returns the grammar of a model's turn. A RequestError may also name a tool's schema.
  std::shared_ptr<const TurnLanguage> find_turn(const TurnFormat& format, const TurnOrder& order,
                                                const Tokenizer& tokenizer);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Matcher> begin;      // the grammar of a shape; else null
    std::shared_ptr<const TurnLanguage> turn;  // the grammar of a turn; else null
    size_t bytes() const;
  };

  std::shared_ptr<const VocabularyTrie> vocabulary(const Tokenizer& tokenizer);
  std::vector<MarkerToken> markers(const Tokenizer& tokenizer);
  Entry kept(const std::string& key);
  void keep(Entry entry);

  std::mutex mutex_;
  std::shared_ptr<const VocabularyTrie> vocabulary_;
  std::vector<MarkerToken> markers_;
  bool markers_found_ = false;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace hearth
