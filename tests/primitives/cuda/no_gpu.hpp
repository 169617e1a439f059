// A device that is none of the CUDA back end's.
#pragma once

#include "primitives/core/device.hpp"

namespace znni::cuda {

class NoGpu final : public Device {
 public:
  NoGpu() { spec_.name = "no GPU"; }
  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace, std::int64_t, std::string_view purpose) override {
    return Error{ErrorCode::unsupported, std::string(purpose)};
  }
  [[nodiscard]] std::int64_t budget(MemorySpace) const override { return 0; }
  [[nodiscard]] std::int64_t reserved(MemorySpace) const override { return 0; }

 private:
  void give_back(MemorySpace, std::span<std::byte>) override {}
  DeviceSpec spec_;
  Executor executor_{1};
};

}  // namespace znni::cuda
