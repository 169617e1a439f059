// Arrays in the memory of the emulated GPU, for tests.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <span>
#include <vector>

namespace znni::cuda_emulation {

// `T` is copied bytewise.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    void* block = nullptr;
    EXPECT_EQ(cudaMalloc(&block, bytes()), cudaSuccess);
    data_ = static_cast<T*>(block);
  }
  explicit DeviceArray(std::span<const T> values) : DeviceArray(values.size()) {
    EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::vector<T> values() const {
    std::vector<T> read(count_);
    EXPECT_EQ(cudaMemcpy(read.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return read;
  }

 private:
  [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
  std::size_t count_;
  T* data_ = nullptr;
};

}  // namespace znni::cuda_emulation
