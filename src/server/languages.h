// Languages: the grammars that requests ask for, compiled once and kept while there is room.
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
  static constexpr size_t kMostBytes = size_t{64} << 20;

  // Returns the beginning of a text of this shape, by the model that has this tokenizer, always the
  // same one. Any thread. Throws RequestError: the shape is at fault, or would take too long.
  std::shared_ptr<const Matcher> find(const OutputShape& shape, const Tokenizer& tokenizer);

  // Finds the language of a turn of a model. At fault may be the schemas of tools, too.
  std::shared_ptr<const TurnLanguage> find_turn(const TurnFormat& format, const TurnOrder& order,
                                                const Tokenizer& tokenizer);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const Matcher> begin;      // of a shape
    std::shared_ptr<const TurnLanguage> turn;  // else of a turn
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
  std::list<Entry> entries_;  // those used last first
};

}  // namespace hearth
