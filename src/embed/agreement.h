// Checks that devices embed alike, since vectors of different models must not be mixed. Each embeds
// eight texts; a device whose vectors have a cosine below 0.999 with the first device's is in
// trouble.
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

// Returns the trouble of each device, or "". A device is in trouble if it fails or gives elements
// that are not finite. It also is if its vectors have another width than those of the first device
// without such trouble, or a cosine below 0.999 with these. `query` makes a query of a text;
// queries need tokens if a pool is among the devices.
std::vector<std::string> check_agreement(
    const std::vector<EmbedDevice*>& devices,
    const std::function<EmbedQuery(std::string_view text)>& query);

}  // namespace hearth
