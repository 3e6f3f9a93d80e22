// Formats the figures of a report.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/spread.h"
#include "bench/percentiles.h"

namespace hearth {

// Figures for tables that people read.
std::string giga_text(double value);            // 1.234e9: "1.23"
std::string percent_text(double part);          // 0.123: "12.3 %"
std::string rate_text(double rate);             // "123.4"
std::string duration_figure(double seconds);    // "12.3 ms", "1.23 s"
std::string count_text(uint64_t count);         // "596.05 M"
std::string cpu_text(const std::string& name);  // an empty name gives "unknown processor"

// Adds a key with an object in JSON: median, min, max, relative.
void add_spread(Json& json, const char* key, const Spread& spread);
// Adds an object with median, min, max, relative, p50, p90, p99 and the mean.
void add_percentiles(Json& json, const char* key, const Percentiles& percentiles);

}  // namespace hearth
