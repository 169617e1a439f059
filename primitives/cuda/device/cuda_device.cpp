#include "primitives/cuda/device/cuda_device.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "primitives/core/shape.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/cuda/kernels/outside_kernel.hpp"
#include "primitives/gpu/block_list.hpp"
#include "primitives/gpu/outside_view.hpp"
#include "primitives/gpu/views.hpp"

namespace znni::cuda {
namespace {

std::size_t unsigned_of(std::int64_t value) { return static_cast<std::size_t>(value); }

// One space's budget and what of it is taken.
struct Share {
  std::int64_t budget = 0;
  std::int64_t taken = 0;
};

class CudaDeviceOfGpu final : public CudaDevice {
 public:
  CudaDeviceOfGpu(const GpuProperties& gpu, std::int64_t host_budget, std::int64_t pinned_budget,
                  std::int64_t device_budget, int processors)
      : gpu_(gpu),
        spec_(spec_of(gpu)),
        host_{host_budget, 0},
        pinned_{pinned_budget, 0},
        device_budget_(device_budget),
        blocks_(device_budget, buffer_alignment),  // as plans count: one that fits to the byte opens
        executor_(staging_threads(processors)) {}

  ~CudaDeviceOfGpu() override;

  // Takes the memory and makes the streams; once, before any other call.
  Result<void> start();

  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] std::int64_t budget(MemorySpace space) const override {
    return space == MemorySpace::host ? host_.budget : space == MemorySpace::pinned ? pinned_.budget : device_budget_;
  }
  [[nodiscard]] std::int64_t reserved(MemorySpace space) const override {
    const std::lock_guard lock(mutex_);
    return space == MemorySpace::host ? host_.taken : space == MemorySpace::pinned ? pinned_.taken : blocks_.taken();
  }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override;

  [[nodiscard]] Result<Event> make_event() override;
  [[nodiscard]] Result<void> upload(Stream stream, std::byte* to, const std::byte* from,
                                    const CopyRows& rows) override {
    return copy_rows(stream, to, from, rows, cudaMemcpyHostToDevice);
  }
  [[nodiscard]] Result<void> download(Stream stream, std::byte* to, const std::byte* from,
                                      const CopyRows& rows) override {
    return copy_rows(stream, to, from, rows, cudaMemcpyDeviceToHost);
  }
  [[nodiscard]] Result<void> copy(Stream stream, std::byte* to, const std::byte* from, const CopyRows& rows) override {
    return copy_rows(stream, to, from, rows, cudaMemcpyDeviceToDevice);
  }
  [[nodiscard]] Result<void> fill(Stream which, std::span<std::byte> block, std::byte value) override {
    return now("fill",
               [&] { return cudaMemsetAsync(block.data(), static_cast<int>(value), block.size(), stream(which)); });
  }
  [[nodiscard]] Result<void> fill_outside(Stream which, const OutsideFill& outside) override {
    return now("fill what is outside", [&] {
      return launch_outside(outside_arg(outside), storage_of(outside.view.format.type), outside.view.data,
                            stream(which));
    });
  }
  [[nodiscard]] Result<void> record(Stream which, const Event& event) override {
    return now("record an event", [&] { return cudaEventRecord(event_of(event), stream(which)); });
  }
  [[nodiscard]] Result<void> wait(Stream which, const Event& event) override {
    return now("wait for an event", [&] { return cudaStreamWaitEvent(stream(which), event_of(event), 0); });
  }
  [[nodiscard]] Result<void> synchronise(const Event& event) override {
    return now("synchronise with an event", [&] { return cudaEventSynchronize(event_of(event)); });
  }
  [[nodiscard]] Result<void> synchronise() override {
    return now("synchronise", [] { return cudaDeviceSynchronize(); });
  }
  [[nodiscard]] Result<double> seconds_between(const Event& first, const Event& second) override;
  [[nodiscard]] Result<void> write(std::byte* to, std::span<const std::byte> from) override {
    return transfer(to, from.data(), from.size(), cudaMemcpyHostToDevice);
  }
  [[nodiscard]] Result<void> read(std::span<std::byte> to, const std::byte* from) override {
    return transfer(to.data(), from, to.size(), cudaMemcpyDeviceToHost);
  }

