#include "planner/base/memory_limit.hpp"

#include "planner/base/sizes.hpp"
#include "primitives/core/shape.hpp"

namespace znni {
namespace {

MemoryLimit limit_within(const char* name, std::int64_t bytes, const MachineMemory& machine) {
  if (machine.most == 0 || bytes <= machine.most) return {bytes, ""};
  return {machine.preset, std::string(name) + " is " + bytes_text(bytes) + ", but this process may use " +
                              bytes_text(machine.most) + " at most: " + bytes_text(machine.preset) + " is used"};
}

}  // namespace

Result<MemoryLimit> choose_memory_limit(std::optional<std::int64_t> asked, const char* environment,
                                        const MachineMemory& machine) {
  if (asked) return limit_within("--mem", *asked, machine);
  if (environment == nullptr || *environment == '\0') return MemoryLimit{machine.preset, ""};
  const Result<std::int64_t> bytes = parse_bytes(environment);
  if (!bytes) return bytes.error().within("ZNNI_MEM");
  return limit_within("ZNNI_MEM", *bytes, machine);
}

}  // namespace znni
