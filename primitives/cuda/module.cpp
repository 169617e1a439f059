// The one symbol that libznni_cuda.so shows.
#include "primitives/core/modules.hpp"
#include "primitives/cuda/backend.hpp"

extern "C" [[gnu::visibility("default")]] const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.backend = [] { return &znni::cuda::backend(); }};
  return &module;
}
