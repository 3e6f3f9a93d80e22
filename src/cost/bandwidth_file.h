// The JSON file that keeps a table of node bandwidths, with a description of the machine.
// docs/topo.md has its keys. The file is untrusted input. Errors (kFile): a text that is no such
// table; the message says what is wrong.
#pragma once

#include <string>

#include "base/json.h"
#include "cost/bandwidth.h"
#include "topology/machine.h"

namespace hearth {

// Writes the object that the file holds, as a value in `json`.
void json_bandwidth(Json& json, const Machine& machine, const BandwidthTable& table);

// Reads the file's `text`; `name` stands in errors. Rows must be as long as there are nodes, at
// most 4096. Rates must be finite, and 0 or positive.
BandwidthTable parse_bandwidth(const std::string& text, const std::string& name);

}  // namespace hearth
