// The table of node bandwidths for `hearth topo`: measured, as text, and written to a file
// (tune/bandwidth_file.h).
#pragma once

#include <string>

#include "base/atomic_file.h"
#include "cli/interrupts.h"
#include "topology/machine.h"
#include "tune/bandwidth.h"

namespace hearth {

// Measures with the kernels that run here, in so many passes; shows progress. An interrupt that
// `interrupts` tells of ends the process between two rates.
BandwidthTable measure_with_progress(const Machine& machine,
                                     uint32_t passes = BandwidthOptions{}.passes,
                                     const Interrupts* interrupts = nullptr);

std::string bandwidth_text(const BandwidthTable& table);
void write_bandwidth(AtomicFile& file, const Machine& machine, const BandwidthTable& table);

}  // namespace hearth
