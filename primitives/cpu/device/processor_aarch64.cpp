#include "primitives/cpu/device/processor.hpp"

namespace znni::cpu {

// Returns the units of NEON, which every such processor has. The larger ones start at least two multiply-adds a cycle;
// two are assumed.
VectorUnits read_vector_units(const std::filesystem::path&) { return {4, 16.0, 0.0}; }

}  // namespace znni::cpu
