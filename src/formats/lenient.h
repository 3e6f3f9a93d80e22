// Reads metadata for display only: keys of an unknown architecture may have values of any type.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "formats/metadata.h"

namespace hearth {

// Returns the value, none if it is missing or of another type.
template <typename T>
std::optional<T> lenient(const Metadata& metadata, std::string_view key) {
  try {
    return metadata.get<T>(key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace hearth
