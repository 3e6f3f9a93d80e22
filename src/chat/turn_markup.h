// Markup of turns in a grammar: markers, whose white space may be more or less, and texts up to a
// marker. What is written carries the builder's tag.
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
  kAnswer,     // content that has a shape
  kReasoning,
  kName,     // of a tool
  kId,       // of a call
  kJson,     // of arguments, as it is
  kKey,      // a name of JSON, as it is
  kText,     // within a string of JSON, as it is
  kValue,    // a whole string of JSON, as it is, and the text of the marker that ends it
  kQuote,    // stands for a quotation mark of JSON
  kColon,    // for a colon
  kWord,     // Python's True, False or None
  kCallEnd,  // markup that a call ends with
};

constexpr uint32_t tag_bit(TurnTag tag) { return uint32_t{1} << static_cast<uint32_t>(tag); }

// A part of a marker: text, or one token.
struct MarkerPart {
  std::string text;
  int32_t token = -1;
};

// Cuts a marker where it has tokens, the longest first.
std::vector<MarkerPart> split_marker(std::string_view marker, std::span<const MarkerToken> tokens);

// The beginning of a marker, where text that goes on until it ends.
struct MarkerHead {
  std::string text;    // with which the text ends: what is before the token, or the marker's head
  int32_t token = -1;  // behind that text; -1: none
  size_t bytes = 0;    // of the marker, up to behind both
};

class TurnMarkup {
 public:
  TurnMarkup(GrammarBuilder& builder, std::span<const MarkerToken> tokens,
             std::vector<int32_t> controls)
      : builder_(builder),
        set_(builder.regexes()),
        tokens_(tokens),
        controls_(std::move(controls)) {}

  // Sets the builder's tag.
  void tag(TurnTag tag) { builder_.set_tag(static_cast<uint8_t>(tag)); }

  // The marker, or nothing where it is empty. `quoted`: whether its beginning stands between
  // quotation marks, and then whether its end does.
  Symbol marker(std::string_view text, bool* quoted = nullptr);
  Symbol token(int32_t id);
  // Returns the marker as a regular expression, where no part of it is a token.
  RegexId marker_text(std::string_view text, bool* quoted);

  // Returns the head by which a text ends that a marker follows. Markers that begin with markup are
  // told by its first tag, others by all of them.
  MarkerHead head(std::string_view marker) const;

  // White space or none: up to `most` characters, or a few.
  RegexId space(uint64_t most = 0) const;
  RegexId not_spaced();  // texts that don't begin with it
  // Texts without `text`, and those in which it stands at the end alone.
  RegexId without(std::string_view text);
  RegexId up_to(std::string_view text);

  // Text with control tokens in it, but for those of `excluded`, as it is until a head or the end.
  // `first`: what its beginning up to the first control token matches, besides. `between` may stand
  // in place of a control token; no white space follows it.
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
  std::vector<int32_t> controls_;  // all of the vocabulary
};

}  // namespace hearth