  [[nodiscard]] Result<void> activate() override {
    return now("make the GPU current", [] { return cudaSuccess; });
  }
  [[nodiscard]] cudaStream_t stream(Stream which) const override { return streams_[static_cast<std::size_t>(which)]; }
  [[nodiscard]] Result<cublasHandle_t> blas() override;
  [[nodiscard]] Result<cudnnHandle_t> dnn() override;
  [[nodiscard]] Result<std::int64_t> overhead_bytes() override;

 private:
  static cudaEvent_t event_of(const Event& event) {
    ensure(event.handle() != nullptr, "an empty event is used");
    return static_cast<cudaEvent_t>(event.handle());
  }

  // Makes the GPU current and calls. A GPU that is lost is not asked again; other failures are of the call alone.
  template <class Call>
  Result<void> now(std::string_view what, const Call& call) {
    if (failure_) return *failure_;
    Result<void> done = check(cudaSetDevice(gpu_.index), gpu_.name + ": make current");
    if (done) done = check(call(), gpu_.name + ": " + std::string(what));
    if (!done && done.error().code == ErrorCode::device_lost) failure_ = done.error();
    return done;
  }

  Result<void> copy_rows(Stream which, std::byte* to, const std::byte* from, const CopyRows& rows, cudaMemcpyKind kind);
  Result<void> transfer(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
  Result<void> book(Share& share, std::int64_t bytes, MemorySpace space, std::string_view purpose);
  Result<std::byte*> allocate(MemorySpace space, std::int64_t bytes, std::string_view purpose);
  Error over_budget(std::string_view purpose, MemorySpace space, std::int64_t bytes, std::int64_t free) const;
  void give_back(MemorySpace space, std::span<std::byte> block) override;
  void destroy(void* event) override {
    static_cast<void>(cudaSetDevice(gpu_.index));
    static_cast<void>(check(cudaEventDestroy(static_cast<cudaEvent_t>(event)), "destroy an event"));
  }

  GpuProperties gpu_;
  DeviceSpec spec_;
  mutable std::mutex mutex_;  // guards host_.taken, pinned_.taken, blocks_
  Share host_;
  Share pinned_;
  std::int64_t device_budget_;
  BlockList blocks_;
  Executor executor_;
  std::byte* memory_ = nullptr;
  std::size_t pitch_limit_ = 0;
  std::array<cudaStream_t, stream_count> streams_ = {};
  cublasHandle_t blas_ = nullptr;
  cudnnHandle_t dnn_ = nullptr;
  std::optional<Error> failure_;
};

Result<void> CudaDeviceOfGpu::start() {
  if (Result<void> current = check(cudaSetDevice(gpu_.index), gpu_.name); !current) return current;
  for (cudaStream_t& stream : streams_) {
    Result<void> made = check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), gpu_.name + ": make a stream");
    if (!made) return made;
  }
  int pitch = 0;
  Result<void> known = check(cudaDeviceGetAttribute(&pitch, cudaDevAttrMaxPitch, gpu_.index), gpu_.name);
  if (!known) return known;
  pitch_limit_ = static_cast<std::size_t>(pitch);
  if (device_budget_ == 0) return {};
  void* block = nullptr;
  Result<void> taken = check(cudaMalloc(&block, unsigned_of(device_budget_)),
                             gpu_.name + ": a budget of " + bytes_text(device_budget_) + " of " +
                                 bytes_text(gpu_.memory_bytes) + " device memory");
  memory_ = static_cast<std::byte*>(block);
  return taken;
}

CudaDeviceOfGpu::~CudaDeviceOfGpu() {
  ensure(host_.taken == 0 && pinned_.taken == 0 && blocks_.taken() == 0, "a reservation outlives its device");
  static_cast<void>(cudaSetDevice(gpu_.index));
  static_cast<void>(cudaDeviceSynchronize());
  if (dnn_ != nullptr) static_cast<void>(cudnnDestroy(dnn_));
  if (blas_ != nullptr) static_cast<void>(cublasDestroy(blas_));
  for (cudaStream_t stream : streams_) {
    if (stream != nullptr) static_cast<void>(cudaStreamDestroy(stream));
  }
  if (memory_ != nullptr) static_cast<void>(cudaFree(memory_));
  static_cast<void>(cudaGetLastError());
}

