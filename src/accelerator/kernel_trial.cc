#include "accelerator/kernel_trial.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/round_up.h"

namespace hearth {
namespace {

constexpr uint32_t kRowFloats = 2048, kHeadFloats = 128;
// How many query heads share a key head, as in the calls of a pass.
constexpr uint32_t kQueryHeads = 8;
// Lengths in released models with latents: the part of a position that RoPE rotates, and a head's
// values and its keys without that part. kLatentHeads is how many heads a call of a pass takes.
constexpr uint32_t kRopeLength = 64, kLatentHeadFloats = 128, kLatentHeads = 4;
constexpr uint32_t kLatentFloats = 512 + kRopeLength;

KvType kv_type_in(const std::string& contract) {
  for (size_t i = 0; i < kKvTypes; ++i) {
    const auto type = static_cast<KvType>(i);
    if (contract.ends_with(std::string(" ") + kv_type_name(type))) return type;
  }
  HEARTH_CHECK(false, "the contract names a type of keys and values");
  return KvType::kF32;
}

}  // namespace

std::vector<TrialKind> trial_kinds() {
  std::vector<TrialKind> kinds;
  for (const char* contract :
       {"rms norm", "layer norm", "moments of heads", "norm by moments", "quantize f32",
        "quantize bf16", "quantize q8", "add", "add of three", "silu", "gelu", "gelu tanh",
        "rope interleaved", "rope half"}) {
    kinds.push_back({contract, kRowFloats});
  }
  for (size_t i = 0; i < kKvTypes; ++i) {
    const char* type = kv_type_name(static_cast<KvType>(i));
    kinds.push_back({fmt::format("kv store {}", type), kHeadFloats});
    for (const uint32_t length : {64, 128}) {
      kinds.push_back({fmt::format("attend pages {}", type), length, true});
    }
    kinds.push_back({fmt::format("latent store {}", type), kLatentFloats});
    kinds.push_back({fmt::format("attend latents {}", type), kLatentFloats, true});
    kinds.push_back({fmt::format("expand latents {}", type), kLatentFloats});
  }
  return kinds;
}

KernelTrial::KernelTrial(Accelerator& accelerator, const TrialKind& kind, uint32_t rows)
    : accelerator_(accelerator), rows_(rows) {
  HEARTH_CHECK(rows > 0 && rows % kPagePositions == 0, "rows fill pages");
  call_ = make(kind);
  HEARTH_CHECK(contract_name(call_) == kind.contract, "it is of that contract");
}

Place KernelTrial::add(std::span<const std::byte> bytes) {
  const Buffer& buffer = buffers_.emplace_back(accelerator_.allocate(bytes.size()));
  accelerator_.write(buffer.at(), bytes);
  return buffer.at();
}

Place KernelTrial::floats(uint64_t count) {
  return add(std::as_bytes(std::span<const float>(std::vector<float>(count, 1.0F))));
}

Place KernelTrial::zeros(uint64_t bytes) { return add(std::vector<std::byte>(bytes)); }

KernelCall KernelTrial::norm(const std::string& contract, uint32_t n) {
  const uint32_t heads = n / kHeadFloats;
  if (contract == "moments of heads") {
    return HeadMomentsCall{.x = matrix(n),
                           .rows = rows_,
                           .heads = heads,
                           .length = kHeadFloats,
                           .out = matrix(uint64_t{2} * heads)};
  }
  if (contract == "norm by moments") {
    return NormByCall{.x = matrix(n),
                      .moments = matrix(uint64_t{2} * heads),
                      .weight = floats(n),
                      .rows = rows_,
                      .n = n,
                      .heads = heads,
                      .length = kHeadFloats,
                      .eps = 1e-5F,
                      .out = matrix(n)};
  }
  const auto kind = contract == "rms norm" ? NormCallKind::kRms : NormCallKind::kLayer;
  return NormCall{.kind = kind,
                  .x = matrix(n),
                  .weight = floats(n),
                  .rows = rows_,
                  .n = n,
                  .eps = 1e-5F,
                  .out = matrix(n)};
}

KernelCall KernelTrial::gate(const std::string& contract, uint32_t n) {
  const auto kind = contract == "silu"   ? GateKind::kSilu
                    : contract == "gelu" ? GateKind::kGelu
                                         : GateKind::kGeluTanh;
  return GateCall{
      .kind = kind, .x = matrix(n), .up = matrix(n), .rows = rows_, .n = n, .out = matrix(n)};
}

KernelCall KernelTrial::rope(const std::string& contract, uint32_t n) {
  const auto layout = contract == "rope half" ? RopeLayout::kHalf : RopeLayout::kInterleaved;
  const uint64_t angles = uint64_t{rows_} * kHeadFloats / 2;
  return RopeCall{.x = matrix(n),
                  .rows = rows_,
                  .heads = n / kHeadFloats,
                  .head_stride = kHeadFloats,
                  .cos = floats(angles),
                  .sin = floats(angles),
                  .n_rot = kHeadFloats,
                  .layout = layout};
}

KernelCall KernelTrial::quantize(const std::string& contract, uint32_t n) {
  const auto format = contract == "quantize f32"    ? ActFormat::kF32
                      : contract == "quantize bf16" ? ActFormat::kBF16
                                                    : ActFormat::kQ8;
  return QuantizeCall{matrix(n), rows_, n,
                      ActRows{zeros(act_bytes(format, rows_, n)), format, rows_, n}};
}

Place KernelTrial::slots() {
  std::vector<uint32_t> slots(rows_);
  std::iota(slots.begin(), slots.end(), 0);
  return add(std::as_bytes(std::span<const uint32_t>(slots)));
}

Place KernelTrial::rows_seen() {
  std::vector<PagedRow> rows;
  for (uint32_t i = 0; i < rows_; ++i) rows.push_back({0, 0, i, 0});
  return add(std::as_bytes(std::span<const PagedRow>(rows)));
}

KernelCall KernelTrial::paged(const TrialKind& kind) {
  KvPages pages{.count = rows_ / kPagePositions,
                .type = kv_type_in(kind.contract),
                .heads = 1,
                .key_length = kind.length,
                .value_length = kind.length};
  pages.stride = round_up<uint64_t>(pages.head_bytes(), 64);
  pages.at = zeros(pages.count * pages.stride);
  if (!kind.attends) {
    return KvStoreCall{.k = matrix(kind.length),
                       .v = matrix(kind.length),
                       .slots = slots(),
                       .rows = rows_,
                       .pages = pages};
  }
  return PagedAttendCall{.q = matrix(uint64_t{kQueryHeads} * kind.length),
                         .rows_of = rows_seen(),
                         .rows = rows_,
                         .positions = rows_,
                         .seen = uint64_t{rows_} * (rows_ + 1) / 2,
                         .heads = kQueryHeads,
                         .group = kQueryHeads,
                         .scale = 1 / std::sqrt(static_cast<float>(kind.length)),
                         .pages = pages,
                         .out = matrix(uint64_t{kQueryHeads} * kind.length)};
}

KernelCall KernelTrial::latent(const TrialKind& kind) {
  const uint32_t length = kind.length, latent = length - kRopeLength;
  LatentPages pages{.count = rows_ / kPagePositions,
                    .type = kv_type_in(kind.contract),
                    .copies = 1,
                    .length = length};
  pages.stride = round_up<uint64_t>(pages.copy_bytes(), 64);
  pages.at = zeros(pages.count * pages.stride);
  if (kind.contract.starts_with("latent store")) {
    return LatentStoreCall{.x = matrix(length), .slots = slots(), .rows = rows_, .pages = pages};
  }
  if (kind.attends) {
    return LatentAttendCall{.q = matrix(uint64_t{kLatentHeads} * latent),
                            .q_rope = matrix(uint64_t{kLatentHeads} * kRopeLength),
                            .q_head = latent,
                            .rope_head = kRopeLength,
                            .rows_of = rows_seen(),
                            .rows = rows_,
                            .positions = rows_,
                            .seen = uint64_t{rows_} * (rows_ + 1) / 2,
                            .heads = kLatentHeads,
                            .kv_lora_rank = latent,
                            .scale = 1 / std::sqrt(static_cast<float>(kRopeLength)),
                            .pages = pages,
                            .out = matrix(uint64_t{kLatentHeads} * latent)};
  }
  KvPages to{.count = pages.count,
             .type = KvType::kF32,
             .heads = kLatentHeads,
             .key_length = kLatentHeadFloats + kRopeLength,
             .value_length = kLatentHeadFloats};
  to.stride = to.heads * to.head_bytes();
  to.at = zeros(to.count * to.stride);
  const uint64_t keys = uint64_t{to.heads} * latent, values = uint64_t{to.heads} * to.value_length;
  return LatentExpandCall{.from = pages,
                          .positions = rows_,
                          .kv_lora_rank = latent,
                          .key = {floats(keys * kLatentHeadFloats), kLatentHeadFloats},
                          .value = {floats(values * latent), latent},
                          .to = to};
}

KernelCall KernelTrial::make(const TrialKind& kind) {
  const std::string& contract = kind.contract;
  const uint32_t n = kind.length;
  const auto begins = [&](const char* text) { return contract.starts_with(text); };
  if (begins("kv store") || begins("attend pages")) return paged(kind);
  if (contract.find("latent") != std::string::npos) return latent(kind);
  if (begins("quantize")) return quantize(contract, n);
  if (begins("rope")) return rope(contract, n);
  if (begins("add")) {
    AddCall call{.a = matrix(n), .b = matrix(n), .rows = rows_, .n = n, .out = matrix(n)};
    if (contract == "add of three") call.c = matrix(n);
    return call;
  }
  if (begins("silu") || begins("gelu")) return gate(contract, n);
  return norm(contract, n);
}

CommandList KernelTrial::list(uint32_t commands) const {
  return {std::vector<Command>(commands, {.work = call_})};
}

}  // namespace hearth
