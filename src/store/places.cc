#include "store/places.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/ascii.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

constexpr size_t kLongestToken = 4096;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string trimmed(std::string text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_set(const std::string& value) {
  const std::string low = ascii_lower(value);
  return low == "1" || low == "on" || low == "yes" || low == "true";
}

std::string checked_token(std::string token) {
  const bool printable_token =
      std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
  if (printable_token && token.size() <= kLongestToken) return token;
  fail(ErrorCode::kUsage,
       "the hub's token (HF_TOKEN, or the file that HF_TOKEN_PATH names) has characters that "
       "tokens cannot have: correct it");
}

std::string checked_endpoint(std::string endpoint) {
  while (endpoint.ends_with('/')) endpoint.pop_back();
  const bool address = endpoint.starts_with("https://") || endpoint.starts_with("http://");
  const bool plain = std::ranges::all_of(
      endpoint, [](char c) { return c > ' ' && c < 127 && c != '@' && c != '?' && c != '#'; });
  if (address && plain) return endpoint;
  fail(ErrorCode::kUsage, "HF_ENDPOINT is '{}', which is not an address such as https://HOST",
       printable(endpoint));
}

}  // namespace

std::string process_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

StorePlaces find_places(const EnvironmentValue& value) {
  StorePlaces places;
  const std::string home = value("HOME");
  std::string caches = value("XDG_CACHE_HOME"), hf_home = value("HF_HOME");
  if (caches.empty()) caches = home + "/.cache";
  if (hf_home.empty()) hf_home = caches + "/huggingface";
  places.hub = value("HF_HUB_CACHE");
  if (places.hub.empty()) places.hub = value("HUGGINGFACE_HUB_CACHE");
  if (places.hub.empty()) places.hub = hf_home + "/hub";
  if (std::string models = value("OLLAMA_MODELS"); !models.empty()) {
    places.ollama.push_back(std::move(models));
  } else {
    if (!home.empty()) places.ollama.push_back(home + "/.ollama/models");
    places.ollama.emplace_back("/usr/share/ollama/.ollama/models");
  }
  if (!home.empty()) {
    places.lm_studio = {home + "/.lmstudio/models", home + "/.cache/lm-studio/models"};
  }
  std::string token_path = value("HF_TOKEN_PATH");
  if (token_path.empty()) token_path = hf_home + "/token";
  places.token = trimmed(value("HF_TOKEN"));
  if (places.token.empty()) places.token = trimmed(first_line(token_path));
  places.token = checked_token(std::move(places.token));
  const std::string endpoint = value("HF_ENDPOINT");
  places.endpoint = checked_endpoint(endpoint.empty() ? "https://huggingface.co" : endpoint);
  places.offline = is_set(value("HF_HUB_OFFLINE"));
  return places;
}

}  // namespace hearth