Error CudaDeviceOfGpu::over_budget(std::string_view purpose, MemorySpace space, std::int64_t bytes,
                                   std::int64_t free) const {
  return {ErrorCode::over_budget, std::string(purpose) + " needs " + bytes_text(bytes) + " of " +
                                      std::string(to_string(space)) + " memory, but of the budget of " +
                                      bytes_text(budget(space)) + " only " + bytes_text(free) + " is free"};
}

Result<void> CudaDeviceOfGpu::book(Share& share, std::int64_t bytes, MemorySpace space, std::string_view purpose) {
  const std::int64_t whole = round_up(bytes, buffer_alignment);
  const std::lock_guard lock(mutex_);
  if (add(share.taken, whole) > share.budget) return over_budget(purpose, space, bytes, share.budget - share.taken);
  share.taken += whole;
  return {};
}

Result<std::byte*> CudaDeviceOfGpu::allocate(MemorySpace space, std::int64_t bytes, std::string_view purpose) {
  void* block = nullptr;
  if (space == MemorySpace::host) {
    block = ::operator new (unsigned_of(bytes), std::align_val_t{unsigned_of(buffer_alignment)}, std::nothrow);
    if (block == nullptr) {
      return Error{ErrorCode::over_budget, std::string(purpose) + ": the system refuses " + bytes_text(bytes)};
    }
  } else {
    // Portable: any GPU of the process may copy from and to it.
    Result<void> current = check(cudaSetDevice(gpu_.index), gpu_.name);
    Result<void> locked = current ? check(cudaHostAlloc(&block, unsigned_of(bytes), cudaHostAllocPortable),
                                          std::string(purpose) + ": " + bytes_text(bytes) + " of pinned memory")
                                  : current;
    if (!locked) return locked.error();
  }
  std::memset(block, 0, unsigned_of(bytes));
  return static_cast<std::byte*>(block);
}

Result<Reservation> CudaDeviceOfGpu::reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) {
  if (bytes <= 0) return Reservation();
  if (space == MemorySpace::device) {
    const std::lock_guard lock(mutex_);
    const std::optional<std::int64_t> offset = blocks_.take(bytes);
    if (!offset) return over_budget(purpose, space, bytes, blocks_.largest_gap());
    return Reservation(*this, space, {memory_ + *offset, unsigned_of(bytes)});
  }
  Share& share = space == MemorySpace::host ? host_ : pinned_;
  if (Result<void> booked = book(share, bytes, space, purpose); !booked) return booked.error();
  Result<std::byte*> block = allocate(space, bytes, purpose);
  if (block) return Reservation(*this, space, {*block, unsigned_of(bytes)});
  const std::lock_guard lock(mutex_);
  share.taken -= round_up(bytes, buffer_alignment);
  return block.error();
}

void CudaDeviceOfGpu::give_back(MemorySpace space, std::span<std::byte> block) {
  if (space == MemorySpace::pinned) {
    static_cast<void>(cudaSetDevice(gpu_.index));
    static_cast<void>(check(cudaFreeHost(block.data()), "give back pinned memory"));
  }
  if (space == MemorySpace::host) ::operator delete (block.data(), std::align_val_t{unsigned_of(buffer_alignment)});
  const std::lock_guard lock(mutex_);
  if (space == MemorySpace::device) return blocks_.give_back(block.data() - memory_);
  (space == MemorySpace::host ? host_ : pinned_).taken -=
      round_up(static_cast<std::int64_t>(block.size()), buffer_alignment);
}

Result<Event> CudaDeviceOfGpu::make_event() {
  cudaEvent_t event = nullptr;
  if (Result<void> made = now("make an event", [&] { return cudaEventCreate(&event); }); !made) return made.error();
  return Event(*this, event);
}

