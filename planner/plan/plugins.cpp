#include "planner/plan/plugins.hpp"

#include <algorithm>
#include <string>

#include "planner/plan/gpu_budget.hpp"
#include "primitives/core/modules.hpp"

namespace znni {
namespace {

Result<void> add_module(const std::filesystem::path& file, Plugins& plugins) {
  const Result<const Backend*> backend = open_module(file);
  if (!backend) return backend.error();
  plugins.backends.push_back(*backend);
  if (plugins.gpu != nullptr) return {};
  for (const DeviceSpec& spec : (*backend)->probe()) {
    if (spec.kind != DeviceKind::gpu) continue;
    plugins.gpu = *backend;
    plugins.gpu_spec = spec;
    break;
  }
  return {};
}

// Returns what plans take of the GPU where --gpu-mem is not given.
Result<std::int64_t> usual_budget(const Plugins& plugins) {
  const std::int64_t whole = plugins.gpu_spec.accelerator.memory_bytes;
  if (plugins.gpu->memory == nullptr) return default_gpu_budget(whole, std::nullopt);
  const Result<GpuMemory> memory = plugins.gpu->memory(plugins.gpu_spec);
  if (!memory) return memory.error();
  const std::int64_t budget = default_gpu_budget(whole, *memory);
  if (budget > 0) return budget;
  return Error{ErrorCode::over_budget, bytes_text(memory->free) + " of the memory of '" + plugins.gpu_spec.name +
                                           "' are free, and libraries take " + bytes_text(memory->libraries) +
                                           ": nothing is left for plans"};
}

}  // namespace

Result<Plugins> open_plugins(std::span<const std::filesystem::path> files, bool with_cuda) {
  Plugins plugins;
  const std::string cuda = module_file("cuda");
  bool has_cuda = false;
  for (const std::filesystem::path& file : files) {
    has_cuda = has_cuda || file.filename() == cuda;
    if (Result<void> added = add_module(file, plugins); !added) return added.error();
  }
  if (!with_cuda || has_cuda || plugins.gpu != nullptr) return plugins;
  const std::optional<std::filesystem::path> found = find_module("cuda", program_folder());
  if (!found) return plugins;
  if (Result<void> added = add_module(*found, plugins); !added) return added.error();
  return plugins;
}

Result<GpuOffer> offer_gpu(const Plugins& plugins, std::optional<std::int64_t> device_bytes,
                           std::int64_t pinned_bytes) {
  if (plugins.gpu == nullptr) {
    return Error{
        ErrorCode::unsupported,
        plugins.backends.empty()
            ? "no back end for GPUs: " + module_file("cuda") + " is not beside the program; name it by --plugin"
            : "the back ends that were opened find no GPU, or no driver for it, on this machine"};
  }
  const std::int64_t whole = plugins.gpu_spec.accelerator.memory_bytes;
  const Result<std::int64_t> wanted = device_bytes ? Result<std::int64_t>(*device_bytes) : usual_budget(plugins);
  if (!wanted) return wanted.error();
  if (*wanted <= whole) return GpuOffer{plugins.gpu_spec, *wanted, pinned_bytes};
  return Error{ErrorCode::over_budget, bytes_text(*wanted) + " of the GPU's memory are asked for; '" +
                                           plugins.gpu_spec.name + "' has " + bytes_text(whole)};
}

}  // namespace znni
