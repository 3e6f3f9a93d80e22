// CallReader: reads the calls of a turn from tagged bytes. Arguments are turned into JSON as they
// come, whatever form the model writes.
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

  // Takes a byte, or a whole control token, with its tag.
  void push(std::string_view text, bool control, TurnTag tag, std::vector<TurnEvent>* events);
  // Ends the open call, which is complete.
  void close(std::vector<TurnEvent>* events);
  // Drops the open call: the text that follows is not a part of it.
  void abandon();
  // Ends the turn; an open call is cut off.
  void end(std::vector<TurnEvent>* events);

  uint32_t count() const { return count_; }  // calls whose kCall event was given
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
  bool open_ = false;           // a call has begun: its name is being read
  bool name_whole_ = false;     // its name is complete
  bool announced_ = false;      // its kCall event was given
  bool any_arguments_ = false;  // a part of its arguments was given
  bool wants_value_ = false;    // a key was read, its value comes next
  std::string name_, id_;
  std::string held_;  // a value's possible end marker; a word's bytes so far
  Utf8Stream utf8_;
};

}  // namespace hearth
