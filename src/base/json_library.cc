// Boost.JSON is header-only; this file compiles its code.
#include <boost/json/src.hpp>
