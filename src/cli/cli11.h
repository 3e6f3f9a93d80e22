// Forward declarations of CLI11's classes for headers. A source that uses them includes
// <CLI/CLI.hpp> itself, which adds seconds to compilation wherever it is included.
#pragma once

namespace CLI {
class App;
class Option;
}  // namespace CLI
