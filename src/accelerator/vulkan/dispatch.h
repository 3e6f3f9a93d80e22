// Turns a call into dispatches: a shader with its numbers. The build compiles shaders/*.comp into a
// table of modules (vulkan/shader_modules.h). Each shader has a module for each of the two kinds of
// arithmetic (shaders/exact.glsl).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "accelerator/kernel_calls.h"

namespace hearth {

struct Dispatch {
  std::string_view shader;               // the name in shaders/*.comp: "norm"
  std::vector<uint32_t> constants = {};  // specialisation constants 0, 1, ...
  std::array<std::byte, 128> push = {};  // push constants; every Vulkan has room for 128 bytes
  uint32_t push_bytes = 0;
  std::array<uint32_t, 3> groups = {1, 1, 1};

  template <typename Push>
  void set_push(const Push& values) {
    static_assert(sizeof(Push) <= 128 && std::is_trivially_copyable_v<Push>);
    std::memcpy(push.data(), &values, sizeof(Push));
    push_bytes = sizeof(Push);
  }
};

// Limits that every Vulkan has: the workgroups in a direction, and the greatest index, which SPIR-V
// reads as signed.
inline constexpr uint64_t kMaxGroups = 65535;
inline constexpr uint64_t kMaxIndex = INT32_MAX;

// Returns the address of a place in the accelerator's memory; 0 for an empty place.
using AddressOf = std::function<uint64_t(const Place&)>;

// Returns the dispatches that compute the call; they may run at the same time. Each takes at most
// 50 ms on a slow card, since drivers end dispatches that take seconds. One exception: a dispatch
// of an expert that nearly all rows choose takes up to eight times that. Throws Error
// (kUnsupported) for a call without a shader.
std::vector<Dispatch> dispatches_of(const KernelCall& call, const AddressOf& address);

// The overloads of dispatches_of() for each call; related ones share a file.
std::vector<Dispatch> dispatches_of(const NormCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const HeadMomentsCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const NormByCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const TableCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const QuantizeCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const GemmCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const AddCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const GateCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const RopeCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const AttendCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const KvStoreCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const PagedAttendCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const LatentStoreCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const LatentAttendCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const LatentExpandCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const RouteCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const GroupCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const ExpertGemmCall& call, const AddressOf& address);
std::vector<Dispatch> dispatches_of(const ExpertAddCall& call, const AddressOf& address);

// Returns `stride`, which is the bytes from page to page, as the 32-bit number that shaders use.
// Throws Error (kUnsupported) where it needs more bits.
uint32_t checked_page_bytes(uint64_t stride);

}  // namespace hearth
