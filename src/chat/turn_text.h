// TurnText: content or reasoning as it comes, without the markup that ends it and without white
// space at its seams.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8_stream.h"
#include "chat/turn_reader.h"

namespace hearth {

// How many bytes at the end of `text` may be the beginning of `marker`, or all of it.
size_t begun_at_end(std::string_view text, std::string_view marker);

class TurnText {
 public:
  // `marker`: what ends a text.
  TurnText(TurnEvent::Kind kind, std::string marker) : kind_(kind), marker_(std::move(marker)) {}

  // `control`: the text of a control token, of which no marker is made.
  void push(std::string_view bytes, bool control, std::vector<TurnEvent>* events);
  // Markup follows: takes the marker off.
  void cut(std::vector<TurnEvent>* events);
  // The text so far is a block of its own: white space at its end is dropped, and so is what the
  // next one begins with.
  void end_block();
  void end(std::vector<TurnEvent>* events);

 private:
  void give(std::string_view bytes, std::vector<TurnEvent>* events);
  void event(std::string text, std::vector<TurnEvent>* events);

  TurnEvent::Kind kind_;
  std::string marker_;
  std::string held_;    // may be of the marker
  std::string spaces_;  // behind the text, or before it
  bool begun_ = false;  // the block has more than white space
  bool behind_block_ = false;
  Utf8Stream utf8_;
};

}  // namespace hearth
