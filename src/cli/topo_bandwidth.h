// Measures the table of nodes' memory bandwidths for `hearth topo`, prints it, and writes it to a
// file (cost/bandwidth_file.h).
#pragma once

#include <functional>
#include <string>

#include "base/atomic_file.h"
#include "cli/interrupts.h"
#include "cost/bandwidth.h"
#include "topology/machine.h"

namespace hearth {

// Returns a function that shows the progress of measuring (BandwidthOptions::report). A Ctrl-C
// noted in `interrupts` ends the process between two measurements.
std::function<void(uint32_t done, uint32_t total)> bandwidth_progress(
    const Interrupts* interrupts = nullptr);
// Measures with this processor's kernels, and shows progress.
BandwidthTable measure_with_progress(const Machine& machine, BandwidthOptions options = {});

std::string bandwidth_text(const BandwidthTable& table);
void write_bandwidth(AtomicFile& file, const Machine& machine, const BandwidthTable& table);

}  // namespace hearth
