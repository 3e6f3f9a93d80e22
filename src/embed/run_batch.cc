#include "embed/run_batch.h"

#include <fmt/format.h>

#include <exception>
#include <new>

namespace hearth {

BatchResult run_batch(EmbedDevice& device, const std::vector<const EmbedQuery*>& batch) {
  BatchResult result;
  try {
    result.vectors = device.run(batch);
    bool whole = result.vectors.size() == batch.size();
    for (const EmbedVector& vector : result.vectors)
      whole = whole && vector.size() == device.width();
    if (!whole) {
      result.error.emplace(
          ErrorCode::kResource,
          fmt::format("{} did not return one vector of the right length for each text",
                      device.name()));
    }
  } catch (const Error& error) {
    result.error = error;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    result.error.emplace(ErrorCode::kResource,
                         fmt::format("{} failed: {}", device.name(), error.what()));
  }
  return result;
}

}  // namespace hearth
