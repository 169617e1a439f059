// The GPU of a server that may have none: opened when the first plan wants it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/plan/plan.hpp"
#include "primitives/core/accelerator.hpp"
#include "server/jobs/model_server.hpp"
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
  // Opens `gpu` unless it is open. Every call tries again until it is open, because a model that comes later may find
  // what the first did not. It must be the caller's turn on the devices.
  void open(const ServerGpu& gpu, const LogSink& log);
  // Returns the GPU; nullptr while there is none. Then, once open() was called, reason() says why.
  [[nodiscard]] Accelerator* accelerator() const { return device_ ? device_->accelerator() : nullptr; }
  [[nodiscard]] const std::string& lacking() const { return lacking_; }
  // Returns the bytes that plans have reserved; by any thread, at any time.
  [[nodiscard]] std::int64_t reserved(MemorySpace space) const;
  // Keeps the first loss that is noted, and says it. Any thread, as the next.
  void note_loss(const GpuLoss& loss, const LogSink& log);
  [[nodiscard]] std::optional<GpuLoss> loss() const;
  // Notes the loss that some work of `engine` met, if it met one. The caller does this in the turn of that work, so
  // that later work finds the loss noted. `engine`: nullptr where it could not be opened. `failure`: what the work
  // ended with, nullptr for nothing.
  void look_for_loss(const Engine* engine, const Error* failure, bool while_loading, const LogSink& log);

 private:
  std::atomic<const Device*> open_ = nullptr;  // device_, for those who have no turn
  std::unique_ptr<Device> device_;
  std::string lacking_;
  mutable std::mutex mutex_;  // guards loss_
  std::optional<GpuLoss> loss_;
};

}  // namespace znni
