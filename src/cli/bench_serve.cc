#include "cli/bench_serve.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <random>

#include "base/clock.h"
#include "base/error.h"
#include "base/progress.h"
#include "bench/ask_model.h"
#include "bench/serve_report.h"
#include "bench/serve_runner.h"
#include "cli/text_io.h"
#include "http/many_client.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxConcurrency = 100'000;
constexpr uint32_t kMaxRequests = 100'000'000;
constexpr double kMaxLoadSeconds = 1e6;

CLI::Validator number_above_zero() {
  auto check = [](std::string& input) -> std::string {
    double value = 0;
    const char* end = input.data() + input.size();
    auto [stop, error] = std::from_chars(input.data(), end, value);
    if (error == std::errc{} && stop == end && value > 0 && value <= kMaxLoadSeconds) return {};
    return fmt::format("'{}' is not a number above 0 and up to {}", input, kMaxLoadSeconds);
  };
  return CLI::Validator(check, "");
}

CLI::Option* add_amount(CLI::App& verb, const std::string& name, std::optional<double>* value,
                        const std::string& help) {
  auto set = [value](const double& amount) { *value = amount; };
  return verb.add_option_function<double>(name, set, help)
      ->check(number_above_zero())
      ->type_name("X");
}

uint32_t only_length(const std::vector<uint32_t>& lengths, const char* option) {
  if (lengths.size() == 1 && lengths[0] > 0) return lengths[0];
  fail(ErrorCode::kUsage,
       "with --serve, {} takes one length above 0: give one, or a file of lengths with --lengths",
       option);
}

// Runs the measurements of one `hearth bench --serve`, and holds the server, the requests and their
// results.
class ServeMeasurement {
 public:
  ServeMeasurement(BenchSession& session, const BenchServeArgs& args)
      : session_(session),
        args_(args),
        url_(parse_serve_url(args.url)),
        key_(args.key_file ? read_key(*args.key_file) : ""),
        progress_("serve", 0, [](uint64_t n) { return fmt::format("{} requests", n); }) {
    set_lengths();
    report_.url = url_.origin() + url_.base;
    report_.version = session.report.version;
    report_.time = session.report.time;
    report_.cpu = session.report.cpu;
    report_.call = args.call;
    report_.seed = args.seed;
    report_.slo = {in_seconds(args.ttft_ms), in_seconds(args.tpot_ms)};
  }

  const ServeReport& run() {
    // Ctrl-C may end the process during the search for the model: there are no results yet.
    ManyClient client(url_.origin(), steady_seconds);
    if (report_.call.model.empty()) {
      report_.call.model = ask_model(client, url_, key_, steady_seconds);
    }
    // The tokens are random, since the server would be faster with a prompt that it has cached.
    std::random_device entropy;
    RequestMaker maker(report_.call, (uint64_t{entropy()} << 32) | entropy());
    ServeHooks hooks;
    hooks.clock = steady_seconds;
    hooks.request = [&](const RequestShape& shape) {
      return serve_request(url_, report_.call.path(), key_, maker.next(shape));
    };
    hooks.interrupted = [&] { return session_.interrupted(); };
    hooks.progress = [&](uint64_t ended, uint64_t under_way) {
      progress_.update(before_ + ended, fmt::format("{} under way", under_way));
    };
    ServeRunner runner(client, hooks);
    warm_up(runner);
    if (args_.find_rate) {
      find_rate(runner);
    } else {
      run_loads(runner);
    }
    progress_.finish();
    report_.interrupted = session_.interrupted();
    report_.shares = cpu_shares(session_.cpu_before, read_cpu_times());
    note_doubts(&report_);
    return report_;
  }

 private:
  static std::optional<double> in_seconds(const std::optional<double>& ms) {
    return ms ? std::optional(*ms * 1e-3) : std::nullopt;
  }

  void set_lengths() {
    const BenchLists& lists = session_.args.lists;
    if (args_.lengths) {
      load_.shapes = read_shapes(read_text(*args_.lengths), *args_.lengths);
      report_.lengths = fmt::format("lengths of {}", *args_.lengths);
    } else {
      load_.shapes = {{only_length(lists.prefill, "-p"), only_length(lists.decode, "-n")}};
      report_.lengths = fmt::format("{} prompt tokens, {} output tokens", load_.shapes[0].prompt,
                                    load_.shapes[0].output);
    }
    if (args_.call.shared_prefix > 0) {
      report_.lengths += fmt::format(", {} of the prompt shared", args_.call.shared_prefix);
    }
    load_.seed = args_.seed;
    load_.timeout = args_.timeout;
    load_.requests = args_.requests;
    if (args_.seconds > 0) {
      load_.seconds = args_.seconds;
      load_.requests = kMaxRequests;
    }
  }

  void warm_up(ServeRunner& runner) {
    ServeLoad load = load_;
    load.requests = args_.warmup;
    load.seconds = kMaxLoadSeconds;
    for (const ServedRequest& request : runner.run(load).requests) {
      if (request.completed()) continue;
      fail(ErrorCode::kResource, "{}{} did not answer the first request: {}{}{}", report_.url,
           report_.call.path(), request.failure, request.said.empty() ? "" : ": ", request.said);
    }
  }

  void add(ServedLoad served) {
    before_ += served.requests.size();
    if (!served.requests.empty()) report_.loads.push_back(std::move(served));
  }

  void run_loads(ServeRunner& runner) {
    for (double rate : args_.rates) {
      load_.rate = rate;
      if (!session_.interrupted()) add(runner.run(load_));
    }
    if (!args_.rates.empty()) return;
    std::vector<uint32_t> counts = args_.concurrency;
    if (counts.empty()) counts = {1};
    for (uint32_t count : counts) {
      load_.concurrency = count;
      if (!session_.interrupted()) add(runner.run(load_));
    }
  }

