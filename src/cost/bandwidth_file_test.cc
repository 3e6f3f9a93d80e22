#include "cost/bandwidth_file.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

BandwidthTable some_table(const Machine& machine) {
  BandwidthTable table = assumed_bandwidth(machine);
  table.core_read = 12.5e9;
  table.core_ops = {40e9, 0, 160.25e9, 80e9};
  Contention::Way once{{10e9, 15e9}, {{10e9, 10e9}, {25e9, 22.5e9}}, 0.75};
  table.contention = {3, 2, {once, once}};
  table.contention->ways[1].ops = 1.25;
  return table;
}

std::string json_of(const Machine& machine, const BandwidthTable& table) {
  Json json;
  json_bandwidth(json, machine, table);
  return json.line();
}

TEST(BandwidthFile, ReadsBackWhatItWrote) {
  Machine machine = Machine::from_synthetic("pack:2 numa:2 core:3 pu:1");
  machine.nodes[2].memory_bytes = 0;
  BandwidthTable table = some_table(machine);
  BandwidthTable read = parse_bandwidth(json_of(machine, table), "file");
  EXPECT_EQ(read.machine, table.machine);
  EXPECT_EQ(read.nodes, table.nodes);
  EXPECT_EQ(read.threads, table.threads);
  EXPECT_EQ(read.read.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    for (size_t j = 0; j < 4; ++j) EXPECT_DOUBLE_EQ(read.read[i][j], table.read[i][j]);
  }
  EXPECT_EQ(read.read[0][2], 0);
  EXPECT_DOUBLE_EQ(read.core_read, 12.5e9);
  EXPECT_DOUBLE_EQ(read.core_ops[2], 160.25e9);
  EXPECT_EQ(read.core_ops[1], 0);
  EXPECT_DOUBLE_EQ(read.core_ops[3], 80e9);
  ASSERT_TRUE(read.contention);
  EXPECT_EQ(read.contention->cores, 3u);
  EXPECT_EQ(read.contention->cluster, 2u);
  ASSERT_EQ(read.contention->ways.size(), 2u);
  EXPECT_DOUBLE_EQ(read.contention->ways[0].cluster_read[1], 15e9);
  EXPECT_DOUBLE_EQ(read.contention->ways[0].node[1].first, 25e9);
  EXPECT_DOUBLE_EQ(read.contention->ways[0].node[1].second, 22.5e9);
  EXPECT_DOUBLE_EQ(read.contention->ways[1].ops, 1.25);
  EXPECT_TRUE(read.contention->whole);
  table.contention->whole = false;
  table.contention->seconds = 3.5;
  read = parse_bandwidth(json_of(machine, table), "file");
  EXPECT_FALSE(read.contention->whole);
  EXPECT_DOUBLE_EQ(read.contention->seconds, 3.5);
  table.contention.reset();
  EXPECT_FALSE(parse_bandwidth(json_of(machine, table), "file").contention);
  table.contention.emplace();
  EXPECT_EQ(parse_bandwidth(json_of(machine, table), "file").contention->cores, 0u);
}

void expect_refused(const std::string& text, const std::string& why) {
  try {
    parse_bandwidth(text, "table.json");
    FAIL() << "no error for " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFile);
    EXPECT_NE(std::string(error.what()).find("table.json"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
}

TEST(BandwidthFile, OtherFilesAreRefused) {
  expect_refused("", "not JSON");
  expect_refused("[1]", "an object");
  expect_refused("{}", "no 'hearth_bandwidth'");
  expect_refused(R"({"hearth_bandwidth":1})", "version");
  expect_refused(std::string(100000, '['), "not JSON");
  Machine machine = Machine::from_synthetic("pack:1 core:2 pu:1");
  std::string good = json_of(machine, some_table(machine));
  auto with = [&](const std::string& from, const std::string& to) {
    std::string bad = good;
    bad.replace(bad.find(from), from.size(), to);
    return bad;
  };
  expect_refused(with("\"gb_per_second\":[[100.0]]", "\"gb_per_second\":[[-1]]"), "rate");
  expect_refused(with("\"gb_per_second\":[[100.0]]", "\"gb_per_second\":[[1,2]]"), "row");
  expect_refused(with("\"gb_per_second\":[[100.0]]", "\"gb_per_second\":[[1],[2]]"),
                 "'nodes' does not have one entry for each row of the table");
  expect_refused(with("\"gb_per_second\":[[100.0]]", "\"gb_per_second\":[]"), "list");
  expect_refused(with("\"gb_per_second\":[[100.0]]", "\"gb_per_second\":[[\"fast\"]]"), "rate");
  expect_refused(with("\"node\":0", "\"node\":-1"), "'node' is not a number");
  expect_refused(with("\"cluster\":2", "\"cluster\":3"),
                 "its 'contention' has values that no machine has");
  expect_refused(with("\"cores\":3", "\"cores\":-3"), "'cores' is not a number");
  expect_refused(with("\"cores\":3", "\"cores\":1"),
                 "its 'contention' has values that no machine has");
  expect_refused(with("\"cores\":3", "\"cores\":4000000000"),
                 "its 'contention' has values that no machine has");
  expect_refused(with("[10.0,25.0]", "[25.0,10.0]"),
                 "its 'contention' has values that no machine has");
  expect_refused(with("[10.0,25.0]", "[25.0]"), "the two lists of a curve differ in length");
  expect_refused(with("\"whole\":true", "\"whole\":1"), "neither true nor false");
  expect_refused(with("\"whole\":true", "\"whole\":false,\"seconds\":-1"),
                 "'seconds' is not a duration");
  const std::string before = with(",\"whole\":true", "");
  EXPECT_TRUE(is_worth_measuring(*parse_bandwidth(before, "file").contention, 15));
  expect_refused(with("\"one_thread\":{", "\"one_thread\":{},\"x\":{"), "'gb_per_second'");
}

}  // namespace
}  // namespace hearth
