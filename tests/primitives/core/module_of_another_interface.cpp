// A module of an interface to come, for modules_test. Its back end must never be asked for.
#include <cstdlib>

#include "primitives/core/modules.hpp"

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.abi = znni::module_abi + 1, .backend = [] {
                                            std::abort();
                                            return static_cast<const znni::Backend*>(nullptr);
                                          }};
  return &module;
}
