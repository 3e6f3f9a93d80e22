// The checks of `hearth doctor` beside those of the machine itself (topology/check_machine.h): how
// fast memory is read, disk, stores, stored tuning. The findings name no folder and no model unless
// `all`.
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

// `channels`: of memory that hold modules, where somebody tells.
Finding check_reading(const BandwidthTable& table, std::optional<uint32_t> channels);

// `free_bytes` of the disk that `folder` lies on, where models are kept; none: it cannot be told.
Finding check_disk(const std::string& folder, std::optional<uint64_t> free_bytes, bool all);
// Returns the free bytes on the disk of the folder, or of the nearest folder above it that exists.
std::optional<uint64_t> free_disk_bytes(const std::string& folder);

Finding check_stores(const std::vector<LocalModel>& models, bool all);

// `machine`: the fields of the one that this is.
Finding check_tuned(const std::vector<TunedStore::Entry>& entries, const TunedFields& machine,
                    bool all);

}  // namespace hearth
