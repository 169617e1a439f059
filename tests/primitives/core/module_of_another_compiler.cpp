// A module of another compiler, for modules_test.
#include "primitives/core/modules.hpp"

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.compiler = "another compiler 1.0"};
  return &module;
}
