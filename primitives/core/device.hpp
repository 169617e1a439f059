// Devices: a machine's capabilities (DeviceSpec, a value that the planner compares) and its only allocator (Device). A
// budget is the user's limit, not the size of the hardware.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "primitives/core/accelerator_spec.hpp"
#include "primitives/core/executor.hpp"
#include "primitives/core/memory.hpp"

namespace znni {

enum class DeviceKind { cpu, gpu };

// The planner's figures of a device. Rates are those of the whole device with `threads` threads.
struct DeviceSpec {
  std::string name;  // "AMD EPYC, 2 threads, avx512": part of the machine's fingerprint
  DeviceKind kind = DeviceKind::cpu;
  int threads = 1;
  int simd_floats = 8;              // float32 lanes of a vector register: 16, 8 or 4
  double flops_per_second = 1e11;   // float32 fused multiply-adds count two
  double bytes_per_second = 1e10;   // main memory
  std::int64_t l2_bytes = 1 << 20;  // per core
  std::int64_t l3_bytes = 1 << 25;
  double hertz = 3.6e9;         // of one core
  int sockets = 1;              // sockets with equal numbers of threads and memory of their own: Device::socket()
  bool is_socket = false;       // a single socket of several
  AcceleratorSpec accelerator;  // of a GPU; of a CPU the rate of bf16 alone

  bool operator==(const DeviceSpec&) const = default;
};

// Returns the spec of one socket of a device with several sockets; the plans for each socket use it.
[[nodiscard]] inline DeviceSpec of_one_socket(DeviceSpec spec) {
  if (spec.sockets == 1) return spec;
  spec.name += ", one of " + std::to_string(spec.sockets) + " sockets";
  spec.threads /= spec.sockets;
  spec.flops_per_second /= spec.sockets;
  spec.bytes_per_second /= spec.sockets;
  spec.accelerator.bf16_flops_per_second /= spec.sockets;
  spec.sockets = 1;
  spec.is_socket = true;
  return spec;
}

class Accelerator;  // primitives/core/accelerator.hpp
class Device;

// A block of memory from a device's budget; its destructor gives it back. Must not outlive its device.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Device& device, MemorySpace space, std::span<std::byte> block)
      : device_(&device), space_(space), block_(block) {}
  Reservation(Reservation&& other) noexcept { swap(other); }
  Reservation& operator=(Reservation&& other) noexcept {
    Reservation(std::move(other)).swap(*this);  // gives back the block held so far at once
    return *this;
  }
  ~Reservation();

  [[nodiscard]] std::byte* data() const { return block_.data(); }
  [[nodiscard]] std::int64_t bytes() const { return static_cast<std::int64_t>(block_.size()); }

 private:
  void swap(Reservation& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(space_, other.space_);
    std::swap(block_, other.block_);
  }
  Device* device_ = nullptr;
  MemorySpace space_ = MemorySpace::host;
  std::span<std::byte> block_;
};

class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceSpec& spec() const = 0;
  // Returns the host threads that serve the device: a CPU's workers, or the threads that stage copies for a GPU.
  [[nodiscard]] virtual Executor& executor() = 0;
  // Returns this device as an accelerator if it is a GPU, else nullptr.
  [[nodiscard]] virtual Accelerator* accelerator() { return nullptr; }
  // Returns the socket with this number, below spec().sockets, as a device of its own. It has that socket's threads and
  // memory, and its reservations count against the whole device's budget. A device with one socket returns itself.
  [[nodiscard]] virtual Device& socket(int /*number*/) { return *this; }
  // Returns an executor with one thread for each socket, bound near its cores; threads that such a thread starts
  // inherit the binding. It runs all sockets at once.
  [[nodiscard]] virtual Executor& drivers() { return executor(); }

  // Reserves `bytes` bytes aligned to at least buffer_alignment, zeroed except in device memory. Fails with over_budget
  // if the budget of `space` does not suffice; the error names `purpose` and both numbers. Zero bytes is a legal, empty
  // reservation.
  [[nodiscard]] virtual Result<Reservation> reserve(MemorySpace space, std::int64_t bytes,
                                                    std::string_view purpose) = 0;
  [[nodiscard]] virtual std::int64_t budget(MemorySpace space) const = 0;
  [[nodiscard]] virtual std::int64_t reserved(MemorySpace space) const = 0;

 private:
  friend class Reservation;
  virtual void give_back(MemorySpace space, std::span<std::byte> block) = 0;
};

inline Reservation::~Reservation() {
  if (device_ != nullptr && !block_.empty()) device_->give_back(space_, block_);
}

}  // namespace znni
