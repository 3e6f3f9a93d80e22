// CLI11's classes for headers that only name them. A source that calls them includes
// <CLI/CLI.hpp> itself, which costs the compiler seconds wherever it is included.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
