// Machines for `hearth topo` and `hearth tune`: found by name, printed as a tree, or written as
// keys of a JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "topology/machine.h"

namespace hearth {

// Returns the machine that --machine names: hwloc's XML file, or "synthetic DESCRIPTION".
Machine named_machine(const std::string& name);

// Returns ascending numbers as "0-3,8,10-11"; "none" for none.
std::string ranges_text(const std::vector<uint32_t>& numbers);
void json_numbers(Json& json, const char* key, const std::vector<uint32_t>& numbers);

// Returns text about packages, nodes, caches and cores, distances and limits; for this machine also
// the level of its kernels.
std::string machine_text(const Machine& machine);
// Writes the machine as keys of the object that `json` is writing.
void json_machine(Json& json, const Machine& machine);

}  // namespace hearth
