// The JSON file in which an accelerator is kept as data, its facts and its rates (docs/gpu.md has
// the keys), which anybody may have written.
// Errors: a text that is no such file (kFile), naming the field that is wrong.
#pragma once

#include <string>

#include "accelerator/accelerator.h"
#include "accelerator/accelerator_rates.h"
#include "base/json.h"

namespace hearth {

struct MeasuredAccelerator {
  AcceleratorFacts facts;
  AcceleratorRates rates;
};

// The facts as keys of the object that is open in `json`.
void json_facts(Json& json, const AcceleratorFacts& facts);

// The object that the file holds, as a value in `json`.
void json_accelerator(Json& json, const MeasuredAccelerator& accelerator);

// `text` is the file's, `name` stands in errors. What no accelerator has is refused: no queue that
// computes, rates of nothing, kinds of weights that there are not.
MeasuredAccelerator parse_accelerator(const std::string& text, const std::string& name);

}  // namespace hearth
