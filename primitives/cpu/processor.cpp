#include "primitives/cpu/processor.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>

namespace znni::cpu {
namespace {

namespace fs = std::filesystem;

std::string read_model(const fs::path& root) {
  std::ifstream stream(root / "proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::optional<double> clock_of_system(const fs::path& root) {
  std::ifstream stream(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  double kilohertz = 0;
  if (stream >> kilohertz && kilohertz > 0) return kilohertz * 1e3;
  return std::nullopt;
}

// "Intel(R) Xeon(R) CPU @ 2.60GHz".
std::optional<double> clock_of_model(const std::string& model) {
  const std::size_t at = model.find("@ ");
  if (at == std::string::npos || !model.ends_with("GHz")) return std::nullopt;
  const double gigahertz = std::strtod(model.c_str() + at + 2, nullptr);
  return gigahertz > 0 ? std::optional(gigahertz * 1e9) : std::nullopt;
}

// Zen 4 does AVX-512 in two halves.
bool halves_wide_vectors(const fs::path& root) {
  std::ifstream stream(root / "proc/cpuinfo");
  bool amd = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("vendor_id")) amd = line.ends_with("AuthenticAMD");
    if (line.starts_with("cpu family")) return amd && line.ends_with(": 25");
  }
  return false;
}

// All that code built for x86-64-v4 may use.
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

Processor read_processor(const fs::path& root) {
  Processor processor;
  processor.model = read_model(root);
  processor.simd_floats = read_simd_floats();
  const bool halved = processor.simd_floats == 16 && halves_wide_vectors(root);
  processor.flops_per_cycle = (halved ? 2.0 : 4.0) * processor.simd_floats;
  processor.hertz = clock_of_system(root).value_or(clock_of_model(processor.model).value_or(processor.hertz));
  return processor;
}

std::string simd_name(int simd_floats) { return simd_floats == 16 ? "avx512" : simd_floats == 8 ? "avx2" : "simd4"; }

}  // namespace znni::cpu