  void find_rate(ServeRunner& runner) {
    RateSearch search(args_.rates.empty() ? 1 : args_.rates[0]);
    for (auto rate = search.next(); rate && !session_.interrupted(); rate = search.next()) {
      load_.rate = rate;
      ServedLoad served = runner.run(load_);
      double reached = serve_figures(served, report_.slo).attainment.value_or(0);
      search.record(*rate, reached >= kGoodputAttainment);
      add(std::move(served));
    }
  }

  BenchSession& session_;
  const BenchServeArgs& args_;
  ServeUrl url_;
  std::string key_;
  ServeLoad load_;
  ServeReport report_;
  Progress progress_;
  uint64_t before_ = 0;  // requests of earlier loads
};

void add_loads(CLI::App& verb, BenchServeArgs* args, std::vector<CLI::Option*>* options) {
  CLI::Option* rate =
      verb.add_option("--rate", args->rates,
                      "With --serve: requests a second on average, at random times (Poisson)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->check(number_above_zero())
          ->type_name("X,X,...");
  CLI::Option* find = verb.add_flag("--find-rate", args->find_rate,
                                    "With --serve: find the highest rate at which 90 % of the "
                                    "requests meet the objectives; starts at --rate (1)");
  CLI::Option* at_once =
      add_counts(
          verb, "--concurrency", &args->concurrency, 1, kMaxConcurrency,
          "With --serve: requests running at once; each answer starts the next request; default: 1")
          ->excludes(rate)
          ->excludes(find);
  CLI::Option* requests = add_count(verb, "--requests", &args->requests, 1, kMaxRequests,
                                    "With --serve: number of requests at each load")
                              ->capture_default_str();
  CLI::Option* seconds =
      verb.add_option(
              "--seconds", args->seconds,
              "With --serve: start requests for this many seconds, instead of a fixed number")
          ->check(number_above_zero())
          ->excludes(requests)
          ->type_name("X");
  CLI::Option* timeout = verb.add_option("--timeout", args->timeout,
                                         "With --serve: seconds after which a request has failed")
                             ->check(number_above_zero())
                             ->capture_default_str()
                             ->type_name("X");
  CLI::Option* warmup =
      add_count(verb, "--warmup", &args->warmup, 0, kMaxRequests,
                "With --serve: warm-up requests, one at a time, that are not counted")
          ->capture_default_str();
  CLI::Option* seed = add_count(verb, "--seed", &args->seed, 0, UINT32_MAX,
                                "With --serve: random seed of the arrival times")
                          ->capture_default_str();
  options->insert(options->end(), {rate, find, at_once, requests, seconds, timeout, warmup, seed});
}

void add_calls(CLI::App& verb, BenchServeArgs* args, std::vector<CLI::Option*>* options) {
  ServeCall& call = args->call;
  CLI::Option* text =
      verb.add_flag("--text", call.text, "With --serve: send prompts as text instead of token ids");
  CLI::Option* chat = verb.add_flag("--chat", call.chat,
                                    "With --serve: use /v1/chat/completions, with prompts as text")
                          ->excludes(text);
  CLI::Option* model =
      verb.add_option("--model", call.model,
                      "With --serve: name of the model; default: the first of /v1/models")
          ->type_name("NAME");
  CLI::Option* key = add_text(verb, "--api-key-file", &args->key_file, "FILE",
                              "With --serve: send the API key in FILE's first line");
  CLI::Option* prefix =
      add_count(verb, "--shared-prefix", &call.shared_prefix, 0, kMaxShapeTokens,
                "With --serve: length of the prefix that all prompts share, in tokens");
  CLI::Option* ttft = add_amount(verb, "--slo-ttft-ms", &args->ttft_ms,
                                 "With --serve: objective for the time to first token");
  CLI::Option* tpot =
      add_amount(verb, "--slo-tpot-ms", &args->tpot_ms,
                 "With --serve: objective for the time per output token after the first");
  options->insert(options->end(), {text, chat, model, key, prefix, ttft, tpot});
}

}  // namespace

void add_bench_serve_options(CLI::App& verb, BenchServeArgs* args,
                             const std::vector<CLI::Option*>& others,
                             const std::vector<CLI::Option*>& lengths) {
  CLI::Option* serve =
      verb.add_option("--serve", args->url,
                      "Measure a server with OpenAI's API instead, such as http://127.0.0.1:8080; "
                      "-p and -n are the lengths of prompts and outputs")
          ->type_name("URL");
  for (CLI::Option* other : others) serve->excludes(other);
  std::vector<CLI::Option*> options;
  add_loads(verb, args, &options);
  add_calls(verb, args, &options);
  CLI::Option* file =
      add_text(verb, "--lengths", &args->lengths, "FILE",
               "With --serve: read request lengths from FILE, a line PROMPT,OUTPUT in tokens each");
  for (CLI::Option* length : lengths) file->excludes(length);
  options.push_back(file);
  for (CLI::Option* option : options) option->needs(serve);
}

int measure_serve(BenchSession& session, const BenchServeArgs& args) {
  if (args.find_rate && !args.ttft_ms && !args.tpot_ms) {
    fail(ErrorCode::kUsage, "--find-rate needs an objective: give --slo-ttft-ms or --slo-tpot-ms");
  }
  if (args.find_rate && args.rates.size() > 1) {
    fail(ErrorCode::kUsage, "--find-rate starts from a single rate: give one value with --rate");
  }
  ServeMeasurement measurement(session, args);
  return write_report(session.args, measurement.run());
}

}  // namespace hearth
