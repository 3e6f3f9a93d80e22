// TurnMarkup writes the markup of turns in a grammar: markers, whose white space may vary, and
// texts up to a marker. All that it writes gets the builder's current tag.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "chat/turn_language.h"
#include "grammar/grammar_builder.h"

namespace hearth {

// The roles of a turn's bytes and control tokens, as tags of its grammar (GrammarBuilder::set_tag).
enum class TurnTag : uint8_t {
  kStructure,  // markup
  kContent,    // any text
  kAnswer,     // content with a shape
  kReasoning,
  kName,     // a tool's name
  kId,       // a call's id
  kJson,     // arguments in JSON, unchanged
  kKey,      // a JSON name (key), unchanged
  kText,     // inside a JSON string, unchanged
  kValue,    // a whole JSON string's text, and the marker's text that ends it
  kQuote,    // becomes a JSON quotation mark
  kColon,    // becomes a JSON colon
  kWord,     // Python's True, False or None
  kCallEnd,  // markup that ends a call
};

constexpr uint32_t tag_bit(TurnTag tag) { return uint32_t{1} << static_cast<uint32_t>(tag); }

// A part of a marker: text, or one token.
struct MarkerPart {
  std::string text;
  int32_t token = -1;
};

// Splits a marker into parts at its tokens, the longest tokens first.
std::vector<MarkerPart> split_marker(std::string_view marker, std::span<const MarkerToken> tokens);

// The head of a marker: the part by which a reader recognises that the text before the marker has
// ended.
struct MarkerHead {
  std::string text;    // text before the token, or the whole head
  int32_t token = -1;  // after that text; -1: none
  size_t bytes = 0;    // bytes of the marker that both take
};

class TurnMarkup {
 public:
  TurnMarkup(GrammarBuilder& builder, std::span<const MarkerToken> tokens,
             std::vector<int32_t> controls)
      : builder_(builder),
        set_(builder.regexes()),
        tokens_(tokens),
        controls_(std::move(controls)) {}

  // Sets the tag of all that is written from here on.
  void tag(TurnTag tag) { builder_.set_tag(static_cast<uint8_t>(tag)); }

  // Writes the marker; nothing where it is empty. `quoted`: in, whether its beginning is inside
  // quotation marks; out, whether its end is.
  Symbol marker(std::string_view text, bool* quoted = nullptr);
  Symbol token(int32_t id);
  // Returns a marker without tokens as a regular expression.
  RegexId marker_text(std::string_view text, bool* quoted);

  // Returns a marker's head. A marker that begins with markup is recognised by its first tag, any
  // other marker by its whole text.
  MarkerHead head(std::string_view marker) const;

  // Returns optional white space of up to `most` characters; 0: kMaxSpace.
  RegexId space(uint64_t most = 0) const;
  RegexId not_spaced();  // texts that do not begin with white space
  // Return the texts without `text`, and the texts that have it only at their end.
  RegexId without(std::string_view text);
  RegexId up_to(std::string_view text);

  // Write free text that may contain control tokens other than `excluded`, up to the end or to
  // `head`. `first`: what the text up to its first control token must match. `between`: a symbol
  // that may stand in place of a control token, without white space after it.
  Symbol free_text(std::span<const int32_t> excluded, RegexId first, Symbol between = kNoSymbol);
  Symbol free_text_until(const MarkerHead& head, std::span<const int32_t> excluded, RegexId first,
                         Symbol between = kNoSymbol);

 private:
  struct FreeParts {
    RegexId plain, last;
    std::span<const int32_t> excluded;
    RegexId first;
    Symbol between;
  };
  Symbol free_parts(const FreeParts& parts);

  GrammarBuilder& builder_;
  RegexSet& set_;
  std::span<const MarkerToken> tokens_;
  std::vector<int32_t> controls_;  // of the vocabulary
};

}  // namespace hearth
