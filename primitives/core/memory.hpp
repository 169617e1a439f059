// Memory, declared. A MemoryPlan lists every buffer a piece of work holds and when; peak() is the bytes
// alive at the worst moment, pack() says where each buffer will lie. The same list is compared with the
// budget by the planner and granted by the Arena: declared is granted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni {

enum class MemorySpace { host, pinned, device };

// Alive from the start of stage `first` to the end of stage `last` of one run (inclusive); a buffer that is
// `persistent` lives as long as the plan is loaded (weights, kept spectra).
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

// Largest sum of transient bytes alive together in any stage of `space`; saturates.
[[nodiscard]] std::int64_t peak(const MemoryPlan& plan, MemorySpace space = MemorySpace::host);

// Sum of persistent bytes in `space`; saturates.
[[nodiscard]] std::int64_t persistent_bytes(const MemoryPlan& plan, MemorySpace space = MemorySpace::host);

// One past the last stage any buffer names.
[[nodiscard]] int stage_count(const MemoryPlan& plan);

// Every buffer starts at a multiple of this many bytes.
inline constexpr std::int64_t buffer_alignment = 64;

// Where the transient buffers of one space lie in one block of `bytes` bytes. offsets[i] belongs to buffer i
// of the plan; -1 where buffer i is persistent or of another space.
struct Packing {
  std::int64_t bytes = 0;
  std::vector<std::int64_t> offsets;
};

// Packs buffers that are never alive together over each other. The result is exactly peak() (of the sizes
// rounded up to buffer_alignment) for every chain of layers, and close to it for the rest: first an exact
// bounded search that fills a block of peak() bytes from both ends, then greedy by size.
[[nodiscard]] Packing pack(const MemoryPlan& plan, MemorySpace space = MemorySpace::host);

// The same plan with every transient lifetime moved `stages` later.
[[nodiscard]] MemoryPlan shifted(MemoryPlan plan, int stages);

// "host", "pinned", "device".
[[nodiscard]] std::string_view to_string(MemorySpace space);

}  // namespace znni
