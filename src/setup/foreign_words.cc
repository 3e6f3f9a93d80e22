#include "setup/foreign_words.h"

#include <algorithm>
#include <iterator>

namespace hearth {
namespace {

struct Foreign {
  std::string_view word, instead;
};

constexpr Foreign kVerbs[] = {
    {"download", "`hearth pull ORG/REPO` gets a model"},
    {"get", "`hearth pull ORG/REPO` gets a model"},
    {"ls", "`hearth list` lists the models that are here"},
    {"rm", "`hearth remove NAME` removes one"},
    {"ps", "to see what a server serves, use `curl http://127.0.0.1:8080/v1/models`"},
    {"show", "to see what is in a file, use `hearth inspect MODEL`"},
    {"launch", "see docs/agents.md for how to use agents with `hearth serve`"},
    {"generate", "`hearth run MODEL -p TEXT` generates text"},
    {"complete", "`hearth run MODEL -p TEXT` generates text"},
    {"server", "`hearth serve MODEL` serves one"},
    {"start", "`hearth serve MODEL` serves one"},
    {"quant", "`hearth quantize` writes one"},
    {"convert",
     "folders of safetensors files need no conversion; to write a GGUF file, use `hearth "
     "quantize`"},
    {"benchmark", "`hearth bench MODEL` measures"},
    {"create", "use options instead of a Modelfile; `hearth serve --help` lists them"}};

constexpr Foreign kOptions[] = {
    {"-m", "give the model without an option, as in `hearth run MODEL`"},
    {"--model", "give the model without an option, as in `hearth run MODEL`"},
    {"--temperature", "it is --temp here"},
    {"-c", "it is --ctx here"},
    {"--ctx-size", "it is --ctx here"},
    {"--n-ctx", "it is --ctx here"},
    {"-ngl", "it is --gpu auto here, and --gpu-layers"},
    {"--n-gpu-layers", "it is --gpu auto here, and --gpu-layers"},
    {"--n-predict", "it is -n here"},
    {"--num-predict", "it is -n here"},
    {"-ctk", "it is --kv-type here"},
    {"--cache-type-k", "it is --kv-type here"},
    {"--api-key", "put API keys into a file and give --api-key-file FILE"},
    {"-np", "it is --max-running here"},
    {"--parallel", "it is --max-running here"},
    {"--repetition-penalty", "it is --repeat-penalty here"},
    {"-hf", "give the model without an option, as in `hearth run unsloth/Qwen3-4B-GGUF`"}};

template <size_t kCount>
std::string instead_of(const Foreign (&table)[kCount], std::string_view word) {
  const auto* found = std::ranges::find(table, word, &Foreign::word);
  return found == std::end(table) ? "" : std::string(found->instead);
}

}  // namespace

std::string foreign_verb(std::string_view word) { return instead_of(kVerbs, word); }
std::string foreign_option(std::string_view word) { return instead_of(kOptions, word); }

}  // namespace hearth
