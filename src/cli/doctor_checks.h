// Checks of `hearth doctor` beyond those of the machine (topology/check_machine.h): memory
// bandwidth, disk, stores, stored tuning. Findings name no folder and no model unless `all`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/bandwidth.h"
#include "cost/tuned_store.h"
#include "store/local_models.h"
#include "topology/check_machine.h"

namespace hearth {

// Checks the measured bandwidth. `channels`: the number of memory channels with modules, if known.
Finding check_reading(const BandwidthTable& table, std::optional<uint32_t> channels);

// Checks how much space is free on the disk that holds `folder`, where models are kept; none:
// unknown.
Finding check_disk(const std::string& folder, std::optional<uint64_t> free_bytes, bool all);
// Returns the free bytes on the disk of the folder, or of the nearest folder above it that exists.
std::optional<uint64_t> free_disk_bytes(const std::string& folder);

Finding check_stores(const std::vector<LocalModel>& models, bool all);

// Checks stored tuning results; `machine` has the fields by which this machine's results are found.
Finding check_tuned(const std::vector<TunedStore::Entry>& entries, const TunedFields& machine,
                    bool all);

}  // namespace hearth
