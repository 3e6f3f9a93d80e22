// TurnText: gives out content or reasoning as it comes, without the marker that ends it and without
// white space at its seams.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/utf8_stream.h"
#include "chat/turn_reader.h"

namespace hearth {

// Returns how many bytes at the end of `text` may be the beginning of `marker`, or all of it.
size_t begun_at_end(std::string_view text, std::string_view marker);

class TurnText {
 public:
  // `marker`: the text that ends the content or reasoning.
  TurnText(TurnEvent::Kind kind, std::string marker) : kind_(kind), marker_(std::move(marker)) {}

  // Takes bytes. `control`: they are a control token's text, which is never part of the marker.
  void push(std::string_view bytes, bool control, std::vector<TurnEvent>* events);
  // Markup follows: removes the marker from the text's end.
  void cut(std::vector<TurnEvent>* events);
  // Ends a block of text: white space at its end and at the next block's beginning is dropped.
  void end_block();
  void end(std::vector<TurnEvent>* events);

 private:
  void give(std::string_view bytes, std::vector<TurnEvent>* events);
  void event(std::string text, std::vector<TurnEvent>* events);

  TurnEvent::Kind kind_;
  std::string marker_;
  std::string held_;    // possible beginning of the marker
  std::string spaces_;  // white space after or before the text
  bool begun_ = false;  // the block has more than white space
  bool behind_block_ = false;
  Utf8Stream utf8_;
};

}  // namespace hearth
