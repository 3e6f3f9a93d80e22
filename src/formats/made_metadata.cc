#include "formats/made_metadata.h"

#include <utility>

namespace hearth {

void MadeMetadata::set(std::string key, std::string_view value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(value.data());
  entries_.push_back(
      {std::move(key), MetaType::kString, MetaType::kString, 1, {bytes, bytes + value.size()}});
}

Metadata MadeMetadata::metadata(std::string file) const {
  std::vector<MetaEntry> entries;
  for (const Entry& entry : entries_) {
    entries.push_back({entry.key, {entry.type, entry.element_type, entry.count, entry.bytes}});
  }
  return {std::move(file), std::move(entries)};
}

}  // namespace hearth
