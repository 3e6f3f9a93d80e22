#include "store/places.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/error.h"

namespace hearth {
namespace {

StorePlaces places_with(std::map<std::string, std::string> variables) {
  return find_places([&](const char* name) { return variables[name]; });
}

TEST(Places, FollowHuggingFacesVariables) {
  EXPECT_EQ(places_with({{"HOME", "/h"}}).hub, "/h/.cache/huggingface/hub");
  EXPECT_EQ(places_with({{"HOME", "/h"}, {"XDG_CACHE_HOME", "/c"}}).hub, "/c/huggingface/hub");
  EXPECT_EQ(places_with({{"HF_HOME", "/f"}, {"XDG_CACHE_HOME", "/c"}}).hub, "/f/hub");
  EXPECT_EQ(places_with({{"HF_HOME", "/f"}, {"HF_HUB_CACHE", "/k"}}).hub, "/k");
  EXPECT_EQ(places_with({{"OLLAMA_MODELS", "/o"}}).ollama, std::vector<std::string>{"/o"});
  EXPECT_TRUE(places_with({{"HF_HUB_OFFLINE", "1"}}).offline);
  EXPECT_FALSE(places_with({{"HF_HUB_OFFLINE", "0"}}).offline);
}

TEST(Places, RefuseWhatIsNoAddressOrToken) {
  EXPECT_EQ(places_with({{"HF_ENDPOINT", "https://mirror/x/"}}).endpoint, "https://mirror/x");
  EXPECT_THROW(places_with({{"HF_ENDPOINT", "ftp://mirror"}}), Error);
  EXPECT_EQ(places_with({{"HF_TOKEN", " hf_x\n"}}).token, "hf_x");
  EXPECT_THROW(places_with({{"HF_TOKEN", "a\r\nHost: b"}}), Error);
}

}  // namespace
}  // namespace hearth
