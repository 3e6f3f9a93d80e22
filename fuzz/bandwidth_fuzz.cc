// Fuzzes bandwidth tables with hostile text. Only hearth::Error may be thrown. A table that is read
// has as many rates as the nodes need, each a valid rate.
#include <cmath>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/error.h"
#include "cost/bandwidth_file.h"

namespace hearth {
namespace {

bool is_rate(double rate) { return rate >= 0 && std::isfinite(rate); }

void check_table(const BandwidthTable& table) {
  HEARTH_CHECK(table.threads.size() == table.nodes.size(), "a node has its threads");
  HEARTH_CHECK(table.read.size() == table.nodes.size(), "a node has its row");
  for (const std::vector<double>& row : table.read) {
    HEARTH_CHECK(row.size() == table.nodes.size(), "a row is of all nodes");
    for (double rate : row) HEARTH_CHECK(is_rate(rate), "a rate is one");
  }
  HEARTH_CHECK(is_rate(table.core_read), "a rate is one");
  for (double rate : table.core_ops) HEARTH_CHECK(is_rate(rate), "a rate is one");
  if (!table.contention || table.contention->cores == 0) return;
  HEARTH_CHECK(is_rate(full_read(*table.contention)), "a rate is one");
  HEARTH_CHECK(is_rate(max_read(*table.contention)), "a rate is one");
}

void run(const std::string& text) {
  BandwidthTable table;
  try {
    table = parse_bandwidth(text, "table.json");
  } catch (const Error& error) {
    HEARTH_CHECK(error.code() == ErrorCode::kFile, "the file is at fault");
    return;
  }
  check_table(table);
}

}  // namespace
}  // namespace hearth

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  hearth::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
