// The memory of a simulated GPU: one block with a hard limit, filled with NaNs except where work has written. The host
// can access it only while work of the simulation runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

namespace znni::test {

class SimMemory {
 public:
  explicit SimMemory(std::int64_t bytes);
  ~SimMemory();
  SimMemory(const SimMemory&) = delete;
  SimMemory& operator=(const SimMemory&) = delete;

  // Takes the lowest gap that is large enough and fills it with NaNs; returns nothing if there is none.
  [[nodiscard]] std::optional<std::span<std::byte>> take(std::int64_t bytes);
  void give_back(std::span<std::byte> block);

  [[nodiscard]] std::int64_t taken() const { return taken_; }
  // Returns whether [data, data + bytes) lies in one taken block.
  [[nodiscard]] bool holds(const std::byte* data, std::int64_t bytes) const;

  // Makes the memory readable and writable during its lifetime. Closing the memory costs system calls on its page
  // table, and GPU code opens it often. After many accesses only every sixteenth closes the memory at its end.
  class Access {
   public:
    explicit Access(SimMemory& memory);
    ~Access();
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    SimMemory& memory_;
  };

 private:
  void protect(bool open);
  void poison(std::span<std::byte> block);

  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
  std::int64_t taken_ = 0;
  int open_ = 0;
  bool is_closed_ = true;
  std::int64_t accesses_ = 0;                    // number of ended accesses
  std::map<std::int64_t, std::int64_t> blocks_;  // taken blocks by offset, with their bytes
};

}  // namespace znni::test
