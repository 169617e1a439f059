#include "primitives/cuda/conv/cudnn_descriptor.hpp"

#include <string>

#include "primitives/cuda/device/status.hpp"

namespace znni::cuda {

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type, std::string_view what) : what_(what) {
  note(cudnnBackendCreateDescriptor(type, &handle_));
}

CudnnDescriptor::~CudnnDescriptor() {
  if (handle_ != nullptr) static_cast<void>(cudnnBackendDestroyDescriptor(handle_));
}

void CudnnDescriptor::note(cudnnStatus_t status) {
  if (failure_ && status != CUDNN_STATUS_SUCCESS) failure_ = check(status, "cuDNN " + std::string(what_));
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                          const void* values) {
  if (failure_) note(cudnnBackendSetAttribute(handle_, name, type, count, values));
}

void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values) {
  set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  set(name, CUDNN_TYPE_INT64, 1, &value);
}
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
  set(name, CUDNN_TYPE_DATA_TYPE, 1, &value);
}
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.handle_);
}
void CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::span<const cudnnBackendDescriptor_t> values) {
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(values.size()), values.data());
}

Result<void> CudnnDescriptor::finalise() {
  if (failure_) note(cudnnBackendFinalize(handle_));
  return failure_;
}

Result<std::int64_t> CudnnDescriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  std::int64_t count = 0;
  Result<void> read = check(cudnnBackendGetAttribute(handle_, name, CUDNN_TYPE_INT64, 1, &count, &value), what_);
  if (!read) return read.error();
  return value;
}

}  // namespace znni::cuda
