// Texts through devices to vectors, in the order of the texts, while a bounded number of them is
// under way: memory does not grow with their number.
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

// The treatment that every text gets.
struct StreamOptions {
  std::string prefix;                  // before each text
  uint32_t context = 0;                // tokens that a text may have
  bool truncate = false;               // cut longer ones instead of refusing them
  bool texts = false;                  // devices need the text beside its tokens
  bool normalise = true;               // devices do, so what is cut is as well
  std::optional<uint32_t> dimensions;  // that are left of a vector
};

struct StreamTotals {
  uint64_t texts = 0, tokens = 0, cut = 0;
  uint64_t without = 0;  // texts that have no vector, beside `texts`
  double seconds = 0;
  bool interrupted = false;
};

// The tokens of a text for the devices; none, and why, where there is nothing to make a vector of.
// Throws (kRequest) where it has more than the context and they are not to be cut; a sentence about
// `place`.
struct StreamQuery {
  EmbedQuery query;
  size_t whole = 0;  // tokens without a bound
  std::string_view no_tokens;
};
StreamQuery make_query(const Tokenizer& tokenizer, const StreamOptions& options,
                       const TextRow& row);

// Runs until the texts end, Ctrl-C comes, or something fails. What was computed by then has been
// written in any case, as whole rows without a gap; output.end() is the caller's. A text without
// tokens is told on standard error, with its place, and is a row without a vector (VectorOutput).
StreamTotals stream_vectors(TextRows& rows, const Tokenizer& tokenizer, QueueManager& manager,
                            const StreamOptions& options, const Interrupts& interrupts,
                            VectorOutput& output);

}  // namespace hearth
