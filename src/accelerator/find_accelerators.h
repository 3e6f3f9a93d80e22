// The accelerators of this machine, whatever drives them, and which one a name means.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "accelerator/accelerator.h"

namespace hearth {

struct FoundAccelerator {
  AcceleratorFacts facts;
  std::string refused;  // why it cannot be used, and the remedy; empty: it can
  std::function<std::unique_ptr<Accelerator>()> open;
};

struct FoundAccelerators {
  std::vector<FoundAccelerator> all;
  std::string why_none;  // where there are none at all: what is missing, and the remedy
};

// Loads the drivers, which may take a second, and asks them.
FoundAccelerators find_accelerators();

// The accelerator that a user means: whose name is `name`, else holds it, in letters of any case;
// of equals the first that can be used. Without a name the first discrete one that can be used,
// else the first that is no software: software answers to its name alone. Throws Error: kUsage
// where no name fits or several different ones do, kUnsupported where it cannot be used or there is
// none.
const FoundAccelerator& choose_accelerator(const FoundAccelerators& found, std::string_view name);

const char* accelerator_kind_name(AcceleratorKind kind);  // "discrete", "integrated", "software"

}  // namespace hearth
