// CallReader: the calls of a turn, from bytes of which each says what it is. Arguments become JSON
// on the way, whatever the form is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8_stream.h"
#include "chat/turn_markup.h"
#include "chat/turn_reader.h"

namespace hearth {

class CallReader {
 public:
  CallReader(const TurnFormat& format, const TurnCuts& cuts) : format_(format), cuts_(cuts) {}

  // A byte, or a whole control token.
  void push(std::string_view text, bool control, TurnTag tag, std::vector<TurnEvent>* events);
  // The call that is open is whole.
  void close(std::vector<TurnEvent>* events);
  // Ends the open call: the text that follows is no part of it.
  void abandon();
  // The turn is over, maybe in a call.
  void end(std::vector<TurnEvent>* events);

  uint32_t count() const { return count_; }  // calls announced
  bool announced() const { return announced_; }

 private:
  bool has_json() const;
  void leave(TurnTag next, std::vector<TurnEvent>* events);
  void enter(TurnTag tag, std::vector<TurnEvent>* events);
  void announce(std::vector<TurnEvent>* events);
  void arguments(std::string_view text, std::vector<TurnEvent>* events);
  void push_value(std::string_view bytes, std::vector<TurnEvent>* events);
  void end_value(std::vector<TurnEvent>* events);
  void end_word(std::vector<TurnEvent>* events);

  const TurnFormat& format_;
  const TurnCuts& cuts_;
  TurnTag zone_ = TurnTag::kStructure;
  uint32_t count_ = 0;
  bool open_ = false;           // a name began
  bool name_whole_ = false;     // and ended
  bool announced_ = false;      // and was given out
  bool any_arguments_ = false;  // something of them was given out
  bool wants_value_ = false;    // behind a key
  std::string name_, id_;
  std::string held_;  // of a value: what may be its end; of a word: all
  Utf8Stream utf8_;
};

}  // namespace hearth
