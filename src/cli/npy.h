// The header of NumPy's .npy files, format version 1.0:
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

// Returns the header of a float32 array [rows, columns] in C order, little endian, which precedes
// the values. Its size is a multiple of 64.
std::string npy_header(uint64_t rows, uint64_t columns);

}  // namespace hearth
