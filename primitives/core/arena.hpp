// Grants the buffers of one layer, by name, from memory reserved beforehand. An arena never allocates. Asking for an
// undeclared name, for a buffer outside its stages, or for the same buffer twice is a bug and stops the program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "primitives/core/memory.hpp"

namespace znni {

// Location of one declared buffer of the layer.
struct Placement {
  Buffer buffer;              // as declared by the layer, in the layer's own stages
  std::byte* data = nullptr;  // buffer.bytes bytes, aligned to buffer_alignment
};

// Legal order of calls: begin() (grant | stage)*, then begin() again for the next run. Not thread safe: the thread that
// runs the layer takes the grants before it hands out work.
class Arena {
 public:
  // Grants buffers at these placements. With `poison`, transient buffers in host or pinned memory are filled with NaNs
  // when granted and again after their last stage. Tests then see reads of memory that was never written or was already
  // given back.
  explicit Arena(std::vector<Placement> placements, bool poison = false);

  // Replaces the function that poisons a block; it may also fill device memory, in the order of the compute stream.
  using Poison = std::function<void(std::span<std::byte> block, MemorySpace space)>;
  void poison_with(Poison poison) { poison_ = std::move(poison); }

  // Opens stage 0 and resets all grants.
  void begin();
  // Opens stage `index`; stages only go forward. Buffers whose last stage has passed are given back.
  void stage(int index);

  // Grants buffer `name` and returns its declared bytes. Its first stage must be open, or it must be persistent.
  [[nodiscard]] std::span<std::byte> grant(std::string_view name);
  // Grants buffer `name` as elements of T; its declared bytes must be a whole number of them.
  template <class T>
  [[nodiscard]] std::span<T> grant_as(std::string_view name) {
    const std::span<std::byte> bytes = grant(name);
    ensure(bytes.size() % sizeof(T) == 0, "granted bytes are not a whole number of elements");
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // Returns the largest number of transient bytes of `space` alive together so far. "input N" and "output" count while
  // their stages are open. Contract: equals peak() of the declared plan after a complete run.
  [[nodiscard]] std::int64_t high_water(MemorySpace space = MemorySpace::host) const {
    return high_water_[static_cast<std::size_t>(space)];
  }

 private:
  struct Slot {
    Placement placement;
    bool granted = false;
  };
  void count_live();
  void poison(const Slot& slot) const;

  std::vector<Slot> slots_;
  Poison poison_;
  int stage_ = 0;
  std::array<std::int64_t, 3> high_water_ = {};  // by MemorySpace
};

}  // namespace znni
