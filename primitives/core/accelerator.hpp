// GPUs: a Device whose memory the host cannot read and whose work runs behind the host's back, in three streams. Work
// of one stream runs in the order in which it was given; streams know of each other only through events.
//
// Life of a run: the host gives copies, fills and kernels to streams, joins streams by events, and waits at the end.
// Nothing given to a stream may be assumed done, nor its memory used again by the host or by another stream, before an
// event recorded behind it has been waited for.
//
// One thread at a time gives work to an accelerator: the worker of its place (reserve() may be called from any). A
// failure of work that was given is reported by a later call, at the latest by the wait for it; from then on every
// call fails with the same error: device_lost where only another process can use the device again, else device_failure
// until the device works again. What a library says of a lost device may be any device_failure: synchronise() tells.
// A call that fails by itself has given nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "primitives/core/device.hpp"

namespace znni {

// An accelerator has one of each. Layers run on `compute`; only what overlaps copies with work uses the others.
enum class Stream { upload, compute, download };
inline constexpr int stream_count = 3;

class Accelerator;

// A mark in a stream that others can wait for; may be recorded again and again. Made before running, since making one
// may be slow. Must not outlive its accelerator.
class Event {
 public:
  Event() = default;
  Event(Accelerator& accelerator, void* handle) : accelerator_(&accelerator), handle_(handle) {}
  Event(Event&& other) noexcept { swap(other); }
  Event& operator=(Event&& other) noexcept {
    Event(std::move(other)).swap(*this);
    return *this;
  }
  ~Event();

  // What the back end made it of; nullptr for an empty event, which no call takes.
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  void swap(Event& other) noexcept {
    std::swap(accelerator_, other.accelerator_);
    std::swap(handle_, other.handle_);
  }
  Accelerator* accelerator_ = nullptr;
  void* handle_ = nullptr;
};

// `count` rows of `bytes` bytes each; the next row lies to_step (from_step) bytes behind the one before it. One row is
// a plain copy. Rows of the destination do not overlap.
struct CopyRows {
  std::int64_t bytes = 0;
  std::int64_t count = 1;
  std::int64_t to_step = 0;
  std::int64_t from_step = 0;

  bool operator==(const CopyRows&) const = default;
};

// The memory spaces of an accelerator:
// - `device`: its own, reserved once as a block and granted by arenas like host memory. The host must not dereference
//   pointers into it; views of it are ordinary TensorViews. Not zeroed by reserve().
// - `pinned`: host memory that copies need at their host end. Zeroed.
// - `host`: plain host memory, for what is staged through pinned memory; its budget may be 0.
class Accelerator : public Device {
 public:
  [[nodiscard]] Accelerator* accelerator() final { return this; }

  [[nodiscard]] virtual Result<Event> make_event() = 0;

  // All of these return at once. The host ends of copies must be pinned memory of this accelerator.
  [[nodiscard]] virtual Result<void> upload(Stream stream, std::byte* to_device, const std::byte* from_pinned,
                                            const CopyRows& rows) = 0;
  [[nodiscard]] virtual Result<void> download(Stream stream, std::byte* to_pinned, const std::byte* from_device,
                                              const CopyRows& rows) = 0;
  [[nodiscard]] virtual Result<void> copy(Stream stream, std::byte* to_device, const std::byte* from_device,
                                          const CopyRows& rows) = 0;
  // Every byte of a block of device memory.
  [[nodiscard]] virtual Result<void> fill(Stream stream, std::span<std::byte> block, std::byte value) = 0;
  // Marks what `stream` has been given so far; a mark of `event` made earlier is forgotten.
  [[nodiscard]] virtual Result<void> record(Stream stream, const Event& event) = 0;
  // What `stream` is given from now on starts after the event's last mark; an event never recorded has passed.
  [[nodiscard]] virtual Result<void> wait(Stream stream, const Event& event) = 0;

  // These block the calling thread: until the event's last mark, until all streams have run dry.
  [[nodiscard]] virtual Result<void> synchronise(const Event& event) = 0;
  [[nodiscard]] virtual Result<void> synchronise() = 0;
  // Between the last marks of two events, both passed: time of the device's own clock.
  [[nodiscard]] virtual Result<double> seconds_between(const Event& first, const Event& second) = 0;

  // Block until done, from and to any host memory: for loading weights and for tests. Ordered behind and before all
  // streams.
  [[nodiscard]] virtual Result<void> write(std::byte* to_device, std::span<const std::byte> from) = 0;
  [[nodiscard]] virtual Result<void> read(std::span<std::byte> to, const std::byte* from_device) = 0;

 private:
  friend class Event;
  virtual void destroy(void* event) = 0;
};

inline Event::~Event() {
  if (handle_ != nullptr) accelerator_->destroy(handle_);
}

}  // namespace znni
