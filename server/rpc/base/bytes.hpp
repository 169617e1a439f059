// Memory of a request: leased from the transport budget first, then allocated here. Not zeroed: pages that
// are never written cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "primitives/core/result.hpp"

namespace znni::rpc {

class Bytes {
 public:
  Bytes() = default;
  // Allocates a block. Fails with over_budget if the system has no such block.
  [[nodiscard]] static Result<Bytes> allocate(std::int64_t bytes);

  [[nodiscard]] std::byte* data() const { return data_.get(); }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> span() const { return {data_.get(), static_cast<std::size_t>(size_)}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::int64_t size_ = 0;
};

// Gives freed pages back to the system after `bytes` bytes were freed, if that is much. The allocator would keep them,
// which users take for a leak and budgets do not know.
void trim_heap_after(std::int64_t bytes);

}  // namespace znni::rpc
