// Compiles Boost.Asio's code once; the other files only include its declarations.
#include <boost/asio/impl/src.hpp>
