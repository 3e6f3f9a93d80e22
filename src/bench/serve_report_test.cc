#include "bench/serve_report.h"

#include <gtest/gtest.h>

#include <boost/json/value.hpp>

#include "base/json_reader.h"
#include "bench/test_report.h"
#include "bench/test_serve.h"

namespace hearth {
namespace {

ServeReport report() {
  ServeReport report;
  report.version = "1.2.3";
  report.time = "2030-01-02T03:04:05Z";
  report.cpu = "Some CPU";
  report.url = "http://h:1";
  report.call.model = "m";
  report.lengths = "10 prompt tokens, 11 output tokens";
  report.seed = 5;
  report.slo = {1.5, 0.15};
  report.shares = CpuShares{0.01, 0.25};
  ServedLoad load;
  load.rate = 2;
  load.seconds = 5;
  load.requests = {served(0.5, 0.1, 11), served(0.5, 0.1, 11)};
  report.loads.push_back(load);
  load.rate = 4;
  load.requests[1] = served(2, 0.1, 11);
  load.requests.emplace_back().failure = "HTTP 429";
  load.requests.back().said = "full | wait";
  report.loads.push_back(load);
  return report;
}

TEST(ServeReport, Markdown) {
  EXPECT_EQ(
      squeezed(markdown(report())),
      "http://h:1/v1/completions: m; 10 prompt tokens, 11 output tokens; seed 5\n"
      "Some CPU; CPU time stolen 1.0 %\n"
      "objectives: TTFT 1.50 s, TPOT 150.0 ms\n"
      "\n"
      "| load | requests | failed | duration | req/s | prompt tokens/s | tokens/s | inside SLO |"
      " good req/s |\n"
      "| ------: | -------: | -----: | -------: | ----: | --------------: | -------: |"
      " ---------: | ---------: |\n"
      "| 2 req/s | 2 | 0 | 5.00 s | 0.40 | 4.00 | 4.40 | 100.0 % | 0.40 |\n"
      "| 4 req/s | 3 | 1 | 5.00 s | 0.40 | 4.00 | 4.40 | 33.3 % | 0.20 |\n"
      "\n"
      "| load | TTFT 50 % | 90 % | 99 % | TPOT 50 % | 90 % | 99 % | longest gap 50 % | 90 % |"
      " 99 % | end to end 50 % | 90 % | 99 % |\n"
      "| ------: | --------: | -------: | -------: | --------: | -------: | -------: |"
      " ---------------: | -----: | -----: | --------------: | -----: | -----: |\n"
      "| 2 req/s | 500.0 ms | 500.0 ms | 500.0 ms | 100.0 ms | 100.0 ms | 100.0 ms | 0.0 ms |"
      " 0.0 ms | 0.0 ms | 1.50 s | 1.50 s | 1.50 s |\n"
      "| 4 req/s | 1.25 s | 1.85 s | 1.98 s | 100.0 ms | 100.0 ms | 100.0 ms | 0.0 ms |"
      " 0.0 ms | 0.0 ms | 2.25 s | 2.85 s | 2.98 s |\n"
      "\n"
      "| load | failure | requests | the first said |\n"
      "| ------: | -------: | -------: | -------------: |\n"
      "| 4 req/s | HTTP 429 | 1 | full \\| wait |\n"
      "\n"
      "goodput: 2 requests/s, the highest rate measured at which 90 % of the requests met the "
      "objectives\n");
}

TEST(ServeReport, MarkdownWithoutObjectivesOrOfAClosedLoop) {
  ServeReport told = report();
  told.slo = {};
  told.loads.resize(1);
  told.loads[0].rate.reset();
  told.loads[0].concurrency = 16;
  told.interrupted = true;
  std::string text = squeezed(markdown(told));
  EXPECT_NE(text.find("| 16 at once | 2 | 0 | 5.00 s | 0.40 | 4.00 | 4.40 | - | - |\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("goodput"), std::string::npos);
  EXPECT_EQ(text.find("objectives"), std::string::npos);
  EXPECT_TRUE(text.ends_with("\nnote: interrupted; unfinished requests are left out\n"));
  told = report();
  told.slo.ttft = 0.1;
  EXPECT_NE(markdown(told).find("goodput: at no rate measured"), std::string::npos);
}

TEST(ServeReport, NotesDoubts) {
  ServeReport told = report();
  note_doubts(&told);
  EXPECT_TRUE(told.notes.empty());
  told.loads[0].requests[0].asked.output = 12;
  told.loads[1].requests[0].counted_by_server = false;
  note_doubts(&told);
  ASSERT_EQ(told.notes.size(), 2u);
  EXPECT_TRUE(told.notes[0].starts_with("1 answers had fewer tokens"));
  EXPECT_TRUE(told.notes[1].starts_with("1 answers came without a count"));
}

TEST(ServeReport, Csv) {
  std::string told = csv(report());
  EXPECT_TRUE(told.starts_with(
      "version,time,url,path,model,lengths,seed,interrupted,rate,concurrency,requests,completed,"
      "seconds,requests_per_second,prompt_tokens,output_tokens,prompt_tokens_per_second,"
      "output_tokens_per_second,ttft_seconds_p50,ttft_seconds_p90,ttft_seconds_p99,"
      "ttft_seconds_mean,tpot_seconds_p50,"))
      << told;
  EXPECT_NE(told.find("\n1.2.3,2030-01-02T03:04:05Z,http://h:1,/v1/completions,m,\"10 prompt "
                      "tokens, 11 output tokens\",5,false,4,,3,2,5,0.4,20,22,4,4.4,1.25,1.85,1.985,"
                      "1.25,0.1,0.1,0.1,0.1,0,0,0,0,2.25,2.85,2.985,2.25,1.5,0.15,0.333333,0.2\n"),
            std::string::npos)
      << told;
}

TEST(ServeReport, Json) {
  std::string line = json(report());
  boost::json::value told = read_json(line);
  EXPECT_EQ(told.at("schema").as_string(), "hearth-bench-serve-1");
  EXPECT_EQ(told.at("path").as_string(), "/v1/completions");
  EXPECT_EQ(told.at("slo_seconds").at("ttft").as_double(), 1.5);
  EXPECT_EQ(told.at("goodput").to_number<double>(), 2);
  const boost::json::value& load = told.at("loads").at(1);
  EXPECT_EQ(load.at("rate").to_number<double>(), 4);
  EXPECT_TRUE(load.at("concurrency").is_null());
  EXPECT_EQ(load.at("completed").as_int64(), 2);
  EXPECT_EQ(load.at("failures").at(0).at("kind").as_string(), "HTTP 429");
  EXPECT_EQ(load.at("failures").at(0).at("count").as_int64(), 1);
  EXPECT_DOUBLE_EQ(load.at("ttft_seconds").at("p90").as_double(), 1.85);
  ServeReport plain = report();
  plain.slo = {};
  told = read_json(json(plain));
  EXPECT_TRUE(told.at("goodput").is_null());
  EXPECT_TRUE(told.at("slo_seconds").at("ttft").is_null());
  EXPECT_TRUE(told.at("loads").at(0).at("attainment").is_null());
}

}  // namespace
}  // namespace hearth
