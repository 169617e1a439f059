// A module of a later interface, for modules_test. The program must never ask for its back end.
#include <cstdlib>

#include "primitives/core/modules.hpp"

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.abi = znni::module_abi + 1, .backend = [] {
                                            std::abort();
                                            return static_cast<const znni::Backend*>(nullptr);
                                          }};
  return &module;
}
