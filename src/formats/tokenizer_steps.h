// Reads the steps of a tokenizer.json: its normalizer, pre_tokenizer, decoder and post_processor.
// docs/tokenizers.md lists those that are known.
//
// Errors: kUnsupported, naming the key and the step, for a step that is unknown or has settings
// that this program does not support; kFile for one whose fields are missing or of another type.
#pragma once

#include <string>
#include <vector>

#include "formats/config_reader.h"
#include "formats/text_rules.h"
#include "formats/vocab.h"

namespace hearth {

// Read the steps of one part of `config`, the whole tokenizer.json. A part that is missing has
// none.
std::vector<NormalizeStep> read_normalizer(const ConfigReader& config);
std::vector<CutStep> read_pre_tokenizer(const ConfigReader& config);
std::vector<DecodeStep> read_decoder(const ConfigReader& config);

// Reads BertNormalizer and BertPreTokenizer of a WordPiece model, as lowercase and strip_accents.
void read_bert_steps(const ConfigReader& config, Vocab* vocab);
// Reads the steps of a Unigram model. Precompiled becomes charsmap. Those that place spaces as
// SentencePiece does (WhitespaceSplit and Metaspace, or Strip, Replace and Metaspace) become
// add_space_prefix and remove_extra_whitespaces.
void read_unigram_steps(const ConfigReader& config, Vocab* vocab);

// Ids that the post_processor puts before and behind a text, and between the two texts of a pair.
struct TextTemplate {
  std::vector<int32_t> before, between, behind;
};
// Reads the post_processor. Every id must be below `tokens`.
TextTemplate read_post_processor(const ConfigReader& config, uint32_t tokens);

}  // namespace hearth
