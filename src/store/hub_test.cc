#include "store/hub.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace hearth {
namespace {

std::string entry(const std::string& path, const std::string& type = "file") {
  return fmt::format(R"({{"type": "{}", "path": "{}", "size": 3, "oid": "{}"}})", type, path,
                     std::string(40, 'a'));
}

TEST(TreePage, ReadsFilesAndSkipsFolders) {
  const auto files = read_tree_page(fmt::format(
      R"([{}, {}, {{"type": "file", "path": "m.gguf", "size": 1, "oid": "{}",
          "lfs": {{"oid": "{}", "size": 77, "pointerSize": 134}}}}])",
      entry("d", "directory"), entry("d/config.json"), std::string(40, 'b'), std::string(64, 'c')));
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "d/config.json");
  EXPECT_EQ(files[0].sha256, "");
  EXPECT_EQ(files[1].sha256, std::string(64, 'c'));
  EXPECT_EQ(files[1].size, 77u);
}

TEST(TreePage, RefusesPathsThatLeadOut) {
  for (const char* path : {"../x", "/etc/passwd", "a/../../b", "a//b", ""}) {
    EXPECT_THROW(read_tree_page("[" + entry(path) + "]"), Error) << path;
  }
  EXPECT_THROW(read_tree_page("[" + entry("a", "symlink") + "]"), Error);
}

TEST(TreePage, RefusesWhatIsNoPage) {
  for (const char* text : {"", "{}", "[1]", "<html>", R"([{"type": "file", "path": "a"}])",
                           R"([{"type": "file", "path": "a", "size": -1, "oid": "x"}])"}) {
    EXPECT_THROW(read_tree_page(text), Error) << text;
  }
}

TEST(TreePage, RefusesNamesThatMeetOnADisk) {
  EXPECT_THROW(check_repo_paths({{"a.gguf"}, {"A.gguf"}}), Error);
  EXPECT_THROW(check_repo_paths({{"a"}, {"a/b"}}), Error);
  EXPECT_NO_THROW(check_repo_paths({{"a"}, {"b/a"}}));
}

TEST(NextLink, IsThatOfTheNextPage) {
  EXPECT_EQ(next_link("<http://h/x?c=1>; rel=\"next\""), "http://h/x?c=1");
  EXPECT_EQ(next_link("<http://h/p>; rel=\"prev\", <http://h/n>; rel=\"next\""), "http://h/n");
  EXPECT_EQ(next_link("<http://h/p>; rel=\"prev\""), "");
  EXPECT_EQ(next_link(""), "");
  EXPECT_EQ(next_link("<x"), "");
}

TEST(Origin, IsReadAsLibcurlReadsIt) {
  EXPECT_EQ(origin_of("https://Hub/x"), "https://hub:443");
  EXPECT_EQ(origin_of("https://hub:443"), "https://hub:443");
  EXPECT_NE(origin_of("https://hub@other/x"), origin_of("https://hub/x"));
  EXPECT_NE(origin_of("http://hub/"), origin_of("https://hub/"));
  EXPECT_NE(origin_of("http://127.0.0.1:81/"), origin_of("http://127.0.0.1:80/"));
}

}  // namespace
}  // namespace hearth
