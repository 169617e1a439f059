// A module whose types have other sizes, for modules_test.
#include "primitives/core/modules.hpp"

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.layout = znni::module_layout() + 1};
  return &module;
}
