#include "primitives/core/modules.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

namespace znni {
namespace {

Error refusal(const std::filesystem::path& file, const std::string& reason) {
  return {ErrorCode::unsupported, file.string() + ": " + reason};
}

// Refuses a truncated file, because the loader would map it and then crash. The section table stands last, so its end
// shows whether the file is complete.
Result<void> check_whole(const std::filesystem::path& file, const std::filesystem::path& whole) {
  Elf64_Ehdr header{};
  std::ifstream in(whole, std::ios::binary);
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (!in || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return refusal(file, "is not a shared library of this machine");
  }
  std::error_code failed;
  const std::uint64_t bytes = std::filesystem::file_size(whole, failed);
  const std::uint64_t end = header.e_shoff + std::uint64_t{header.e_shnum} * header.e_shentsize;
  if (!failed && bytes >= end && header.e_shoff < end) return {};
  return refusal(file, "is cut off: it has " + std::to_string(bytes) + " bytes of at least " + std::to_string(end) +
                           "; copy or build it again");
}

Result<void> check_module(const std::filesystem::path& file, const BackendModule* module) {
  const std::string mend = "; build the programs and the module from one tree with one compiler";
  if (module == nullptr) return refusal(file, std::string(backend_entry_name) + "() gives nothing" + mend);
  if (module->abi != module_abi) {
    return refusal(file, "is a module of interface " + std::to_string(module->abi) + ", this program has interface " +
                             std::to_string(module_abi) + mend);
  }
  if (module->compiler == nullptr || std::string_view(module->compiler) != __VERSION__) {
    return refusal(file, "was compiled by '" + std::string(module->compiler == nullptr ? "?" : module->compiler) +
                             "', this program by '" + __VERSION__ + "'" + mend);
  }
  if (module->layout != module_layout()) return refusal(file, "was built from another tree than this program" + mend);
  if (module->backend == nullptr || module->backend() == nullptr) return refusal(file, "holds no back end" + mend);
  return {};
}

}  // namespace

Result<const Backend*> open_module(const std::filesystem::path& file) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::absolute(file, failed);  // dlopen() would search for a bare name
  if (failed || !std::filesystem::is_regular_file(whole, failed)) {
    return Error{ErrorCode::not_found,
                 file.string() + ": no such module; give the path of a file like " + module_file("cuda")};
  }
  if (Result<void> sound = check_whole(file, whole); !sound) return sound.error();
  void* const library = dlopen(whole.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return refusal(file, "cannot be loaded: " + std::string(reason == nullptr ? "no reason given" : reason) +
                             "; install what it needs, or name its folder in LD_LIBRARY_PATH");
  }
  void* const symbol = dlsym(library, backend_entry_name);
  if (symbol == nullptr) {
    dlclose(library);
    return refusal(file, "is not a module of a back end: it has no function " + std::string(backend_entry_name));
  }
  const BackendModule* const module = reinterpret_cast<BackendEntry>(symbol)();
  if (Result<void> sound = check_module(file, module); !sound) {
    dlclose(library);
    return sound.error();
  }
  return module->backend();
}

std::string module_file(std::string_view backend) { return "libznni_" + std::string(backend) + ".so"; }

std::optional<std::filesystem::path> find_module(std::string_view backend,
                                                 const std::filesystem::path& program_folder) {
  const std::array<std::filesystem::path, 3> folders = {program_folder, program_folder / ".." / "lib" / "znni",
                                                        program_folder / ".." / "lib"};
  for (const std::filesystem::path& folder : folders) {
    std::error_code failed;
    const std::filesystem::path file = folder / module_file(backend);
    if (std::filesystem::is_regular_file(file, failed)) return file.lexically_normal();
  }
  return std::nullopt;
}

std::filesystem::path program_folder() {
  std::error_code failed;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", failed);
  return failed ? std::filesystem::path(".") : program.parent_path();
}

}  // namespace znni
