// Back ends in shared libraries of their own (libznni_cuda.so), so that programs also start on machines that lack the
// libraries of such a back end. A module has one C entry point, `backend_entry_name`, which returns a BackendModule.
// The program checks the module's interface, compiler and source tree first. If one differs, it refuses the module with
// an explanation and uses nothing else of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "primitives/core/fnv.hpp"
#include "primitives/core/outside_fill.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// Must be raised when a type that crosses the module border changes its meaning without changing its size.
inline constexpr std::uint32_t module_abi = 4;

// Returns a hash of the sizes of the types that cross the module border. Modules of another source tree usually differ
// here even if module_abi was not raised.
[[nodiscard]] constexpr std::uint64_t module_layout() {
  std::uint64_t mixed = fnv_start;
  for (const std::uint64_t size :
       {sizeof(Backend), sizeof(Primitive), sizeof(Estimate), sizeof(Buffer), sizeof(LayerProblem),
        sizeof(LayerWeights), sizeof(DeviceSpec), sizeof(Device), sizeof(Reservation), sizeof(TensorView),
        sizeof(Arena), sizeof(Error), sizeof(OutsideFill)}) {
    mixed = fnv_mixed(mixed, size);
  }
  return mixed;
}

// A module's description of itself. The first three members never change their places.
struct BackendModule {
  std::uint32_t abi = module_abi;
  const char* compiler = __VERSION__;
  std::uint64_t layout = module_layout();
  const Backend* (*backend)() = nullptr;  // never null in a sound module; lives as long as the process
};

inline constexpr const char* backend_entry_name = "znni_backend_module";
using BackendEntry = const BackendModule* (*)();

// Loads the module in `file` and returns its back end. It stays loaded until the process ends, so the back end, its
// devices and its layers never outlive their code. Fails with not_found (no such file) or unsupported (missing
// libraries; another interface, compiler or tree; not a module). Each error names the file and a remedy.
[[nodiscard]] Result<const Backend*> open_module(const std::filesystem::path& file);

// Returns a module's file name: "libznni_cuda.so" for "cuda".
[[nodiscard]] std::string module_file(std::string_view backend);

// Returns the path of the module of `backend`, to be opened by open_module(). Searches `program_folder`, then
// ../lib/znni and ../lib from there; returns nothing if the module is in none of them.
[[nodiscard]] std::optional<std::filesystem::path> find_module(std::string_view backend,
                                                               const std::filesystem::path& program_folder);

// Returns the folder of the running program.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace znni
