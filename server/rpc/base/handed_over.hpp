// Makes visible that what is ours passes from thread to thread. gRPC hands over what it holds for us under locks of its
// own, which a tool that looks for races does not see.
#pragma once

#include <atomic>
#include <cstdint>

namespace znni::rpc {

// Everything before each `give` happens before everything after a later `take`, in any threads.
class HandedOver {
 public:
  void give() { given_.fetch_add(1, std::memory_order_acq_rel); }
  void take() const { static_cast<void>(given_.load(std::memory_order_acquire)); }

 private:
  std::atomic<std::uint32_t> given_ = 0;
};

}  // namespace znni::rpc
