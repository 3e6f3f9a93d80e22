// Each architecture describes itself, in a short file of its own.
#pragma once

#include "models/model_spec.h"

namespace hearth {

void describe_llama(SpecBuilder& spec);
void describe_qwen2(SpecBuilder& spec);
void describe_qwen3(SpecBuilder& spec);
void describe_qwen3moe(SpecBuilder& spec);
void describe_deepseek2(SpecBuilder& spec);
void describe_glm4moe(SpecBuilder& spec);
void describe_bert(SpecBuilder& spec);
void describe_nomic_bert(SpecBuilder& spec);
void describe_jina_bert_v2(SpecBuilder& spec);

}  // namespace hearth
