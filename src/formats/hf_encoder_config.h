// What the config.json of an encoder of BERT's kind says, as formats/hf_config.h does for decoders:
// BERT, RoBERTa and XLM-R as `bert`, Nomic's as `nomic-bert`, Jina's second as `jina-bert-v2`.
//
// RoBERTa numbers positions from pad_token_id + 1 on: the rows of its table before that are left
// out, and taken off the context, as llama.cpp's converter has it. Errors: those of hf_config.h.
#pragma once

#include <string>
#include <string_view>

#include "formats/hf_config.h"

namespace hearth {

// Whether architectures in config.json names such a model, with or without its head for
// pre-training.
bool is_hf_encoder(std::string_view architecture);
// Their names, for messages.
std::string hf_encoder_names();

HfConfig read_hf_encoder_config(std::string_view architecture, const ConfigReader& config,
                                MadeMetadata& metadata);

}  // namespace hearth
