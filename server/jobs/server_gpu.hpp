// The GPU of a server that may have none: opened when the first plan wants it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan.hpp"
#include "primitives/core/accelerator.hpp"
#include "server/models/log_sink.hpp"

namespace znni {

// The GPU that plans may use, and how it is opened, with all that is offered.
struct ServerGpu {
  GpuOffer offer;
  std::function<Result<std::unique_ptr<Device>>(const GpuOffer& offer)> open;
  std::function<std::vector<std::string>()> notes = {};  // Backend::notes; may be empty
};

// Warns of what its back end had to assume since the last call.
void tell_notes(const ServerGpu& gpu, const LogSink& log);

class OpenGpu {
 public:
  // Opens `gpu` unless that is done; tried anew with every call until it is there, for models that come later may find
  // what the first did not. It must be the caller's turn on the devices.
  void open(const ServerGpu& gpu, const LogSink& log);
  // nullptr while there is none; then, once open() was called, why.
  [[nodiscard]] Accelerator* accelerator() const { return device_ ? device_->accelerator() : nullptr; }
  [[nodiscard]] const std::string& lacking() const { return lacking_; }
  // What plans have taken of it; by any thread, at any time.
  [[nodiscard]] std::int64_t reserved(MemorySpace space) const;

 private:
  std::atomic<const Device*> open_ = nullptr;  // device_, for those who have no turn
  std::unique_ptr<Device> device_;
  std::string lacking_;
};

}  // namespace znni
