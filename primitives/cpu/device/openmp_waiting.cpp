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
  // The dynamic loader was started with this program as its argument; after a restart it would take the program's own
  // argument for a program.
  if (getauxval(AT_BASE) == 0) return;
  std::error_code error;
  // Restarts under the program's own name, by which other tools find it, not as "exe".
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || setenv("OMP_WAIT_POLICY", "passive", 1) != 0) return;
  execv(program.c_str(), arguments);  // returns only if it fails
}

}  // namespace znni::cpu
