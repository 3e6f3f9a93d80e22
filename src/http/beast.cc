// Compiles Boost.Beast's code once; the other files only include its declarations.
#include <boost/beast/src.hpp>
