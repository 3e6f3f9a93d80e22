// Metadata read by who only tells of them: those of an architecture that nobody knows may be of any
// type.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "formats/metadata.h"

namespace hearth {

// A value of another type than expected counts as missing.
template <typename T>
std::optional<T> lenient(const Metadata& metadata, std::string_view key) {
  try {
    return metadata.get<T>(key);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace hearth
