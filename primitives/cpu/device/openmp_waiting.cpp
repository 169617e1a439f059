#include "primitives/cpu/device/openmp_waiting.hpp"

#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace znni::cpu {

void let_openmp_sleep(char* const* arguments) {
  for (const char* said : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (std::getenv(said) != nullptr) return;
  }
  // The loader itself was started, with the program as its argument: started anew it would take ours for a program.
  if (getauxval(AT_BASE) == 0) return;
  std::error_code error;
  // By its own name, which is how others find it, rather than as "exe".
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  execv(program.c_str(), arguments);  // comes back only where it fails
}

}  // namespace znni::cpu
