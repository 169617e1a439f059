// Back ends that live in shared libraries of their own (libznni_cuda.so), so that programs start on machines without
// the libraries that such a back end needs. A module has one C entry point, `backend_entry_name`, which gives a
// BackendModule; a module of another interface, compiler or tree is refused in words before anything else of it is
// used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "primitives/core/fnv.hpp"
#include "primitives/core/primitive.hpp"

namespace znni {

// Raised when a type that crosses the border changes its meaning without changing its size.
inline constexpr std::uint32_t module_abi = 2;

// Mixes the sizes of the types that cross the border: modules of another tree differ here even where nobody has raised
// module_abi.
[[nodiscard]] constexpr std::uint64_t module_layout() {
  std::uint64_t mixed = fnv_start;
  for (const std::uint64_t size : {sizeof(Backend), sizeof(Primitive), sizeof(Estimate), sizeof(Buffer),
                                   sizeof(LayerProblem), sizeof(LayerWeights), sizeof(DeviceSpec), sizeof(Device),
                                   sizeof(Reservation), sizeof(TensorView), sizeof(Arena), sizeof(Error)}) {
    mixed = fnv_mixed(mixed, size);
  }
  return mixed;
}

// What a module tells of itself. The first three members never change their places.
struct BackendModule {
  std::uint32_t abi = module_abi;
  const char* compiler = __VERSION__;
  std::uint64_t layout = module_layout();
  const Backend* (*backend)() = nullptr;  // never null in a sound module; lives as long as the process
};

inline constexpr const char* backend_entry_name = "znni_backend_module";
using BackendEntry = const BackendModule* (*)();

// The back end of the module in `file`. It stays loaded until the process ends, so the back end, its devices and its
// layers never outlive their code. Errors: not_found (no such file), unsupported (libraries that it needs are missing,
// another interface, compiler or tree, no module at all), each with the file and what would mend it.
[[nodiscard]] Result<const Backend*> open_module(const std::filesystem::path& file);

// "libznni_cuda.so" for "cuda".
[[nodiscard]] std::string module_file(std::string_view backend);

// Where the module of `backend` lies for the program in `program_folder`: beside it, in ../lib/znni, in ../lib; nothing
// when it is in none of them. open_module() then opens it.
[[nodiscard]] std::optional<std::filesystem::path> find_module(std::string_view backend,
                                                               const std::filesystem::path& program_folder);

// The folder of the running program.
[[nodiscard]] std::filesystem::path program_folder();

}  // namespace znni
