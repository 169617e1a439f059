// HostSim: a simulated GPU. It is a Device of kind gpu in host memory with a hard limit. Its streams run work as late
// and in as bad an order as their events allow. It counts copies over its slow link and has its own clock. Its memory
// is poisoned, and the host cannot access it. Code that runs correctly on it runs on any accelerator that keeps
// primitives/core/accelerator.hpp. Its times are those of its DeviceSpec.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "primitives/core/accelerator.hpp"
#include "primitives/core/arena.hpp"
#include "tests/support/sim_memory.hpp"
#include "tests/support/sim_streams.hpp"

namespace znni::test {

// Describes a small GPU: 1 GFLOP/s, 4 in TF32 and 8 in bf16, 1 GB/s of memory, 100 MB/s each way with 10 us per copy;
// two host threads.
[[nodiscard]] DeviceSpec host_sim_spec();

struct HostSimOptions {
  DeviceSpec spec = host_sim_spec();
  std::int64_t host_budget = std::int64_t{1} << 28;
  std::int64_t pinned_budget = std::int64_t{1} << 28;
  std::int64_t device_budget = std::int64_t{1} << 28;
  std::uint64_t seed = 0;  // seed of the order of work: SimStreams
};

// Copies and bytes in one direction of the link.
struct LinkCount {
  std::int64_t copies = 0;
  std::int64_t bytes = 0;
  bool operator==(const LinkCount&) const = default;
};

// Breaking the contract stops the program, for example a copy outside this device's memory or from memory that is not
// pinned.
class HostSim final : public Accelerator {
 public:
  explicit HostSim(const HostSimOptions& options = {});
  ~HostSim() override;

  // Launches a kernel: `work` may access device memory and must own everything else that it needs. On a lost GPU it
  // reports only that the launch failed, as libraries do.
  [[nodiscard]] Result<void> launch(Stream stream, SimSeconds seconds, std::function<void()> work);

  // Makes the `number`-th allocation from now on (1 is the next) fail with over_budget. fail_work() does the same for a
  // piece of work, which then fails with `code`: device_failure or device_lost. 0: none.
  void fail_allocation(std::int64_t number) { allocations_left_ = number; }
  void fail_work(std::int64_t number, ErrorCode code = ErrorCode::device_failure) {
    work_left_ = number;
    work_code_ = code;
  }
  // Makes the failed device work again, as if another program had given memory back.
  void recover() { failure_.reset(); }
  // Returns the number of allocations so far, including refused ones.
  [[nodiscard]] std::int64_t allocations() const { return allocations_; }
  [[nodiscard]] std::int64_t live_events() const { return live_events_; }
  [[nodiscard]] std::int64_t pieces_of_work() const { return pieces_; }

  [[nodiscard]] LinkCount uploads() const { return uploads_; }
  [[nodiscard]] LinkCount downloads() const { return downloads_; }
  [[nodiscard]] SimStreams& clock() { return streams_; }

  // Returns a function for arenas that fills a block with NaNs; device memory in the order of Stream::compute and in no
  // time.
  [[nodiscard]] Arena::Poison poison();

  [[nodiscard]] const DeviceSpec& spec() const override { return spec_; }
  [[nodiscard]] Executor& executor() override { return executor_; }
  [[nodiscard]] Result<Reservation> reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) override;
  [[nodiscard]] std::int64_t budget(MemorySpace space) const override;
  [[nodiscard]] std::int64_t reserved(MemorySpace space) const override;

  [[nodiscard]] Result<Event> make_event() override;
  [[nodiscard]] Result<void> upload(Stream stream, std::byte* to, const std::byte* from, const CopyRows& rows) override;
  [[nodiscard]] Result<void> download(Stream stream, std::byte* to, const std::byte* from,
                                      const CopyRows& rows) override;
  [[nodiscard]] Result<void> copy(Stream stream, std::byte* to, const std::byte* from, const CopyRows& rows) override;
  [[nodiscard]] Result<void> fill(Stream stream, std::span<std::byte> block, std::byte value) override;
  [[nodiscard]] Result<void> fill_outside(Stream stream, const OutsideFill& outside) override;
  [[nodiscard]] Result<void> record(Stream stream, const Event& event) override;
  [[nodiscard]] Result<void> wait(Stream stream, const Event& event) override;
  [[nodiscard]] Result<void> synchronise(const Event& event) override;
  [[nodiscard]] Result<void> synchronise() override;
  [[nodiscard]] Result<double> seconds_between(const Event& first, const Event& second) override;
  [[nodiscard]] Result<void> write(std::byte* to, std::span<const std::byte> from) override;
  [[nodiscard]] Result<void> read(std::span<std::byte> to, const std::byte* from) override;

 private:
  using Line = std::array<std::byte, buffer_alignment>;
  struct HostBlock {
    MemorySpace space = MemorySpace::host;
    std::int64_t bytes = 0;
    std::unique_ptr<Line[]> lines;
    std::byte* data = nullptr;
  };
  void give_back(MemorySpace space, std::span<std::byte> block) override;
  void destroy(void* event) override;

  Result<void> give(Stream stream, SimSeconds seconds, std::function<void()> work);
  // Counts an allocation; fails if it is the one that must fail.
  Result<void> count_allocation(std::string_view purpose);
  Result<std::span<std::byte>> take(MemorySpace space, std::int64_t bytes);
  [[nodiscard]] std::int64_t reserved_now(MemorySpace space) const;
  void check_device(const std::byte* data, std::int64_t bytes) const;
  void check_pinned(const std::byte* data, std::int64_t bytes) const;
  [[nodiscard]] Result<void> state() const { return failure_ ? Result<void>(*failure_) : Result<void>(); }

  DeviceSpec spec_;
  std::int64_t host_budget_;
  std::int64_t pinned_budget_;
  std::int64_t device_budget_;
  mutable std::mutex mutex_;  // guards memory_, host_blocks_ and the counts of allocations
  SimMemory memory_;
  std::map<const std::byte*, HostBlock> host_blocks_;
  std::int64_t allocations_ = 0;
  std::int64_t allocations_left_ = 0;
  std::int64_t live_events_ = 0;

  SimStreams streams_;
  std::optional<Error> failure_;
  std::int64_t work_left_ = 0;
  ErrorCode work_code_ = ErrorCode::device_failure;
  std::int64_t pieces_ = 0;
  LinkCount uploads_;
  LinkCount downloads_;
  Executor executor_;
};

}  // namespace znni::test
