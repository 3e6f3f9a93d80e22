// The table of node bandwidths for `hearth topo`: measured, as text, and as a JSON file that is
// kept beside a machine's description (docs/topo.md has its keys).
// Errors: a file that is missing or not such a table (kFile), naming what is wrong with it.
#pragma once

#include <string>

#include "cli/text_io.h"
#include "text/json.h"
#include "topology/machine.h"
#include "tune/bandwidth.h"

namespace hearth {

// Measures with the kernels that run here; shows progress.
BandwidthTable measure_with_progress(const Machine& machine);

std::string bandwidth_text(const BandwidthTable& table);
// The object that the file holds, as a value in `json`.
void json_bandwidth(Json& json, const Machine& machine, const BandwidthTable& table);

void write_bandwidth(AtomicFile& file, const Machine& machine, const BandwidthTable& table);
// `text` is the file's, `name` stands in errors.
BandwidthTable parse_bandwidth(const std::string& text, const std::string& name);

}  // namespace hearth
