#include "bench/embed_report.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "base/json_reader.h"
#include "bench/test_report.h"

namespace hearth {
namespace {

EmbedReport sample_embed_report() {
  EmbedReport report;
  report.version = "1.2.3";
  report.time = "2030-01-02T03:04:05Z";
  report.cpu = "Some CPU";
  report.devices = {"sim:a", "cpu"};
  report.repetitions = 3;
  report.shares = CpuShares{0.01, 0.25};
  EmbedCase one;
  one.length = 75;
  one.slo = 1;
  one.devices = {{"cpu", DeviceKind::kCpu, {0.084, 0.32}, 8, 8, 7},
                 {"v100", DeviceKind::kAccelerator, {0.018, 0.27}, 40, 40, 40}};
  report.cases.push_back(one);
  EmbedArrivals load;
  load.length = 75;
  load.slo = 1;
  load.rate = 35;
  load.offered = 700;
  load.accepted = 600;
  load.answered = 599;
  load.in_time = 594;
  load.seconds = 20;
  load.latency = {0.5, 0.9, 0.95, 0.55};
  load.devices.resize(1);
  load.devices[0].name = "cpu";
  load.devices[0].done = 599;
  report.arrivals.push_back(load);
  report.dispatch = EmbedDispatch{100, {1e-6, 2e-6, 3e-6, 1e-6}, {1e-5, 2e-5, 3e-5, 1e-5}};
  return report;
}

TEST(EmbedReport, Markdown) {
  EXPECT_EQ(
      squeezed(markdown(sample_embed_report())),
      "sim:a, cpu; 3 repetitions\n"
      "Some CPU; CPU time stolen 1.0 %\n"
      "\n"
      "| length | objective | device | kind | alpha | beta | estimated | alone | together |"
      " kept |\n"
      "| -----: | --------: | -----: | ----------: | ------: | -------: | --------: | ----: |"
      " -------: | ------: |\n"
      "| 75 | 1 s | cpu | cpu | 84.0 ms | 320.0 ms | 8 | 8 | 7 | 87.5 % |\n"
      "| 75 | 1 s | v100 | accelerator | 18.0 ms | 270.0 ms | 40 | 40 | 40 | 100.0 % |\n"
      "\n"
      "| length | objective | at once | together | sum alone | of sum | over accelerators |\n"
      "| -----: | --------: | ------: | -------: | --------: | -----: | ----------------: |\n"
      "| 75 | 1 s | 40 + 7 | 47 | 48 | 97.9 % | +17.5 % |\n"
      "\n"
      "| length | objective | admission | texts/s | offered | accepted | accepted/s | in time |"
      " 50 % | 99 % |\n"
      "| -----: | --------: | --------: | ------: | ------: | -------: | ---------: | ------: |"
      " -------: | -------: |\n"
      "| 75 | 1 s | deadline | 35.0 | 700 | 85.7 % | 30.0 | 99.0 % | 500.0 ms | 950.0 ms |\n"
      "\n"
      "dispatch: 1.0 us to offer a text, 10.0 us from its offer to the answer of a device "
      "that takes no time (medians of 100; 99 %: 3.0 us, 30.0 us)\n");
}

TEST(EmbedReport, Csv) {
  EXPECT_EQ(csv(sample_embed_report()),
            "version,time,interrupted,length,slo_seconds,device,kind,alpha_seconds,beta_seconds,"
            "estimated,alone,together\n"
            "1.2.3,2030-01-02T03:04:05Z,false,75,1,cpu,cpu,0.084,0.32,8,8,7\n"
            "1.2.3,2030-01-02T03:04:05Z,false,75,1,v100,accelerator,0.018,0.27,40,40,40\n");
}

TEST(EmbedReport, Json) {
  boost::json::value told = read_json(json(sample_embed_report()));
  EXPECT_EQ(told.at("schema").as_string(), "hearth-bench-embed-1");
  const auto& one = told.at("cases").at(0);
  EXPECT_EQ(one.at("together").to_number<int>(), 47);
  EXPECT_EQ(one.at("accelerators_alone").to_number<int>(), 40);
  EXPECT_EQ(one.at("devices").at(1).at("kind").as_string(), "accelerator");
  EXPECT_EQ(told.at("arrivals").at(0).at("in_time").to_number<int>(), 594);
  EXPECT_EQ(told.at("dispatch").at("texts").to_number<int>(), 100);
  EmbedReport empty;
  EXPECT_TRUE(read_json(json(empty)).at("dispatch").is_null());
}

}  // namespace
}  // namespace hearth
