#include "tests/support/host_sim.hpp"

#include <cstring>
#include <utility>

#include "primitives/core/shape.hpp"
#include "primitives/gpu/outside_view.hpp"

namespace znni::test {
namespace {

SimMark& mark_of(const Event& event) {
  ensure(event.handle() != nullptr, "an empty event");
  return *static_cast<SimMark*>(event.handle());
}

// Returns the bytes from the start of the first row to the end of the last row.
std::int64_t span_of(const CopyRows& rows, std::int64_t step) { return (rows.count - 1) * step + rows.bytes; }

std::int64_t bytes_of(const CopyRows& rows) { return mul(rows.bytes, rows.count); }

void copy_rows(std::byte* to, const std::byte* from, const CopyRows& rows) {
  for (std::int64_t row = 0; row < rows.count; ++row) {
    std::memcpy(to + row * rows.to_step, from + row * rows.from_step, static_cast<std::size_t>(rows.bytes));
  }
}

template <class T>
void set_elements(const cuda::OutsideArg& arg, float* data) {
  for (cuda::Index index = 0; index < cuda::row_count(arg.rows); ++index) {
    for (int element = 0; element < cuda::row_elements(arg.rows); ++element) {
      cuda::outside_element(arg, cuda::row_at(arg.rows, index), element, reinterpret_cast<T*>(data));
    }
  }
}

// Computes what the kernel does.
void set_outside(const OutsideFill& outside) {
  const cuda::OutsideArg arg = cuda::outside_arg(outside);
  if (outside.view.format.type == ElementType::bf16) return set_elements<cuda::Bfloat>(arg, outside.view.data);
  ensure(outside.view.format.type == ElementType::f32, "the simulated GPU computes in float32 and bf16");
  set_elements<float>(arg, outside.view.data);
}

}  // namespace

DeviceSpec host_sim_spec() {
  DeviceSpec spec;
  spec.name = "simulated GPU";
  spec.kind = DeviceKind::gpu;
  spec.threads = 2;
  spec.flops_per_second = 1e9;
  spec.bytes_per_second = 1e9;
  spec.accelerator.tf32_flops_per_second = 4e9;
  spec.accelerator.bf16_flops_per_second = 8e9;
  spec.accelerator.memory_bytes = std::int64_t{1} << 28;
  spec.accelerator.up = {1e-5, 1e8};
  spec.accelerator.down = {1e-5, 1e8};
  spec.accelerator.duplex_bytes_per_second = 2e8;
  return spec;
}

HostSim::HostSim(const HostSimOptions& options)
    : spec_(options.spec),
      host_budget_(options.host_budget),
      pinned_budget_(options.pinned_budget),
      device_budget_(options.device_budget),
      memory_(options.device_budget),
      streams_(options.seed),
      executor_(options.spec.threads) {}

HostSim::~HostSim() {
  ensure(host_blocks_.empty() && memory_.taken() == 0, "a reservation outlives its device");
  ensure(live_events_ == 0, "an event outlives its device");
}

Result<void> HostSim::count_allocation(std::string_view purpose) {
  ++allocations_;
  if (allocations_left_ == 0 || --allocations_left_ > 0) return {};
  return Error{ErrorCode::over_budget, std::string(purpose) + ": refused, as the test asked"};
}

std::int64_t HostSim::budget(MemorySpace space) const {
  return space == MemorySpace::host ? host_budget_ : space == MemorySpace::pinned ? pinned_budget_ : device_budget_;
}

std::int64_t HostSim::reserved_now(MemorySpace space) const {
  if (space == MemorySpace::device) return memory_.taken();
  std::int64_t sum = 0;
  for (const auto& [data, block] : host_blocks_) sum += block.space == space ? block.bytes : 0;
  return sum;
}

std::int64_t HostSim::reserved(MemorySpace space) const {
  const std::lock_guard lock(mutex_);
  return reserved_now(space);
}

Result<std::span<std::byte>> HostSim::take(MemorySpace space, std::int64_t bytes) {
  if (space == MemorySpace::device) {
    const std::optional<std::span<std::byte>> block = memory_.take(bytes);
    if (!block) return Error{ErrorCode::over_budget, "no gap of " + bytes_text(bytes) + " is left"};
    return *block;
  }
  HostBlock block{space, round_up(bytes, buffer_alignment), nullptr, nullptr};
  block.lines = std::make_unique<Line[]>(static_cast<std::size_t>(block.bytes / buffer_alignment + 1));
  void* start = block.lines.get();
  std::size_t room = static_cast<std::size_t>(block.bytes + buffer_alignment);
  block.data = static_cast<std::byte*>(std::align(buffer_alignment, static_cast<std::size_t>(bytes), start, room));
  const std::span<std::byte> data(block.data, static_cast<std::size_t>(bytes));
  host_blocks_.emplace(data.data(), std::move(block));
  return data;
}

Result<Reservation> HostSim::reserve(MemorySpace space, std::int64_t bytes, std::string_view purpose) {
  if (bytes <= 0) return Reservation();
  const std::lock_guard lock(mutex_);
  if (Result<void> counted = count_allocation(purpose); !counted) return counted.error();
  const std::int64_t free = budget(space) - reserved_now(space);
  if (round_up(bytes, buffer_alignment) > free) {
    return Error{ErrorCode::over_budget, std::string(purpose) + " needs " + bytes_text(bytes) + " of " +
                                             std::string(to_string(space)) + " memory, but of the budget of " +
                                             bytes_text(budget(space)) + " only " + bytes_text(free) + " is free"};
  }
  Result<std::span<std::byte>> block = take(space, bytes);
  if (!block) return block.error().within(purpose);
  return Reservation(*this, space, *block);
}

void HostSim::give_back(MemorySpace space, std::span<std::byte> block) {
  streams_.finish();
  const std::lock_guard lock(mutex_);
  if (space == MemorySpace::device) return memory_.give_back(block);
  host_blocks_.erase(block.data());
}

Result<Event> HostSim::make_event() {
  const std::lock_guard lock(mutex_);
  if (Result<void> counted = count_allocation("event"); !counted) return counted.error();
  ++live_events_;
  return Event(*this, new SimMark());
}

void HostSim::destroy(void* event) {
  const std::lock_guard lock(mutex_);
  --live_events_;
  delete static_cast<SimMark*>(event);
}

void HostSim::check_device(const std::byte* data, std::int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  ensure(memory_.holds(data, bytes), "work touches device memory that is not reserved");
}

void HostSim::check_pinned(const std::byte* data, std::int64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto after = host_blocks_.upper_bound(data);
  ensure(after != host_blocks_.begin(), "a copy's host end is pinned memory of the device");
  const HostBlock& block = std::prev(after)->second;
  ensure(block.space == MemorySpace::pinned && data + bytes <= block.data + block.bytes,
         "a copy's host end is pinned memory of the device");
}

Result<void> HostSim::launch(Stream stream, SimSeconds seconds, std::function<void()> work) {
  const bool lost = failure_ && failure_->code == ErrorCode::device_lost;
  if (lost) return Error{ErrorCode::device_failure, "the kernel was not launched"};
  return give(stream, seconds, std::move(work));
}

Result<void> HostSim::give(Stream stream, SimSeconds seconds, std::function<void()> work) {
  if (Result<void> sound = state(); !sound) return sound;
  ++pieces_;
  streams_.give(stream, seconds, [this, work = std::move(work)] {
    if (failure_) return;
    if (work_left_ > 0 && --work_left_ == 0) {
      failure_ = Error{work_code_, "work failed, as the test asked"};
      return;
    }
    const SimMemory::Access access(memory_);
    work();
  });
  return {};
}

Result<void> HostSim::upload(Stream stream, std::byte* to, const std::byte* from, const CopyRows& rows) {
  check_device(to, span_of(rows, rows.to_step));
  check_pinned(from, span_of(rows, rows.from_step));
  ++uploads_.copies;
  uploads_.bytes += bytes_of(rows);
  return give(stream, spec_.accelerator.up.seconds(static_cast<double>(bytes_of(rows))),
              [to, from, rows] { copy_rows(to, from, rows); });
}

Result<void> HostSim::download(Stream stream, std::byte* to, const std::byte* from, const CopyRows& rows) {
  check_pinned(to, span_of(rows, rows.to_step));
  check_device(from, span_of(rows, rows.from_step));
  ++downloads_.copies;
  downloads_.bytes += bytes_of(rows);
  return give(stream, spec_.accelerator.down.seconds(static_cast<double>(bytes_of(rows))),
              [to, from, rows] { copy_rows(to, from, rows); });
}

Result<void> HostSim::copy(Stream stream, std::byte* to, const std::byte* from, const CopyRows& rows) {
  check_device(to, span_of(rows, rows.to_step));
  check_device(from, span_of(rows, rows.from_step));
  return give(stream, 2 * static_cast<double>(bytes_of(rows)) / spec_.bytes_per_second,
              [to, from, rows] { copy_rows(to, from, rows); });
}

Result<void> HostSim::fill(Stream stream, std::span<std::byte> block, std::byte value) {
  check_device(block.data(), static_cast<std::int64_t>(block.size()));
  return give(stream, static_cast<double>(block.size()) / spec_.bytes_per_second,
              [block, value] { std::memset(block.data(), static_cast<int>(value), block.size()); });
}

Result<void> HostSim::fill_outside(Stream stream, const OutsideFill& outside) {
  const auto bytes = static_cast<double>(tensor_bytes(outside.view.shape, outside.view.format));
  return launch(stream, bytes / spec_.bytes_per_second, [outside] { set_outside(outside); });
}

Arena::Poison HostSim::poison() {
  return [this](std::span<std::byte> block, MemorySpace space) {
    if (block.empty()) return;
    if (space != MemorySpace::device) {
      std::memset(block.data(), 0xff, block.size());
      return;
    }
    static_cast<void>(give(Stream::compute, 0, [block] { std::memset(block.data(), 0xff, block.size()); }));
  };
}

Result<void> HostSim::record(Stream stream, const Event& event) {
  if (Result<void> sound = state(); !sound) return sound;
  mark_of(event) = streams_.mark(stream);
  return {};
}

Result<void> HostSim::wait(Stream stream, const Event& event) {
  if (Result<void> sound = state(); !sound) return sound;
  streams_.wait(stream, mark_of(event));
  return {};
}

Result<void> HostSim::synchronise(const Event& event) {
  const SimMemory::Access access(memory_);  // opens the memory once for all work that runs now
  streams_.finish(mark_of(event));
  return state();
}

Result<void> HostSim::synchronise() {
  const SimMemory::Access access(memory_);
  streams_.finish();
  return state();
}

Result<double> HostSim::seconds_between(const Event& first, const Event& second) {
  if (Result<void> sound = state(); !sound) return sound.error();
  return mark_of(second).time - mark_of(first).time;
}

Result<void> HostSim::write(std::byte* to, std::span<const std::byte> from) {
  check_device(to, static_cast<std::int64_t>(from.size()));
  if (Result<void> dry = synchronise(); !dry) return dry;
  const SimMemory::Access access(memory_);
  std::memcpy(to, from.data(), from.size());
  return {};
}

Result<void> HostSim::read(std::span<std::byte> to, const std::byte* from) {
  check_device(from, static_cast<std::int64_t>(to.size()));
  if (Result<void> dry = synchronise(); !dry) return dry;
  const SimMemory::Access access(memory_);
  std::memcpy(to.data(), from, to.size());
  return {};
}

}  // namespace znni::test
