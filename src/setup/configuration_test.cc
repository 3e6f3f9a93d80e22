#include "setup/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace hearth {
namespace {

OptionTree small_tree() {
  OptionFact port{.names = {"--port"}, .key = "port", .help = "Port"};
  OptionFact host{.names = {"--allow-host"}, .key = "allow-host", .help = "Host", .many = true};
  OptionFact quiet{.names = {"--no-log"}, .key = "no-log", .help = "No log", .flag = true};
  OptionFact context{.names = {"--ctx"}, .key = "ctx", .help = "Context", .of_model = true};
  return {{"serve", "Serve", {port, host, quiet, context}}, {"run", "Generate", {}}};
}

// Returns the error of reading a file with this text.
std::string refusal(const std::string& text) {
  try {
    read_configuration(text, "c.toml", small_tree());
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_status(), 2);
    return error.what();
  }
  return "it is taken";
}

TEST(ConfigurationTest, ReadsTablesOfVerbs) {
  Configuration all = read_configuration(
      "[serve]\nport = 9000\nallow-host = [\"a\", \"b\"]\nno-log = true\n[run]\n", "c.toml",
      small_tree());
  EXPECT_EQ(all["serve"]["port"].values, std::vector<std::string>{"9000"});
  EXPECT_EQ(all["serve"]["port"].source, "'c.toml', line 2");
  EXPECT_EQ(all["serve"]["allow-host"].values, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(all["serve"]["no-log"].values, std::vector<std::string>{"true"});
}

TEST(ConfigurationTest, ReadsTablesOfModels) {
  Configuration all = read_configuration(
      "[model.small]\nmodel = \"a.gguf\"\nctx = 8\n[model.\"q:8\"]\n[serve]\nctx = 9\n", "c.toml",
      small_tree());
  EXPECT_EQ(all["model.small"]["model"].values, std::vector<std::string>{"a.gguf"});
  EXPECT_EQ(all["model.small"]["ctx"].source, "'c.toml', line 3");
  EXPECT_TRUE(all.contains("model.q:8"));
  EXPECT_EQ(all["serve"]["ctx"].values, std::vector<std::string>{"9"});
  EXPECT_EQ(refusal("[model.a]\nport = 1"),
            "'c.toml', line 2: port is not an option of a single model: put it below [serve]");
  EXPECT_EQ(refusal("[model.a]\nctz = 1"),
            "'c.toml', line 2: `hearth serve` has no option 'ctz'; did you mean 'ctx'?");
  EXPECT_EQ(
      refusal("[model]\na = 1"),
      "'c.toml', line 2: a model's options must be in a table with its name, such as [model.a]");
  EXPECT_EQ(refusal("[model.a]\nmodel = [1]"), "'c.toml', line 2: model takes one value");
  EXPECT_EQ(refusal("[serve]\nmodel = \"a\""),
            "'c.toml', line 2: `hearth serve` has no option 'model'");
}

TEST(ConfigurationTest, RefusesByFileAndLine) {
  EXPECT_EQ(refusal("[serve]\n\nprot = 1"),
            "'c.toml', line 3: `hearth serve` has no option 'prot'; did you mean 'port'?");
  EXPECT_EQ(refusal("[sevre]"),
            "'c.toml', line 1: there is no verb 'sevre'; did you mean 'serve'?");
  EXPECT_EQ(
      refusal("port = 1"),
      "'c.toml', line 1: 'port' is in no table: put it below a verb's table, such as [serve]");
  EXPECT_EQ(refusal("[serve]\nno-log = 1"), "'c.toml', line 2: no-log must be true or false");
  EXPECT_EQ(refusal("[serve]\nport = true"), "'c.toml', line 2: port takes a string or a number");
  EXPECT_EQ(refusal("[serve]\nport = [1]"), "'c.toml', line 2: port takes one value");
  EXPECT_EQ(refusal("[serve]\nallow-host = [[1]]"),
            "'c.toml', line 2: allow-host takes a string or a number");
  for (const char* text : {"[serve]\nport = 1\nport = 2", "[serve]\n[serve]", "[serve\n", "\xff",
                           "[serve]\nport = "}) {
    EXPECT_THAT(refusal(text), testing::StartsWith("'c.toml', line ")) << text;
  }
}

TEST(ConfigurationTest, TheEnvironmentIsAboveTheFile) {
  const std::string path = testing::TempDir() + "setup_config.toml";
  std::ofstream(path) << "[serve]\nport = 1\nno-log = true\n";
  EXPECT_EQ(environment_name("chat-format", "max-queue"), "HEARTH_CHAT_FORMAT_MAX_QUEUE");
  setenv("HEARTH_SERVE_PORT", "2", 1);
  Configuration all = find_configuration(path, small_tree());
  EXPECT_EQ(all["serve"]["port"].values[0], "2");
  EXPECT_EQ(all["serve"]["port"].source, "HEARTH_SERVE_PORT");
  EXPECT_EQ(all["serve"]["no-log"].values[0], "true");
  setenv("HEARTH_SERVE_NO_LOG", "yes", 1);
  EXPECT_THROW(find_configuration(path, small_tree()), Error);
  unsetenv("HEARTH_SERVE_NO_LOG");
  unsetenv("HEARTH_SERVE_PORT");
}

TEST(ConfigurationTest, RefusesWhatIsNoFile) {
  const std::string folder = testing::TempDir();
  EXPECT_THROW(find_configuration(folder, small_tree()), Error);
  EXPECT_THROW(find_configuration(folder + "no/such.toml", small_tree()), Error);
  const std::string large = folder + "setup_large.toml";
  std::ofstream(large) << std::string(10 << 20, '\n');
  EXPECT_THROW(find_configuration(large, small_tree()), Error);
  std::filesystem::remove(large);
}

}  // namespace
}  // namespace hearth
