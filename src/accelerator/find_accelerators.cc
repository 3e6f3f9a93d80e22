#include "accelerator/find_accelerators.h"

#include <fmt/format.h>

#include <algorithm>

#include "accelerator/vulkan/find.h"
#include "base/ascii.h"
#include "base/enum_name.h"
#include "base/error.h"
#include "base/printable.h"

namespace hearth {
namespace {

std::string names_of(const std::vector<FoundAccelerator>& all) {
  std::vector<std::string> names;
  for (const FoundAccelerator& one : all) names.push_back("'" + one.facts.name + "'");
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_software(const FoundAccelerator& one) {
  return one.facts.kind == AcceleratorKind::kSoftware;
}

const FoundAccelerator& by_default(const FoundAccelerators& found) {
  const FoundAccelerator* best = nullptr;
  auto rank = [](const FoundAccelerator& one) {
    return std::pair(one.refused.empty(), one.facts.kind == AcceleratorKind::kDiscrete);
  };
  for (const FoundAccelerator& one : found.all) {
    if (!is_software(one) && (best == nullptr || rank(one) > rank(*best))) best = &one;
  }
  if (best == nullptr) {
    fail(ErrorCode::kUnsupported,
         "this machine has no GPU, only a software driver: to use it anyway, give its name: {}",
         names_of(found.all));
  }
  return *best;
}

const FoundAccelerator& by_name(const FoundAccelerators& found, std::string_view name) {
  const FoundAccelerator* chosen = nullptr;
  const auto same = [&](const FoundAccelerator& one) {
    return ascii_lower(one.facts.name) == ascii_lower(name);
  };
  const bool whole = std::ranges::any_of(found.all, same);
  for (const FoundAccelerator& one : found.all) {
    if (whole ? !same(one)
              : ascii_lower(one.facts.name).find(ascii_lower(name)) == std::string::npos)
      continue;
    if (chosen != nullptr && chosen->facts.name != one.facts.name) {
      fail(ErrorCode::kUsage, "'{}' matches both '{}' and '{}': give more of the name",
           printable(name), chosen->facts.name, one.facts.name);
    }
    if (chosen == nullptr || (!chosen->refused.empty() && one.refused.empty())) chosen = &one;
  }
  if (chosen == nullptr) {
    fail(ErrorCode::kUsage, "no GPU of this machine has '{}' in its name; its GPUs are {}",
         printable(name), names_of(found.all));
  }
  return *chosen;
}

}  // namespace

FoundAccelerators find_accelerators() {
  FoundAccelerators found;
  size_t index = 0;
  for (VulkanFound& one : find_vulkan(&found.why_none)) {
    found.all.push_back(
        {std::move(one.facts), std::move(one.refused), [at = index] { return open_vulkan(at); }});
    ++index;
  }
  return found;
}

const FoundAccelerator& choose_accelerator(const FoundAccelerators& found, std::string_view name) {
  if (found.all.empty()) fail(ErrorCode::kUnsupported, "{}", found.why_none);
  const FoundAccelerator& chosen = name.empty() ? by_default(found) : by_name(found, name);
  if (!chosen.refused.empty()) {
    fail(ErrorCode::kUnsupported, "{} cannot be used: {}", chosen.facts.name, chosen.refused);
  }
  return chosen;
}

const char* accelerator_kind_name(AcceleratorKind kind) {
  return enum_name<AcceleratorKind::kOther>({"discrete", "integrated", "software", "other"}, kind);
}

}  // namespace hearth
