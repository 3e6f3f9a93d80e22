// Streams texts through devices to vectors, in the order of the texts, with a bounded number of
// them in flight, so that memory does not grow with the number of texts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>

#include "cli/interrupts.h"
#include "cli/text_rows.h"
#include "cli/vector_output.h"
#include "embed/queue_manager.h"
#include "tokenizer/tokenizer.h"

namespace hearth {

// Options that apply to every text.
struct StreamOptions {
  std::string prefix;     // put before each text
  uint32_t context = 0;   // the most tokens of a text
  bool truncate = false;  // longer texts are cut instead of refused
  bool texts = false;     // devices need text as well as tokens
  bool normalise = true;  // devices normalise vectors, so shortened ones are normalised again
  std::optional<uint32_t> dimensions;  // elements of a vector that are kept
};

struct StreamTotals {
  uint64_t texts = 0, tokens = 0, cut = 0;
  uint64_t without = 0;  // further texts, which have no vector
  double seconds = 0;
  bool interrupted = false;
};

// Makes the query of a text for devices. If the text has no tokens, there is no query, and
// `no_tokens` says why. Throws (kRequest), naming `place`, where the text is longer than the
// context and `options` do not allow to cut it.
struct StreamQuery {
  EmbedQuery query;
  size_t whole = 0;  // the text's tokens before it was cut
  std::string_view no_tokens;
};
StreamQuery make_query(const Tokenizer& tokenizer, const StreamOptions& options,
                       const TextRow& row);

// Runs until the texts end, Ctrl-C comes, or an error is thrown. In any case, computed vectors have
// then been written as whole rows without a gap; the caller calls output.end(). A text without
// tokens is reported on standard error, with its place, and becomes a row without a vector
// (VectorOutput).
StreamTotals stream_vectors(TextRows& rows, const Tokenizer& tokenizer, QueueManager& manager,
                            const StreamOptions& options, const Interrupts& interrupts,
                            VectorOutput& output);

}  // namespace hearth
