// Boost.Asio is headers alone; this file is where its code is compiled.
#include <boost/asio/impl/src.hpp>
