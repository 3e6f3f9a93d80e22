// Each architecture describes itself, in a short file of its own.
#pragma once

#include "models/spec_builder.h"

namespace hearth {

void describe_llama(SpecBuilder& m);
void describe_qwen2(SpecBuilder& m);
void describe_qwen3(SpecBuilder& m);
void describe_qwen3moe(SpecBuilder& m);
void describe_deepseek2(SpecBuilder& m);
void describe_glm4moe(SpecBuilder& m);
void describe_bert(SpecBuilder& m);
void describe_nomic_bert(SpecBuilder& m);
void describe_jina_bert_v2(SpecBuilder& m);

}  // namespace hearth
