#include "base/error.h"

namespace hearth {

std::string Error::text_naming(std::string_view name) const {
  return std::string(name) + std::string(what()).substr(field_.size());
}

}  // namespace hearth
