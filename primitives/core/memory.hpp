// Memory plans. A MemoryPlan lists every buffer that a piece of work holds and the stages in which it is alive. peak()
// is the number of bytes alive in the largest stage; pack() decides where each buffer lies. The planner compares this
// list with the budget and the Arena grants from the same list, so a layer gets exactly what it declared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni {

enum class MemorySpace { host, pinned, device };

// Alive from the start of stage `first` to the end of stage `last` of one run (inclusive). A `persistent` buffer lives
// as long as the plan is loaded (weights, kept spectra).
struct Lifetime {
  int first = 0;
  int last = 0;
  bool persistent = false;

  [[nodiscard]] static constexpr Lifetime stages(int first, int last) { return {first, last, false}; }
  [[nodiscard]] static constexpr Lifetime plan() { return {0, 0, true}; }
  constexpr auto operator<=>(const Lifetime&) const = default;
};

struct Buffer {
  std::string name;  // "input transforms"; unique within its plan
  MemorySpace space = MemorySpace::host;
  std::int64_t bytes = 0;
  Lifetime lifetime;

  bool operator==(const Buffer&) const = default;
};
using MemoryPlan = std::vector<Buffer>;

// Returns the largest sum of transient bytes of `space` alive together in any stage; saturates.
[[nodiscard]] std::int64_t peak(const MemoryPlan& plan, MemorySpace space = MemorySpace::host);

// Returns the sum of persistent bytes in `space`; saturates.
[[nodiscard]] std::int64_t persistent_bytes(const MemoryPlan& plan, MemorySpace space = MemorySpace::host);

// Returns one more than the last stage that any buffer names.
[[nodiscard]] int stage_count(const MemoryPlan& plan);

// Alignment of every buffer's start, in bytes.
inline constexpr std::int64_t buffer_alignment = 64;

// Layout of the transient buffers of one space in one block of `bytes` bytes. offsets[i] belongs to buffer i of the
// plan; it is -1 if buffer i is persistent or in another space.
struct Packing {
  std::int64_t bytes = 0;
  std::vector<std::int64_t> offsets;
};

// Packs buffers so that those never alive together may overlap. The result is exactly peak() (of the sizes rounded up
// to buffer_alignment) for every chain of layers, and close to it otherwise. A bounded exact search first fills a block
// of peak() bytes from both ends. If it fails, a greedy search places buffers by size.
[[nodiscard]] Packing pack(const MemoryPlan& plan, MemorySpace space = MemorySpace::host);

// Returns the same plan with every transient lifetime moved `stages` later.
[[nodiscard]] MemoryPlan shifted(MemoryPlan plan, int stages);

// Returns "host", "pinned" or "device".
[[nodiscard]] std::string_view to_string(MemorySpace space);

}  // namespace znni
