// Finds the places of models on this machine, and where they come from, in the environment: the
// variables of Hugging Face's own tools (HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME,
// XDG_CACHE_HOME, HF_TOKEN, HF_TOKEN_PATH, HF_ENDPOINT, HF_HUB_OFFLINE) and OLLAMA_MODELS.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hearth {

struct StorePlaces {
  std::string hub;                     // the cache: holds models--ORG--REPO
  std::vector<std::string> ollama;     // hold manifests/ and blobs/
  std::vector<std::string> lm_studio;  // hold ORG/REPO/FILE.gguf
  std::string endpoint;                // "https://...", without a slash at its end
  std::string token;                   // empty where there is none
  bool offline = false;
};

// The value of a variable of the environment; empty where it is not set.
using EnvironmentValue = std::function<std::string(const char* name)>;
std::string process_environment(const char* name);

// Throws (kUsage) where HF_ENDPOINT is no address, or the token holds what no header may.
StorePlaces find_places(const EnvironmentValue& value = process_environment);

}  // namespace hearth
