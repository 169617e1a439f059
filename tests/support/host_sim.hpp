// HostSim: a GPU that is not there. A Device of kind gpu in host memory with a hard limit, streams that run work as
// late and in as bad an order as their events allow, a slow link that is counted, a clock of its own, and memory that
// is poisoned and out of the host's reach. What runs on it right runs on any accelerator that keeps
// primitives/core/accelerator.hpp; its times are those of its DeviceSpec.
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

// A small GPU: 1 GFLOP/s, 4 in TF32 and 8 in bf16, 1 GB/s of memory, 100 MB/s each way with 10 us per copy; two host
// threads.
[[nodiscard]] DeviceSpec host_sim_spec();

struct HostSimOptions {
  DeviceSpec spec = host_sim_spec();
  std::int64_t host_budget = std::int64_t{1} << 28;
  std::int64_t pinned_budget = std::int64_t{1} << 28;
  std::int64_t device_budget = std::int64_t{1} << 28;
  std::uint64_t seed = 0;  // of the order of work: SimStreams
};

// What went over one direction of the link.
struct LinkCount {
  std::int64_t copies = 0;
  std::int64_t bytes = 0;
  bool operator==(const LinkCount&) const = default;
};

// Breaks of the contract stop the program: copies that do not end in memory of this device, pinned where it must be.
class HostSim final : public Accelerator {
 public:
  explicit HostSim(const HostSimOptions& options = {});
  ~HostSim() override;

  // A kernel: `work` may look at device memory. It must own what it needs beside that. Of a lost GPU it says no more
  // than that it failed, as libraries do.
  [[nodiscard]] Result<void> launch(Stream stream, SimSeconds seconds, std::function<void()> work);

  // The `number`-th allocation from now on (1 is the next) is refused with over_budget; so with pieces of work, which
  // fail with `code`: device_failure or device_lost. 0: none.
  void fail_allocation(std::int64_t number) { allocations_left_ = number; }
  void fail_work(std::int64_t number, ErrorCode code = ErrorCode::device_failure) {
    work_left_ = number;
    work_code_ = code;
  }
  // What failed works again: as where another program gave memory back.
  void recover() { failure_.reset(); }
  // Allocations so far, refused ones counted.
  [[nodiscard]] std::int64_t allocations() const { return allocations_; }
  [[nodiscard]] std::int64_t live_events() const { return live_events_; }
  [[nodiscard]] std::int64_t pieces_of_work() const { return pieces_; }

  [[nodiscard]] LinkCount uploads() const { return uploads_; }
  [[nodiscard]] LinkCount downloads() const { return downloads_; }
  [[nodiscard]] SimStreams& clock() { return streams_; }

  // Fills with NaNs, device memory in the order of Stream::compute and in no time: for arenas.
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
  // Counts an allocation; an error where it is the one to fail.
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
