// Boost.JSON is headers alone; this file is where its code is compiled.
#include <boost/json/src.hpp>
