// Whether devices embed alike: vectors of one model may come from either, those of two models must
// not be mixed. Eight texts go to each; a device whose vectors are not within a cosine of 0.999 of
// the first device's is in trouble.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "embed/device.h"

namespace hearth {

inline constexpr double kAgreement = 0.999;
const std::array<std::string_view, 8>& agreement_texts();

// Returns the cosine; 0 where one vector is zero or the widths differ.
double cosine(const EmbedVector& a, const EmbedVector& b);

// The trouble of each device, empty where it has none: it fails, gives what is no number, has
// another width or other vectors than the first one that has no trouble by itself. `query` makes
// queries with tokens where a pool is among the devices.
std::vector<std::string> check_agreement(
    const std::vector<EmbedDevice*>& devices,
    const std::function<EmbedQuery(std::string_view text)>& query);

}  // namespace hearth
