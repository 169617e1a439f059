// The places of blocks within one allocation of fixed size: offsets only, no memory. First fit; free neighbours are
// joined. For few, large blocks (a model's arenas), so that a list suffices.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace znni::cuda {

class BlockList {
 public:
  // Blocks start at multiples of `alignment` and take whole multiples of it.
  BlockList(std::int64_t bytes, std::int64_t alignment);

  // Returns the offset of a block of `bytes` > 0 bytes; nothing if no gap is large enough.
  [[nodiscard]] std::optional<std::int64_t> take(std::int64_t bytes);
  // Gives back the block that take() put at `offset`.
  void give_back(std::int64_t offset);

  [[nodiscard]] std::int64_t taken() const { return taken_; }
  [[nodiscard]] std::int64_t largest_gap() const;

 private:
  std::int64_t bytes_;
  std::int64_t alignment_;
  std::int64_t taken_ = 0;
  std::map<std::int64_t, std::int64_t> blocks_;  // taken: offset, bytes
};

}  // namespace znni::cuda
