#include "server/responses_reasoning.h"

#include <span>

#include "base/base64.h"
#include "base/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view kPrefix = "hearth1.";

}  // namespace

std::string carried_reasoning(std::string_view text) {
  return std::string(kPrefix) + base64_encode(std::as_bytes(std::span(text)));
}

std::optional<std::string> read_carried_reasoning(std::string_view carried) {
  if (!carried.starts_with(kPrefix)) return {};
  std::optional<std::string> text = base64_decode(carried.substr(kPrefix.size()));
  if (text && !is_well_formed(*text)) return {};
  return text;
}

}  // namespace hearth
