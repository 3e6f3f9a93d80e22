// Finds where models are stored on this machine, and which hub they come from, from the
// environment: the variables of Hugging Face's tools (HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME,
// XDG_CACHE_HOME, HF_TOKEN, HF_TOKEN_PATH, HF_ENDPOINT, HF_HUB_OFFLINE) and OLLAMA_MODELS.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace hearth {

struct StorePlaces {
  std::string hub;                     // the cache: models--ORG--REPO below it
  std::vector<std::string> ollama;     // folders with manifests/ and blobs/
  std::vector<std::string> lm_studio;  // folders with ORG/REPO/FILE.gguf
  std::string endpoint;                // "https://...", without a slash at its end
  std::string token;                   // the hub's token; empty: none
  bool offline = false;
};

// Returns the value of an environment variable; empty where it is not set.
using EnvironmentValue = std::function<std::string(const char* name)>;
std::string process_environment(const char* name);

// Throws (kUsage) where HF_ENDPOINT is no address, or the token has characters that no header field
// may have.
StorePlaces find_places(const EnvironmentValue& value = process_environment);

}  // namespace hearth
