// Grants the buffers of one layer, by name, out of memory that was reserved beforehand. An arena never
// allocates. A name that was not declared, a grant outside its stages, or a second grant is a bug and
// stops the program.
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

// Where one declared buffer of the layer lies.
struct Placement {
  Buffer buffer;              // as declared by the layer, in the layer's own stages
  std::byte* data = nullptr;  // buffer.bytes bytes, aligned to buffer_alignment
};

// Legal order of calls: begin() (grant | stage)*, then begin() again for the next run. Not thread safe:
// grants are taken by the thread that runs the layer, before it hands out work.
class Arena {
 public:
  // `poison`: fill every transient buffer of host or pinned memory with NaNs when it is granted, and when its last
  // stage has passed, so that tests see reads of memory never written or given back.
  explicit Arena(std::vector<Placement> placements, bool poison = false);

  // What fills instead, device memory too: on an accelerator, in the order of its stream.
  using Poison = std::function<void(std::span<std::byte> block, MemorySpace space)>;
  void poison_with(Poison poison) { poison_ = std::move(poison); }

  // Opens stage 0 and forgets earlier grants.
  void begin();
  // Opens the next stage; stages only go forward. Buffers whose last stage has passed are given back.
  void stage(int index);

  // The declared bytes of buffer `name`. Its first stage must be open (or it must be persistent).
  [[nodiscard]] std::span<std::byte> grant(std::string_view name);
  // The same as elements of T; the declared bytes must be a whole number of them.
  template <class T>
  [[nodiscard]] std::span<T> grant_as(std::string_view name) {
    const std::span<std::byte> bytes = grant(name);
    ensure(bytes.size() % sizeof(T) == 0, "granted bytes are not a whole number of elements");
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // Largest number of transient bytes of `space` alive together so far, "input" and "output" counted while their
  // stages are open. Contract: equals peak() of the declared plan after a complete run.
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
