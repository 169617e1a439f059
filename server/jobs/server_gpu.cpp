#include "server/jobs/server_gpu.hpp"

#include "planner/base/text_table.hpp"

namespace znni {

void OpenGpu::open(const ServerGpu& gpu, const LogSink& log) {
  if (device_) return;
  const GpuOffer& offer = gpu.offer;
  Result<std::unique_ptr<Device>> opened = gpu.open(offer);
  if (!opened || (*opened)->accelerator() == nullptr) {
    lacking_ = opened ? "'" + offer.spec.name + "' is not a GPU" : opened.error().message;
    return;
  }
  device_ = *std::move(opened);
  open_ = device_.get();
  log_to(log, "info",
         "GPU '" + offer.spec.name + "' is open with " + bytes_text(offer.device_bytes) + " of its memory");
}

std::int64_t OpenGpu::reserved(MemorySpace space) const {
  const Device* const device = open_;
  return device == nullptr ? 0 : device->reserved(space);
}

void OpenGpu::note_loss(const GpuLoss& loss, const LogSink& log) {
  const std::lock_guard lock(mutex_);
  if (loss_) return;
  loss_ = loss;
  const std::string rest = loss.while_loading
                               ? "; it was lost while a model was loaded, so that another process would lose it, too: "
                                 "this one goes on without it"
                               : "";
  log_to(log, "error", "the GPU is lost to this process, and no retry mends that: " + loss.reason + rest);
}

std::optional<GpuLoss> OpenGpu::loss() const {
  const std::lock_guard lock(mutex_);
  return loss_;
}

void OpenGpu::look_for_loss(const Engine* engine, const Error* failure, bool while_loading, const LogSink& log) {
  const bool failed = failure != nullptr && failure->code == ErrorCode::device_lost;
  if (failed) return note_loss({failure->message, while_loading}, log);
  const bool is_lost = engine != nullptr && engine->gpu_lost_for_good();
  if (is_lost) note_loss({engine->gpu_lost().value_or(""), while_loading}, log);
}

void tell_notes(const ServerGpu& gpu, const LogSink& log) {
  if (!gpu.notes) return;
  for (const std::string& note : gpu.notes()) log_to(log, "warning", note);
}

}  // namespace znni