Result<void> CudaDeviceOfGpu::copy_rows(Stream which, std::byte* to, const std::byte* from, const CopyRows& rows,
                                        cudaMemcpyKind kind) {
  if (rows.bytes == 0 || rows.count == 0) return {};
  const std::size_t bytes = unsigned_of(rows.bytes);
  const bool dense = rows.count == 1 || (rows.to_step == rows.bytes && rows.from_step == rows.bytes);
  return now("copy", [&] {
    if (dense) return cudaMemcpyAsync(to, from, bytes * unsigned_of(rows.count), kind, stream(which));
    const std::size_t to_step = unsigned_of(rows.to_step);
    const std::size_t from_step = unsigned_of(rows.from_step);
    if (to_step <= pitch_limit_ && from_step <= pitch_limit_ && from_step >= bytes) {
      return cudaMemcpy2DAsync(to, to_step, from, from_step, bytes, unsigned_of(rows.count), kind, stream(which));
    }
    cudaError_t status = cudaSuccess;
    for (std::int64_t row = 0; row < rows.count && status == cudaSuccess; ++row) {
      status = cudaMemcpyAsync(to + row * rows.to_step, from + row * rows.from_step, bytes, kind, stream(which));
    }
    return status;
  });
}

Result<double> CudaDeviceOfGpu::seconds_between(const Event& first, const Event& second) {
  float milliseconds = 0.0F;
  Result<void> done = now("time between events",
                          [&] { return cudaEventElapsedTime(&milliseconds, event_of(first), event_of(second)); });
  if (!done) return done.error();
  return 1e-3 * static_cast<double>(milliseconds);
}

// Copies, and waits for the streams, because they do not wait for the default stream. A copy from pageable memory may
// still be under way when the call returns, so this waits again.
Result<void> CudaDeviceOfGpu::transfer(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return {};
  if (Result<void> dry = synchronise(); !dry) return dry;
  if (Result<void> moved = now("transfer", [&] { return cudaMemcpy(to, from, bytes, kind); }); !moved) return moved;
  return synchronise();
}

Result<cublasHandle_t> CudaDeviceOfGpu::blas() {
  if (blas_ != nullptr) return blas_;
  if (Result<void> current = activate(); !current) return current.error();
  if (Result<void> made = check(cublasCreate(&blas_), "cublasCreate"); !made) return made.error();
  if (Result<void> bound = check(cublasSetStream(blas_, stream(Stream::compute)), "cublasSetStream"); !bound) {
    return bound.error();
  }
  return blas_;
}

Result<cudnnHandle_t> CudaDeviceOfGpu::dnn() {
  if (dnn_ != nullptr) return dnn_;
  if (Result<void> current = activate(); !current) return current.error();
  if (Result<void> made = check(cudnnCreate(&dnn_), "cudnnCreate"); !made) return made.error();
  if (Result<void> bound = check(cudnnSetStream(dnn_, stream(Stream::compute)), "cudnnSetStream"); !bound) {
    return bound.error();
  }
  return dnn_;
}

Result<std::int64_t> CudaDeviceOfGpu::overhead_bytes() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (Result<void> done = now("read free memory", [&] { return cudaMemGetInfo(&free, &total); }); !done) {
    return done.error();
  }
  return static_cast<std::int64_t>(total - free) - device_budget_;
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> open_cuda_device(const GpuProperties& gpu, std::int64_t host_budget,
                                                     std::int64_t pinned_budget, std::int64_t device_budget,
                                                     int processors) {
  if (host_budget < 0 || pinned_budget < 0 || device_budget < 0 || device_budget > gpu.memory_bytes) {
    return Error{ErrorCode::invalid_argument,
                 gpu.name + ": budgets of " + std::to_string(host_budget) + ", " + std::to_string(pinned_budget) +
                     " and " + std::to_string(device_budget) + " bytes: none may be negative, and the GPU has " +
                     std::to_string(gpu.memory_bytes)};
  }
  auto device = std::make_unique<CudaDeviceOfGpu>(gpu, host_budget, pinned_budget, device_budget, processors);
  if (Result<void> started = device->start(); !started) return started.error();
  return std::unique_ptr<CudaDevice>(std::move(device));
}

Result<CudaDevice*> as_cuda(Device& device) {
  if (auto* const cuda = dynamic_cast<CudaDevice*>(&device); cuda != nullptr) return cuda;
  return Error{ErrorCode::invalid_argument, "'" + device.spec().name + "' is not a device of the CUDA back end"};
}

}  // namespace znni::cuda
