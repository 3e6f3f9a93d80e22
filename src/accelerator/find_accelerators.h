// Finds the accelerators of this machine by all drivers, and chooses one by name.
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
  std::string why_none;  // if there are none: what is missing, and the remedy
};

// Loads the drivers, which may take a second, and asks them for their accelerators.
FoundAccelerators find_accelerators();

// Returns the accelerator that a user means by `name`: the one with that name, or else one whose
// name contains it, in letters of any case. Of several with one name, it is the first that can be
// used. Without a name it is the first discrete one that can be used, or else the first usable one
// that is not software. Software must be chosen by its name. Throws Error: kUsage where no name
// fits or several different names do, kUnsupported where the accelerator cannot be used or there is
// none.
const FoundAccelerator& choose_accelerator(const FoundAccelerators& found, std::string_view name);

const char* accelerator_kind_name(AcceleratorKind kind);  // "discrete", "integrated", "software"

}  // namespace hearth
