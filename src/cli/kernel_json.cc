#include "cli/kernel_json.h"

#include "bench/kernel_figures.h"
#include "bench/statistics.h"

namespace hearth {
namespace {

void add_times(Json& json, const std::vector<double>& seconds) {
  json.key("seconds").array();
  for (double s : seconds) json.real(s);
  Spread spread = spread_of(seconds);
  json.end_array().key("median_seconds").real(spread.median).key("min_seconds").real(spread.least);
}

void add_peer(Json& json, const KernelResult& result, const PeerResult& peer) {
  json.object().key("library").text(peer.name);
  json.key("implementation").text(peer.implementation);
  add_times(json, peer.seconds);
  PeerShare share = share_of_peer(result, peer);
  json.key("share").real(share.median).key("best_share").real(share.best).end_object();
}

}  // namespace

void add_kernel(Json& json, const KernelResult& result, const LimitSample& best) {
  KernelFigures f = kernel_figures(result, best);
  json.object().key("type").text(result.shape.type.name);
  json.key("roles").text(result.shape.roles);
  json.key("rows").number(result.shape.rows).key("k").number(result.shape.k);
  json.key("measured_rows").number(result.rows).key("m").number(result.m);
  json.key("copies").number(result.copies).key("bytes").number(result.bytes);
  json.key("operations").real(result.operations());
  add_times(json, result.seconds);
  json.key("gb_per_second").real(f.bytes_per_second * 1e-9).key("read_share").real(f.read_share);
  json.key("gops").real(f.ops_per_second * 1e-9).key("unit").text(unit_name(result.unit));
  json.key("peak_share").real(f.peak_share);
  json.key("bound").text(f.bound_by_reading ? "reading" : "arithmetic");
  json.key("against").array();
  for (const PeerResult& peer : result.peers) {
    if (!peer.seconds.empty()) add_peer(json, result, peer);
  }
  json.end_array().end_object();
}

}  // namespace hearth
