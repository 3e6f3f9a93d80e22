// Reads replies of an endpoint of OpenAI's interface, which are not trusted. Vectors come as arrays
// of numbers or as base64 of little-endian floats (`encoding_format`), and are normalised here:
// double sums, in order.
//
// Errors (kResource): one sentence without the endpoint's name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "embed/device.h"

namespace hearth {

// Returns the vectors of `count` texts in the texts' order, whatever order they come in, each of
// `width` elements (0: any width, the same for all). Refuses other counts and widths, elements that
// are not finite, and zero vectors.
std::vector<EmbedVector> read_embeddings(std::string_view json, size_t count, uint32_t width);

// Returns the first model of a reply to GET /models.
std::string read_first_model(std::string_view json);

// Returns the message in the body of a refusal, in printable ASCII and cut if it is long; empty if
// there is none.
std::string refusal_text(std::string_view body);

}  // namespace hearth
