// Descriptors of cuDNN's backend interface, the one with 64-bit extents: made, given attributes, finalised; destroyed
// when they go out of scope. Failures stay in the descriptor and finalise() tells the first, so that a descriptor is
// written as one run of set() calls. None of this needs a GPU.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "primitives/core/result.hpp"

namespace znni::cuda {

class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  // Creates a descriptor. `what`: its name in errors, "convolution"; a literal.
  CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string_view what);
  CudnnDescriptor(CudnnDescriptor&& other) noexcept { swap(other); }
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept {
    CudnnDescriptor(std::move(other)).swap(*this);
    return *this;
  }
  ~CudnnDescriptor();

  [[nodiscard]] cudnnBackendDescriptor_t get() const { return handle_; }

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, bool value);
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value);
  void set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  void set(cudnnBackendAttributeName_t name, std::span<const cudnnBackendDescriptor_t> values);

  // Checks what was set; the first failure of any call.
  [[nodiscard]] Result<void> finalise();

  // Returns an integer of a finalised descriptor.
  [[nodiscard]] Result<std::int64_t> integer(cudnnBackendAttributeName_t name) const;
  // Returns up to `most` values of an attribute of type T.
  template <class T>
  [[nodiscard]] std::vector<T> values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                      std::int64_t most) const {
    std::vector<T> found(static_cast<std::size_t>(most));
    std::int64_t count = 0;
    if (cudnnBackendGetAttribute(handle_, name, type, most, &count, found.data()) != CUDNN_STATUS_SUCCESS) count = 0;
    found.resize(static_cast<std::size_t>(count < most ? count : most));
    return found;
  }

 private:
  void swap(CudnnDescriptor& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(what_, other.what_);
    std::swap(failure_, other.failure_);
  }
  void note(cudnnStatus_t status);

  cudnnBackendDescriptor_t handle_ = nullptr;
  std::string_view what_;
  Result<void> failure_;
};

}  // namespace znni::cuda
