// Boost.Beast is headers alone; this file is where its code is compiled.
#include <boost/beast/src.hpp>
