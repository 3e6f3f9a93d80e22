// Descriptions of accelerators as text for people.
#pragma once

#include <string>

#include "accelerator/accelerator.h"
#include "accelerator/accelerator_rates.h"

namespace hearth {

// Returns the facts about an accelerator. `refused`: why it cannot be used, or "".
std::string facts_text(const AcceleratorFacts& facts, const std::string& refused);

std::string rates_text(const AcceleratorRates& rates);

}  // namespace hearth
