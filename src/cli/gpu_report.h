// Accelerators as text for people: what they are and how fast.
#pragma once

#include <string>

#include "accelerator/accelerator.h"
#include "accelerator/accelerator_rates.h"

namespace hearth {

// `refused`: why it cannot be used, or nothing.
std::string facts_text(const AcceleratorFacts& facts, const std::string& refused);

std::string rates_text(const AcceleratorRates& rates);

}  // namespace hearth
