// The memory of a simulated GPU: one block with a hard limit, full of NaNs wherever nothing has been written. The host
// cannot reach it except while work of the simulation runs.
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

  // The lowest gap that is large enough, filled with NaNs; nothing when there is none.
  [[nodiscard]] std::optional<std::span<std::byte>> take(std::int64_t bytes);
  void give_back(std::span<std::byte> block);

  [[nodiscard]] std::int64_t taken() const { return taken_; }
  // Whether [data, data + bytes) lies in one block that was taken.
  [[nodiscard]] bool holds(const std::byte* data, std::int64_t bytes) const;

  // Lets the memory be read and written while one of these lives. Closing it costs the system calls of a page table,
  // and code that reaches into a GPU does so again and again: of many accesses only every sixteenth closes it behind
  // itself.
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
  std::int64_t accesses_ = 0;                    // that have ended
  std::map<std::int64_t, std::int64_t> blocks_;  // offset: bytes, of what was taken
};

}  // namespace znni::test
