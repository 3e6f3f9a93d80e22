#include "setup/help_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace hearth {
namespace {

const std::string kPage =
    "Serve a model\n"
    "Usage: hearth serve [OPTIONS]\n"
    "\n"
    "Options:\n"
    "  -t,--threads N                  Threads; default: one per core that may be used, less one "
    "from 8 cores up\n"
    "  --a-name-that-is-long N Excludes: --another-name-that-is-long --and-one-more-of-them\n"
    "                                  Its text is long as well and does not fit in one line\n"
    "\n"
    "Limits:\n"
    "  --max-body SIZE                 Bytes\n"
    "\n"
    "Examples:\n"
    "  hearth serve model.gguf "
    "--with-a-line-that-is-longer-than-the-window-and-stays-as-it-is-here\n";

size_t longest_line(const std::string& page) {
  std::istringstream lines(page.substr(0, page.find("Examples:")));
  size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(HelpPageTest, FitsTheWindow) {
  for (size_t columns : {40u, 60u, 80u, 120u}) {
    EXPECT_LE(longest_line(help_page(kPage, columns, true, "serve")), columns) << columns;
  }
  const std::string wrapped =
      "  -t,--threads N                  Threads; default: one per core that may be\n"
      "                                  used, less one from 8 cores up\n";
  EXPECT_NE(help_page(kPage, 80, true, "serve").find(wrapped), std::string::npos);
  EXPECT_NE(help_page(kPage, 40, true, "serve").find("  -t,--threads N\n        Threads; default:"),
            std::string::npos);
}

TEST(HelpPageTest, NothingIsLost) {
  auto words = [](std::string page) {
    page.erase(
        std::remove_if(page.begin(), page.end(), [](char c) { return c == ' ' || c == '\n'; }),
        page.end());
    return page;
  };
  EXPECT_EQ(words(help_page(kPage, 40, true, "serve")), words(kPage));
}

TEST(HelpPageTest, LimitsAreLeftOut) {
  const std::string page = help_page(kPage, 80, false, "serve");
  EXPECT_EQ(page.find("--max-body"), std::string::npos);
  EXPECT_NE(page.find("`hearth serve --help-all` lists the limits"), std::string::npos);
  EXPECT_NE(page.find("Examples:"), std::string::npos);
  EXPECT_EQ(help_page("Options:\n  -h\n", 80, false, "x").find("help-all"), std::string::npos);
}

}  // namespace
}  // namespace hearth
