// The JSON file that describes an accelerator: its facts and its rates (docs/gpu.md has the keys).
// The file is untrusted input. Errors: kFile for a text that is no such file; the message names the
// field that is wrong.
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

// Writes the facts as keys of the object that is open in `json`.
void json_facts(Json& json, const AcceleratorFacts& facts);

// Writes the file's object as a value in `json`.
void json_accelerator(Json& json, const MeasuredAccelerator& accelerator);

// Parses the file's text; `name` is the file's name in errors. Refuses values that no accelerator
// can have: no queue that computes, rates of 0, or unknown kinds of weights.
MeasuredAccelerator parse_accelerator(const std::string& text, const std::string& name);

}  // namespace hearth
