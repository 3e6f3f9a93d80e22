// TurnReader: from the tokens of a turn to what a client gets of it, as they come. Events joined
// are the whole, however the text was cut into tokens. Held back is only what may turn out to be
// the beginning of a marker, an incomplete character, and white space at the seams.
//
//   TurnReader reader(language);
//   for (int32_t token : tokens) reader.take(token, &events);
//   reader.end(&events);
//
// A text that is not of the language (no engine held it) is content from where it leaves it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chat/turn_language.h"

namespace hearth {

struct TurnEvent {
  enum class Kind : uint8_t {
    kContent,    // `text` goes on with the content
    kReasoning,  // with the reasoning
    kCall,  // call number `call` begins: `text` is the tool's name, `id` the model's id or empty
    kArguments,  // `text` goes on with the JSON text of the call's arguments, an object
    kCallEnd,    // the call is whole; `id` is the model's, where it came behind the arguments
  };
  Kind kind;
  uint32_t call = 0;  // 0, 1, ... in the order of the turn
  std::string text = {};
  std::string id = {};
  bool operator==(const TurnEvent&) const = default;
};

class TurnReader {
 public:
  explicit TurnReader(std::shared_ptr<const TurnLanguage> language);
  ~TurnReader();
  TurnReader(TurnReader&&) noexcept;

  // Appends what became certain. A token that ends the generation gives nothing.
  void take(int32_t token, std::vector<TurnEvent>* events);
  // The turn is over, whatever ended it.
  void end(std::vector<TurnEvent>* events);

  // Whether what was taken last is content.
  bool in_content() const;
  uint32_t calls() const;             // that began
  uint64_t reasoning_tokens() const;  // tokens before the reasoning's end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hearth
