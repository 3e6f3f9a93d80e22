// Measures matrix products as `hearth bench --kernels` does, in turns with the products of other
// libraries: OpenBLAS and oneDNN, if they are installed. README.md says how.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/bench_kernels.h"
#include "peers.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxNodes = 1u << 16;

int measure(const BenchArgs& args) {
  BenchSession session(args);
  Peers peers([&](const std::string& text) { session.note(text); });
  measure_kernels(session, peers);
  return print_report(session);
}

int run(int argc, char** argv) {
  CLI::App app("Measures the products of a model's matrices beside those of other libraries.");
  BenchArgs args;
  add_model(app, &args.model);
  add_product_options(app, &args);
  add_team_options(app, &args, "1,2");
  add_counts(app, "--nodes", &args.engine.plan.nodes, 0, kMaxNodes,
             "Only the threads of these NUMA nodes; default: all");
  app.add_option("--cpus", args.engine.plan.cpus, "Only these CPUs, as in 0-7,16; default: all")
      ->type_name("LIST");
  app.add_flag("-v,--verbose", args.engine.verbose, "Tell who measures, where, and over how much");
  add_forms(app, &args);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return measure(args);
}

}  // namespace
}  // namespace hearth

int main(int argc, char** argv) {
  try {
    return hearth::run(argc, argv);
  } catch (const hearth::Error& error) {
    fmt::print(stderr, "kernel_peers: {}\n", error.what());
    return error.exit_status();
  } catch (const std::exception& error) {
    fmt::print(stderr, "kernel_peers: {}\n", error.what());
    return 1;
  }
}
