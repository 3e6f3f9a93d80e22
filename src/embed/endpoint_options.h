// The settings of an endpoint of OpenAI's interface (embed/endpoint_device.h).
#pragma once

#include <string>

namespace hearth {

struct EndpointOptions {
  std::string base;            // "http://host:port/v1", without a slash at its end
  std::string model;           // empty: the first that the endpoint lists
  std::string key_variable;    // the environment variable with the key; empty: no key
  bool base64 = false;         // asks for vectors as base64; either form of reply is read
  double timeout = 30;         // seconds for one reply
  double connect_timeout = 5;  // seconds
};

}  // namespace hearth
