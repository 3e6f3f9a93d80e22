// The table of node bandwidths for `hearth topo`: measured, as text, and written to a file
// (cost/bandwidth_file.h).
#pragma once

#include <functional>
#include <string>

#include "base/atomic_file.h"
#include "cli/interrupts.h"
#include "cost/bandwidth.h"
#include "topology/machine.h"

namespace hearth {

// Shows how far measuring has come (BandwidthOptions::report). An interrupt that `interrupts` tells
// of ends the process between two rates.
std::function<void(uint32_t done, uint32_t total)> bandwidth_progress(
    const Interrupts* interrupts = nullptr);
// Measures with the kernels that run here, and shows it.
BandwidthTable measure_with_progress(const Machine& machine, BandwidthOptions options = {});

std::string bandwidth_text(const BandwidthTable& table);
void write_bandwidth(AtomicFile& file, const Machine& machine, const BandwidthTable& table);

}  // namespace hearth
