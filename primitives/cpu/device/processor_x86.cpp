#include <fstream>
#include <string>

#include "primitives/cpu/device/processor.hpp"

namespace znni::cpu {
namespace {

namespace fs = std::filesystem;

// Returns true for AMD family 25: Zen 4 executes AVX-512 in two halves.
bool halves_wide_vectors(const fs::path& root) {
  std::ifstream stream(root / "proc/cpuinfo");
  bool amd = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("vendor_id")) amd = line.ends_with("AuthenticAMD");
    if (line.starts_with("cpu family")) return amd && line.ends_with(": 25");
  }
  return false;
}

// Returns true if the processor has all extensions that code built for x86-64-v4 may use.
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0;
}

int read_simd_floats() {
  if (has_avx512()) return 16;
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 ? 8 : 4;
}

}  // namespace

VectorUnits read_vector_units(const fs::path& root) {
  const int floats = read_simd_floats();
  const bool halved = floats == 16 && halves_wide_vectors(root);
  return {floats, (halved ? 2.0 : 4.0) * floats};
}

}  // namespace znni::cpu
