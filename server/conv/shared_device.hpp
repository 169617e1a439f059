// The threads that compute for all convolutions of one process: one set for each number of threads.
#pragma once

#include <sys/types.h>

#include <memory>
#include <mutex>

#include "primitives/core/device.hpp"

namespace znni {

// A device whose runs take turns.
struct SharedDevice {
  std::unique_ptr<Device> device;
  std::mutex turn;  // to be held while the device computes
  pid_t process = 0;
};

// Returns the device with this number of threads, at least 1. Those that ask for the same number, while it is in use,
// get the same. Its threads are not pinned, because others compute in the process, too. It reserves no memory. After a
// fork the child gets a device of its own, since threads are not copied. Any thread may call it.
[[nodiscard]] std::shared_ptr<SharedDevice> shared_device(int threads);

}  // namespace znni
