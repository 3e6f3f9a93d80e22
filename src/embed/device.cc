#include "embed/device.h"

#include <algorithm>

namespace hearth {

uint64_t query_tokens(const EmbedQuery& query) {
  if (!query.tokens.empty()) return query.tokens.size();
  return std::max<uint64_t>(1, query.text.size() / 4 + 2);
}

std::string_view device_kind_name(DeviceKind kind) {
  return kind == DeviceKind::kAccelerator ? "accelerator" : "cpu";
}

}  // namespace hearth
