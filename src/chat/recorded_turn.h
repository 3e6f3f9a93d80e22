// Reads and writes turns as a model generated them, recorded as JSON, with the message that a
// client gets for each.
//
// A turn is an object: `pieces` ([{"text": ...}, {"control": ...}]: text, and markers that are one
// token each), `tools` (as in a request; or only names, if `definitions` has the rest),
// `tool_choice` (default: auto if there are tools), `prompt_tail`, `end` ("eog", or "length" where
// it was cut off), `form` or `family` (the name of a form), `id`. Only `pieces` is required.
//
// Errors (kRequest): an object of another form, by field.
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

// The parts of a vocabulary that turns need.
struct TurnVocabulary {
  std::shared_ptr<const VocabularyTrie> trie = nullptr;
  std::vector<MarkerToken> markers = {};
  std::function<std::vector<int32_t>(std::string_view)> encode = nullptr;  // tokens of plain text
  int32_t end = -1;  // a token that ends a turn
};

// Returns those parts of a tokenizer's vocabulary; the tokenizer must outlive them.
TurnVocabulary turn_vocabulary(const Tokenizer& tokenizer);
// Returns a vocabulary whose tokens are all bytes and these markers.
TurnVocabulary made_turn_vocabulary(const std::vector<std::string>& markers);

struct RecordedTurn {
  std::string id = {}, form = {};
  TurnOrder order = {};
  // The pieces that the model wrote. A piece with `control` is one token.
  struct Piece {
    std::string text;
    bool control = false;
  };
  std::vector<Piece> pieces = {};
  bool cut = false;  // by the length limit
};

RecordedTurn read_recorded_turn(const boost::json::object& turn,
                                const boost::json::object& definitions);

// Returns the turn's tokens. A control piece that is no token of the vocabulary is encoded as text.
std::vector<int32_t> tokens_of(const RecordedTurn& turn, const TurnVocabulary& vocabulary);

// TurnMessage: a whole turn as a client gets it.
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

// Returns the message in the form of a chat's reply, on one line.
std::string turn_message_json(const RecordedTurn& turn, const TurnMessage& message);

}  // namespace hearth
