// A correct module, for modules_test: a back end without devices or primitives.
#include "primitives/core/modules.hpp"

namespace znni {
namespace {

std::vector<DeviceSpec> probe() { return {}; }

Result<std::unique_ptr<Device>> open(const DeviceSpec& spec, std::int64_t, std::int64_t, std::int64_t) {
  return Error{ErrorCode::not_found, "no device '" + spec.name + "'"};
}

const Backend* sample() {
  static const Backend backend{"sample", &probe, &open, {}};
  return &backend;
}

}  // namespace
}  // namespace znni

extern "C" const znni::BackendModule* znni_backend_module() {
  static const znni::BackendModule module{.backend = &znni::sample};
  return &module;
}
