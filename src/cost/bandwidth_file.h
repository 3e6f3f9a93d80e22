// The JSON file in which a table of node bandwidths is kept beside a machine's description
// (docs/topo.md has its keys), which anybody may have written.
// Errors: a text that is no such table (kFile), naming what is wrong with it.
#pragma once

#include <string>

#include "base/json.h"
#include "cost/bandwidth.h"
#include "topology/machine.h"

namespace hearth {

// The object that the file holds, as a value in `json`.
void json_bandwidth(Json& json, const Machine& machine, const BandwidthTable& table);

// `text` is the file's, `name` stands in errors. Rows are as long as there are nodes, at most 4096;
// rates are 0 or positive, and finite.
BandwidthTable parse_bandwidth(const std::string& text, const std::string& name);

}  // namespace hearth
