// Turns as a model wrote them, recorded as JSON, and what a client gets of each.
//
// A turn is an object: `pieces` ([{"text": ...}, {"control": ...}]: text, and markers that are one
// token each), `tools` (as a request has them; or their names, where `definitions` has the rest),
// `tool_choice` (auto where there are tools), `prompt_tail`, `end` ("eog", or "length" where it was
// cut off), `form` or `family` (the name of a form), `id`. All but `pieces` may be missing.
//
// Errors (kRequest): what is no such object, by field.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/turn_language.h"
#include "chat/turn_reader.h"

namespace hearth {

// A vocabulary as turns need it.
struct TurnVocabulary {
  std::shared_ptr<const VocabularyTrie> trie = nullptr;
  std::vector<MarkerToken> markers = {};
  std::function<std::vector<int32_t>(std::string_view)> encode = nullptr;  // of plain text
  int32_t end = -1;  // a token that ends a turn
};

// The tokenizer must outlive it.
TurnVocabulary turn_vocabulary(const Tokenizer& tokenizer);
// Makes a vocabulary in which every byte is a token, and so are these markers.
TurnVocabulary made_turn_vocabulary(const std::vector<std::string>& markers);

struct RecordedTurn {
  std::string id = {}, form = {};
  TurnOrder order = {};
  // The pieces that the model wrote; with `control` a piece is one token.
  struct Piece {
    std::string text;
    bool control = false;
  };
  std::vector<Piece> pieces = {};
  bool cut = false;  // by the length
};

RecordedTurn read_recorded_turn(const boost::json::object& turn,
                                const boost::json::object& definitions);

// A control piece that is no token of the vocabulary is taken for text.
std::vector<int32_t> tokens_of(const RecordedTurn& turn, const TurnVocabulary& vocabulary);

// A turn as a whole.
struct TurnMessage {
  struct Call {
    std::string id = {}, name = {}, arguments = {};
    bool whole = false;
    bool operator==(const Call&) const = default;
  };
  std::string content, reasoning;
  std::vector<Call> calls;
  bool operator==(const TurnMessage&) const = default;
};

void join_events(const std::vector<TurnEvent>& events, TurnMessage* message);

TurnMessage read_turn(std::shared_ptr<const TurnLanguage> language,
                      std::span<const int32_t> tokens);

// The message as a chat's reply has it, on one line.
std::string turn_message_json(const RecordedTurn& turn, const TurnMessage& message);

}  // namespace hearth
