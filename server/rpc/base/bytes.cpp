#include "server/rpc/base/bytes.hpp"

#include <malloc.h>

#include <new>
#include <string>

#include "primitives/core/shape.hpp"

namespace znni::rpc {
namespace {

// More than any process can address.
constexpr std::int64_t unheard_of = std::int64_t{1} << 47;
constexpr std::int64_t much = std::int64_t{2} << 20;

}  // namespace

Result<Bytes> Bytes::allocate(std::int64_t bytes) {
  const Error refused{ErrorCode::over_budget, "the system has no block of " + bytes_text(bytes) + " for this request"};
  if (bytes >= unheard_of) return refused;
  Bytes block;
  try {
    block.data_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
  } catch (const std::bad_alloc&) {
    return refused;
  }
  block.size_ = bytes;
  return block;
}

void trim_heap_after(std::int64_t bytes) {
  if (bytes >= much) malloc_trim(0);
}

}  // namespace znni::rpc
