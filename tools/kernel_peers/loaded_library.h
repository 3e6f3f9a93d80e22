// A shared library loaded by name at run time, if it is installed. It is never unloaded: a library
// that started threads cannot be.
#pragma once

#include <dlfcn.h>

#include <string>

namespace hearth {

class LoadedLibrary {
 public:
  explicit LoadedLibrary(const char* file) : handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) error_ = dlerror();
  }

  // Sets `function` to the function of that name, from the library or from those that it loads.
  template <typename Fn>
  void find(const char* name, Fn** function) {
    void* found = handle_ == nullptr ? nullptr : dlsym(handle_, name);
    if (found == nullptr && error_.empty()) error_ = std::string("it has no ") + name;
    *function = reinterpret_cast<Fn*>(found);
  }

  // Returns why loading failed; empty as long as everything was found.
  const std::string& error() const { return error_; }

 private:
  void* handle_;
  std::string error_;
};

}  // namespace hearth
