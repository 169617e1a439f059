#include "primitives/cpu/device/processor.hpp"

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string_view>

namespace znni::cpu {
namespace {

namespace fs = std::filesystem;

// Returns the first processor's field of /proc/cpuinfo, or "".
std::string read_field(const fs::path& root, std::string_view field) {
  std::ifstream stream(root / "proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(field) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

// Returns the model. Arm's processors have numbers instead of a name: "implementer 0x41, part 0xd0c".
std::string read_model(const fs::path& root) {
  if (std::string name = read_field(root, "model name"); !name.empty()) return name;
  const std::string part = read_field(root, "CPU part");
  return part.empty() ? "unknown processor" : "implementer " + read_field(root, "CPU implementer") + ", part " + part;
}

std::optional<double> clock_of_system(const fs::path& root) {
  std::ifstream stream(root / "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");
  double kilohertz = 0;
  if (stream >> kilohertz && kilohertz > 0) return kilohertz * 1e3;
  return std::nullopt;
}

// Reads the clock at the end of a model such as "Intel(R) Xeon(R) CPU @ 2.60GHz".
std::optional<double> clock_of_model(const std::string& model) {
  const std::size_t at = model.find("@ ");
  if (at == std::string::npos || !model.ends_with("GHz")) return std::nullopt;
  const double gigahertz = std::strtod(model.c_str() + at + 2, nullptr);
  return gigahertz > 0 ? std::optional(gigahertz * 1e9) : std::nullopt;
}

}  // namespace

Processor read_processor(const fs::path& root) {
  Processor processor;
  processor.model = read_model(root);
  const VectorUnits units = read_vector_units(root);
  processor.simd_floats = units.floats;
  processor.flops_per_cycle = units.flops_per_cycle;
  processor.bf16_flops_per_cycle = units.bf16_flops_per_cycle;
  processor.hertz = clock_of_system(root).value_or(clock_of_model(processor.model).value_or(processor.hertz));
  return processor;
}

std::string simd_name(int simd_floats) { return simd_floats == 16 ? "avx512" : simd_floats == 8 ? "avx2" : "simd4"; }

}  // namespace znni::cpu
