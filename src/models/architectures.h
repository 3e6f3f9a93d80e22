// What is each architecture's own, one short file each: set on a config that holds what all share.
#pragma once

#include "formats/gguf.h"
#include "models/config.h"

namespace hearth {

void configure_llama(const GgufFile& file, DecoderConfig* config);
void configure_qwen2(const GgufFile& file, DecoderConfig* config);
void configure_qwen3(const GgufFile& file, DecoderConfig* config);

}  // namespace hearth
