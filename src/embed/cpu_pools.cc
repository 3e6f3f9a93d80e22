#include "embed/cpu_pools.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>

#include "base/clock.h"
#include "base/error.h"
#include "embed/latency_line.h"

namespace hearth {
namespace {

std::vector<EngineOptions> split_engines(const Machine& machine, const PoolsOptions& options,
                                         PoolSplit split) {
  std::vector<EngineOptions> engines;
  const std::vector<PoolPlace> places = place_pools(machine, options.where, split);
  // `hearth tune` measures the whole machine, so only a single pool that may sit anywhere can use
  // its results.
  const bool whole = places.size() == 1 && sits_anywhere(options.where);
  for (const PoolPlace& place : places) {
    EngineOptions& engine = engines.emplace_back(options.engine);
    if (whole && engine.tuned == TunedUse::kWhereOpen) engine.tuned = TunedUse::kWhole;
    engine.threads = place.threads;
    engine.nodes = place.nodes;
    engine.pus = place.pus;
  }
  return engines;
}

std::vector<std::unique_ptr<CpuPool>> make_pools(const std::vector<EngineOptions>& engines,
                                                 const PoolsOptions& options,
                                                 const MakeEngine& make) {
  std::vector<std::unique_ptr<CpuPool>> pools;
  for (const EngineOptions& engine : engines) {
    std::string name =
        engines.size() > 1 ? fmt::format("{}{}", options.name, pools.size()) : options.name;
    pools.push_back(std::make_unique<CpuPool>(
        std::move(name), [&] { return make(engine); }, options.embed));
  }
  return pools;
}

std::vector<EmbedQuery> probe_queries(const CpuPool& pool) {
  size_t length = std::min<size_t>(kProbeTokens, pool.context());
  size_t count = std::max<size_t>(1, pool.batch_tokens() / length);
  uint32_t vocabulary = pool.engine().spec().hyper.vocabulary;
  std::vector<EmbedQuery> queries(count);
  uint32_t token = 0;
  for (EmbedQuery& query : queries) {
    for (size_t i = 0; i < length; ++i) {
      // The tokens come in an order in which neighbours differ.
      token = (token + 7919) % vocabulary;
      query.tokens.push_back(static_cast<int32_t>(token));
    }
  }
  return queries;
}

}  // namespace

double measure_pools(const std::vector<std::unique_ptr<CpuPool>>& pools) {
  constexpr int kRepetitions = 3;
  // One batch warms the pool up before further batches are timed.
  auto run = [&](CpuPool& pool) {
    std::vector<EmbedQuery> queries = probe_queries(pool);
    std::vector<const EmbedQuery*> batch;
    for (const EmbedQuery& query : queries) batch.push_back(&query);
    pool.run(batch);
    double start = steady_seconds();
    for (int i = 0; i < kRepetitions; ++i) pool.run(batch);
    double tokens = static_cast<double>(queries.size() * queries[0].tokens.size()) * kRepetitions;
    return tokens / (steady_seconds() - start);
  };
  std::vector<std::future<double>> rates;
  for (const auto& pool : pools) {
    rates.push_back(std::async(std::launch::async, [&run, &pool] { return run(*pool); }));
  }
  double sum = 0;
  for (std::future<double>& rate : rates) sum += rate.get();
  return sum;
}

std::vector<EngineOptions> pool_engines(const Machine& machine, const PoolsOptions& options) {
  if (options.split) return split_engines(machine, options, *options.split);
  std::vector<EngineOptions> engines = split_engines(machine, options, PoolSplit::kNodes);
  if (engines.size() > 1) return engines;
  return split_engines(machine, options, PoolSplit::kOne);
}

CpuPools make_cpu_pools(const Machine& machine, const PoolsOptions& options,
                        const MakeEngine& make) {
  const std::vector<EngineOptions> engines = pool_engines(machine, options);
  const bool measured = !options.split && engines.size() > 1;
  CpuPools made;
  made.split = options.split.value_or(measured ? PoolSplit::kNodes : PoolSplit::kOne);
  made.pools = make_pools(engines, options, make);
  if (!measured) return made;
  std::vector<std::unique_ptr<CpuPool>> one;
  try {
    one = make_pools(split_engines(machine, options, PoolSplit::kOne), options, make);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kResource) throw;
    return made;
  }
  made.nodes_rate = measure_pools(made.pools);
  made.one_rate = measure_pools(one);
  if (made.one_rate > made.nodes_rate) {
    made.pools = std::move(one);
    made.split = PoolSplit::kOne;
  }
  return made;
}

}  // namespace hearth
