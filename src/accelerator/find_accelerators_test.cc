#include "accelerator/find_accelerators.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hearth {
namespace {

FoundAccelerator one(std::string name, AcceleratorKind kind, std::string refused = {}) {
  FoundAccelerator found;
  found.facts.name = std::move(name);
  found.facts.kind = kind;
  found.refused = std::move(refused);
  return found;
}

constexpr auto kDiscrete = AcceleratorKind::kDiscrete, kIntegrated = AcceleratorKind::kIntegrated,
               kSoftware = AcceleratorKind::kSoftware;

std::string chosen(const FoundAccelerators& found, std::string_view name) {
  try {
    return choose_accelerator(found, name).facts.name;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(FindAccelerators, PrefersTheFirstDiscreteOneWithoutAName) {
  FoundAccelerators found{{one("llvmpipe", kSoftware), one("Intel UHD", kIntegrated),
                           one("Old card", kDiscrete, "it lacks Vulkan 1.3"),
                           one("RTX 5090", kDiscrete), one("RTX 3090", kDiscrete)},
                          {}};
  EXPECT_EQ(chosen(found, ""), "RTX 5090");
  found.all.resize(3);
  EXPECT_EQ(chosen(found, ""), "Intel UHD");
  found.all.erase(found.all.begin() + 1);
  EXPECT_EQ(chosen(found, ""), "Old card cannot be used: it lacks Vulkan 1.3");
}

TEST(FindAccelerators, ChoosesSoftwareByNameOnly) {
  const FoundAccelerators found{{one("llvmpipe (LLVM 15)", kSoftware)}, {}};
  EXPECT_EQ(chosen(found, "LLVMpipe"), "llvmpipe (LLVM 15)");
  EXPECT_NE(chosen(found, "").find("to use it anyway, give its name: 'llvmpipe (LLVM 15)'"),
            std::string::npos);
}

TEST(FindAccelerators, RefusesAmbiguousNames) {
  const FoundAccelerators found{
      {one("RTX 5090", kDiscrete), one("RTX 5090", kDiscrete), one("RTX 3090", kDiscrete)}, {}};
  EXPECT_EQ(chosen(found, "5090"), "RTX 5090");
  EXPECT_EQ(chosen(found, "rtx"),
            "'rtx' matches both 'RTX 5090' and 'RTX 3090': give more of the name");
  EXPECT_EQ(chosen(found, "arc"),
            "no GPU of this machine has 'arc' in its name; its GPUs are 'RTX 5090', 'RTX 5090', "
            "'RTX 3090'");
}

TEST(FindAccelerators, PrefersAnExactName) {
  const FoundAccelerators found{
      {one("RX 6800 XT", kDiscrete), one("RX 6800", kDiscrete, "full"), one("RX 6800", kDiscrete)},
      {}};
  EXPECT_EQ(&choose_accelerator(found, "rx 6800"), &found.all[2]);
}

TEST(FindAccelerators, GivesTheReasonWhereThereAreNone) {
  EXPECT_EQ(chosen({{}, "there is no Vulkan loader"}, "any"), "there is no Vulkan loader");
}

}  // namespace
}  // namespace hearth
