// Each architecture describes itself, in a short file of its own.
#pragma once

#include "models/model_spec.h"

namespace hearth {

void describe_llama(SpecBuilder& spec);
void describe_qwen2(SpecBuilder& spec);
void describe_qwen3(SpecBuilder& spec);

}  // namespace hearth
