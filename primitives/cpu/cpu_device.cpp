#include "primitives/cpu/cpu_device.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <mutex>
#include <string>
#include <system_error>

#include "primitives/core/shape.hpp"

namespace znni::cpu {
namespace {

constexpr std::int64_t huge_page = std::int64_t{2} << 20;

std::int64_t cost(std::int64_t bytes) { return round_up(bytes, buffer_alignment); }

std::byte* map(std::int64_t bytes) {
  void* block =
      mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return block == MAP_FAILED ? nullptr : static_cast<std::byte*>(block);
}

void unmap(std::byte* block, std::int64_t bytes) {
  if (bytes > 0) munmap(block, static_cast<std::size_t>(bytes));
}

// A block that starts on a huge page: maps one page more, gives back what sticks out.
std::byte* map_huge(std::int64_t bytes) {
  constexpr std::int64_t page = 4096;
  const std::int64_t whole = round_up(bytes, page);
  std::byte* const raw = map(whole + huge_page);
  if (raw == nullptr) return nullptr;
  const std::int64_t ahead =
      round_up(reinterpret_cast<std::intptr_t>(raw), huge_page) - reinterpret_cast<std::intptr_t>(raw);
  unmap(raw, ahead);
  unmap(raw + ahead + whole, huge_page - ahead);
  madvise(raw + ahead, static_cast<std::size_t>(whole), MADV_HUGEPAGE);
  return raw + ahead;
}

void start_worker(const std::vector<Core>& pins, int worker) {
  pin_this_thread(pins[static_cast<std::size_t>(worker)]);
  pthread_setname_np(pthread_self(), ("znni-cpu-" + std::to_string(worker)).substr(0, 15).c_str());
}

class CpuDevice final : public Device {
 public:
  CpuDevice(const DeviceSpec& spec, const Topology& topology, std::int64_t host_budget)
      : spec_(spec),
        budget_(host_budget),
        executor_(spec.threads, [pins = pin_list(topology, spec.threads)](int worker) { start_worker(pins, worker); }) {
  }
  ~CpuDevice() override { ensure(reserved_ == 0, "a reservation outlives its device"); }

  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }

  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override {
    if (space != MemorySpace::host) {
      return Error{ErrorCode::unsupported, std::string(purpose) + ": " + spec_.name + " has no " +
                                               std::string(to_string(space)) + " memory, only host memory"};
    }
    if (bytes <= 0) return Reservation();
    if (Result<void> booked = book(bytes, purpose); !booked) return booked.error();
    std::byte* const block = bytes >= huge_page ? map_huge(bytes) : map(bytes);
    if (block != nullptr) return Reservation(*this, space, {block, static_cast<std::size_t>(bytes)});
    const std::string reason = std::system_category().message(errno);
    cancel(bytes);
    return Error{ErrorCode::device_failure, std::string(purpose) + ": the system refuses " + bytes_text(bytes) +
                                                " within the budget of " + bytes_text(budget_) + ": " + reason};
  }

  [[nodiscard]] std::int64_t budget(MemorySpace space) const override {
    return space == MemorySpace::host ? budget_ : 0;
  }
  [[nodiscard]] std::int64_t reserved(MemorySpace space) const override {
    const std::lock_guard lock(mutex_);
    return space == MemorySpace::host ? reserved_ : 0;
  }

 private:
  Result<void> book(std::int64_t bytes, std::string_view purpose) {
    const std::lock_guard lock(mutex_);
    if (add(reserved_, cost(bytes)) > budget_) {
      return Error{ErrorCode::over_budget, std::string(purpose) + " needs " + bytes_text(bytes) +
                                               ", but of the budget of " + bytes_text(budget_) + " only " +
                                               bytes_text(budget_ - reserved_) + " is free"};
    }
    reserved_ += cost(bytes);
    return {};
  }
  void cancel(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    reserved_ -= cost(bytes);
  }
  void give_back(MemorySpace, std::span<std::byte> block) override {
    const auto bytes = static_cast<std::int64_t>(block.size());
    unmap(block.data(), bytes);
    cancel(bytes);
  }

  DeviceSpec spec_;
  std::int64_t budget_;
  mutable std::mutex mutex_;  // guards reserved_
  std::int64_t reserved_ = 0;
  Executor executor_;
};

}  // namespace

std::unique_ptr<Device> make_cpu_device(const DeviceSpec& spec, const Topology& topology, std::int64_t host_budget) {
  return std::make_unique<CpuDevice>(spec, topology, host_budget);
}

}  // namespace znni::cpu
