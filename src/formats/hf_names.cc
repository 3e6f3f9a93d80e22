#include "formats/hf_names.h"

#include <fmt/format.h>

#include <charconv>

namespace hearth {
namespace {

constexpr std::string_view kNumber = "{}";

bool take_prefix(std::string_view* name, std::string_view prefix) {
  if (!name->starts_with(prefix)) return false;
  name->remove_prefix(prefix.size());
  return true;
}

void take_prefix_of(std::string_view* name, const HfTexts& prefixes) {
  for (std::string_view prefix : prefixes) {
    if (take_prefix(name, prefix)) return;
  }
}

// Takes a number without leading zeros and the dot behind it off the front of `name`, and returns
// the number.
std::optional<uint32_t> take_number(std::string_view* name) {
  uint32_t number = 0;
  auto [end, error] = std::from_chars(name->data(), name->data() + name->size(), number);
  const auto digits = static_cast<size_t>(end - name->data());
  if (error != std::errc() || digits == name->size() || *end != '.') return std::nullopt;
  if (digits > 1 && name->front() == '0') return std::nullopt;
  name->remove_prefix(digits + 1);
  return number;
}

const HfLeftOut* left_out_as(std::string_view name, const HfFamily& family) {
  for (const HfLeftOut& left_out : family.left_out) {
    for (std::string_view begin : left_out.names) {
      if (begin.ends_with('.') ? name.starts_with(begin) : name == begin) return &left_out;
    }
  }
  return nullptr;
}

// Takes ".weight" or ".bias" off a name, or TensorFlow's ".gamma" or ".beta" for them, and returns
// ".weight" or ".bias"; empty if the name ends otherwise.
std::string_view take_ending(std::string_view* name) {
  constexpr std::pair<std::string_view, std::string_view> kEndings[] = {
      {".weight", ".weight"}, {".bias", ".bias"}, {".gamma", ".weight"}, {".beta", ".bias"}};
  for (const auto& [ending, same] : kEndings) {
    if (!name->ends_with(ending)) continue;
    name->remove_suffix(ending.size());
    return same;
  }
  return {};
}

bool whole_name(HfKind kind) {
  return kind == HfKind::kWhole || kind == HfKind::kIgnored || kind == HfKind::kExpertStack ||
         kind == HfKind::kExpertPairs || kind == HfKind::kExpertMatrices ||
         kind == HfKind::kDeltaVector || kind == HfKind::kDeltaDecay;
}
bool without_bias(HfKind kind) {
  return kind == HfKind::kExpert || kind == HfKind::kLatentPair || whole_name(kind);
}

// Looks up a name in a family's rows.
class Lookup {
 public:
  Lookup(std::string_view name, HfName* out) : name_(name), out_(out) {}

  // Returns whether the row has the name `rest`, which is the end of the name that is looked up.
  bool take(const HfTensor& row, std::string_view rest) const {
    const std::string_view whole = rest;
    const std::string_view ending = whole_name(row.kind) ? "" : take_ending(&rest);
    if (!whole_name(row.kind) && ending.empty()) return false;
    if (ending == ".bias" && without_bias(row.kind)) return false;
    if (row.kind == HfKind::kExpert ? !is_expert(row, rest, whole) : rest != row.from) return false;
    out_->row = &row;
    const std::string layer = out_->layer ? fmt::format("blk.{}.", *out_->layer) : "";
    out_->gguf = fmt::format("{}{}{}", layer, row.to, ending);
    return true;
  }

 private:
  bool is_expert(const HfTensor& row, std::string_view rest, std::string_view whole) const {
    const size_t at = row.from.find(kNumber);
    if (!take_prefix(&rest, row.from.substr(0, at))) return false;
    const std::optional<uint32_t> expert = take_number(&rest);
    if (!expert || rest != row.from.substr(at + kNumber.size() + 1)) return false;
    out_->expert = *expert;
    out_->expert_at = name_.size() - whole.size() + at;
    return true;
  }

  std::string_view name_;
  HfName* out_;
};

}  // namespace

HfName parse_hf_name(std::string_view name, const HfFamily& family) {
  HfName out;
  std::string_view rest = name;
  take_prefix_of(&rest, family.prefixes);
  out.left_out = left_out_as(rest, family);
  if (out.left_out != nullptr) return out;
  std::string_view in_layer = rest;
  take_prefix_of(&in_layer, family.layer_prefixes);
  if (in_layer.size() != rest.size()) {
    out.layer = take_number(&in_layer);
    if (!out.layer) return out;
  }
  const Lookup lookup(name, &out);
  for (std::span<const HfTensor> rows : family.tensors) {
    for (const HfTensor& row : rows) {
      if ((row.scope == HfScope::kLayer) != out.layer.has_value()) continue;
      if (lookup.take(row, out.layer ? in_layer : row.scope == HfScope::kTop ? name : rest)) {
        return out;
      }
    }
  }
  return out;
}

std::string hf_name_of(const HfTensor& row, const HfFamily& family, uint32_t layer,
                       uint32_t expert) {
  std::string from(row.from);
  if (row.kind == HfKind::kExpert) {
    from.replace(from.find(kNumber), kNumber.size(), std::to_string(expert));
  }
  if (!whole_name(row.kind)) from += ".weight";
  if (row.scope == HfScope::kTop) return from;
  const std::string_view prefix = family.prefixes.front();
  if (row.scope == HfScope::kModel) return fmt::format("{}{}", prefix, from);
  return fmt::format("{}{}{}.{}", prefix, family.layer_prefixes.front(), layer, from);
}

}  // namespace hearth
