#include "server/jobs/server_gpu.hpp"

#include "planner/text_table.hpp"

namespace znni {

void OpenGpu::open(const ServerGpu& gpu, const LogSink& log) {
  if (device_) return;
  const GpuOffer& offer = gpu.offer;
  Result<std::unique_ptr<Device>> opened = gpu.open(offer);
  if (!opened || (*opened)->accelerator() == nullptr) {
    lacking_ = opened ? "'" + offer.spec.name + "' is no GPU" : opened.error().message;
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

void tell_notes(const ServerGpu& gpu, const LogSink& log) {
  if (!gpu.notes) return;
  for (const std::string& note : gpu.notes()) log_to(log, "warning", note);
}

}  // namespace znni
