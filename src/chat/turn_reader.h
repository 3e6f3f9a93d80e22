// TurnReader turns a turn's tokens into events for the client as they come. The joined events do
// not depend on how the text was cut into tokens. It holds back only what may be the beginning of a
// marker, an incomplete character, and white space at the seams.
//
//   TurnReader reader(language);
//   for (int32_t token : tokens) reader.take(token, &events);
//   reader.end(&events);
//
// A text that leaves the language (the engine did not constrain it) is content from there on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chat/turn_language.h"

namespace hearth {

struct TurnEvent {
  enum class Kind : uint8_t {
    kContent,    // `text` continues the content
    kReasoning,  // `text` continues the reasoning
    kCall,       // call `call` begins: `text` is the tool's name, `id` the model's or empty
    kArguments,  // `text` continues the arguments' JSON text
    kCallEnd,    // the call is complete; `id` if it came after the arguments
  };
  Kind kind;
  uint32_t call = 0;  // the call's number in the turn, from 0
  std::string text = {};
  std::string id = {};
  bool operator==(const TurnEvent&) const = default;
};

class TurnReader {
 public:
  explicit TurnReader(std::shared_ptr<const TurnLanguage> language);
  ~TurnReader();
  TurnReader(TurnReader&&) noexcept;

  // Takes a token, and appends the events that became certain. A token that ends the generation
  // adds none.
  void take(int32_t token, std::vector<TurnEvent>* events);
  // Ends the turn, whatever ended it, and appends the last events.
  void end(std::vector<TurnEvent>* events);

  // Whether the last token was content.
  bool in_content() const;
  uint32_t calls() const;             // that began
  uint64_t reasoning_tokens() const;  // up to the reasoning's end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
