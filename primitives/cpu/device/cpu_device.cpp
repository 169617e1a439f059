#include "primitives/cpu/device/cpu_device.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

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

// Maps a block that starts on a huge page: maps one huge page more and unmaps the excess.
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

void start_thread(const std::string& name, int number, std::span<const Core> cores) {
  pin_this_thread(cores);
  pthread_setname_np(pthread_self(), (name + std::to_string(number)).substr(0, 15).c_str());
}

// Returns the function that each of an executor's workers runs first.
std::function<void(int)> pinning(const Topology& topology, int threads) {
  return [pins = pin_list(topology, threads)](int worker) {
    start_thread("znni-cpu-", worker, std::span(pins).subspan(static_cast<std::size_t>(worker), 1));
  };
}

// Returns the function that each thread that drives a socket runs first.
std::function<void(int)> pinning_near(std::vector<Topology> sockets) {
  return [sockets = std::move(sockets)](int number) {
    start_thread("znni-socket-", number, sockets[static_cast<std::size_t>(number)].cores);
  };
}

class CpuDevice;

// One socket of a machine: its threads, and the machine's memory near them.
class CpuSocket final : public Device {
 public:
  CpuSocket(CpuDevice& machine, const DeviceSpec& spec, const Topology& topology)
      : machine_(machine),
        spec_(spec),
        memory_node_(topology.memory_node),
        executor_(spec.threads, pinning(topology, spec.threads)) {}

  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override;
  [[nodiscard]] std::int64_t budget(MemorySpace space) const override;
  [[nodiscard]] std::int64_t reserved(MemorySpace space) const override;

 private:
  void give_back(MemorySpace, std::span<std::byte>) override { ensure(false, "the machine gave the memory"); }

  CpuDevice& machine_;
  DeviceSpec spec_;
  int memory_node_;
  Executor executor_;
};

class CpuDevice final : public Device {
 public:
  CpuDevice(const DeviceSpec& spec, const Topology& topology, std::int64_t host_budget)
      : spec_(spec),
        budget_(host_budget),
        memory_node_(topology.memory_node),
        executor_(spec.threads, pinning(topology, spec.threads)) {
    if (spec.sockets == 1) return;
    const std::vector<Topology> parts = cpu::sockets(topology);
    ensure(static_cast<std::size_t>(spec.sockets) == parts.size(), "a device has the sockets of its machine");
    for (const Topology& part : parts) {
      sockets_.push_back(std::make_unique<CpuSocket>(*this, of_one_socket(spec), part));
    }
    drivers_ = std::make_unique<Executor>(spec.sockets, pinning_near(parts));
  }
  ~CpuDevice() override { ensure(reserved_ == 0, "a reservation outlives its device"); }

  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Device& socket(int number) override {
    if (sockets_.empty()) return *this;
    return *sockets_.at(static_cast<std::size_t>(number));
  }
  [[nodiscard]] Executor& drivers() override { return drivers_ == nullptr ? executor_ : *drivers_; }

  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override {
    return reserve_near(memory_node_, space, bytes, purpose);
  }
  // Reserves memory on this memory node; -1: anywhere.
  [[nodiscard]] Result<Reservation> reserve_near(int node, MemorySpace space, std::int64_t bytes,
                                                 std::string_view purpose) {
    if (space != MemorySpace::host) {
      return Error{ErrorCode::unsupported, std::string(purpose) + ": " + spec_.name + " has no " +
                                               std::string(to_string(space)) + " memory, only host memory"};
    }
    if (bytes <= 0) return Reservation();
    if (Result<void> booked = book(bytes, purpose); !booked) return booked.error();
    std::byte* const block = bytes >= huge_page ? map_huge(bytes) : map(bytes);
    if (block != nullptr) {
      const std::span<std::byte> whole(block, static_cast<std::size_t>(bytes));
      keep_near(whole, node);
      return Reservation(*this, space, whole);
    }
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
  int memory_node_;
  Executor executor_;
  std::vector<std::unique_ptr<CpuSocket>> sockets_;
  std::unique_ptr<Executor> drivers_;  // set if there are several sockets
};

Result<Reservation> CpuSocket::reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) {
  return machine_.reserve_near(memory_node_, space, bytes, purpose);
}
std::int64_t CpuSocket::budget(MemorySpace space) const { return machine_.budget(space); }
std::int64_t CpuSocket::reserved(MemorySpace space) const { return machine_.reserved(space); }

}  // namespace

std::unique_ptr<Device> make_cpu_device(const DeviceSpec& spec, const Topology& topology, std::int64_t host_budget) {
  return std::make_unique<CpuDevice>(spec, topology, host_budget);
}

}  // namespace znni::cpu
