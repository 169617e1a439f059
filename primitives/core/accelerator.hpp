// GPUs. An Accelerator is a Device whose memory the host cannot read and which works asynchronously, in three streams.
// Work of one stream runs in the order in which it was given; streams are ordered against each other only by events.
//
// Life of a run: the host gives copies, fills and kernels to streams, joins streams by events, and waits at the end.
// Until the host has waited for an event recorded after some work, that work may still be running. Until then neither
// the host nor another stream may use its memory again.
//
// One thread at a time gives work to an accelerator: the worker of its place. Any thread may call reserve(). A failure
// of work is reported by a later call, at the latest by the call that waits for the work. From then on every call fails
// with the same error. That error is device_lost if only another process can use the device again; it is device_failure
// if the device may work again. For a lost device a library's call may report any device_failure; synchronise() tells
// the two apart. A call that itself fails has given no work to the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "primitives/core/device.hpp"
#include "primitives/core/outside_fill.hpp"

namespace znni {

// The three streams that each accelerator has. Layers run on `compute`; only copies that overlap with work use the
// others.
enum class Stream { upload, compute, download };
inline constexpr int stream_count = 3;

class Accelerator;

// A mark in a stream that others can wait for; may be recorded repeatedly. Make events before a run, because making one
// may be slow. An event must not outlive its accelerator.
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

  // Returns the back end's own event; nullptr for an empty Event, which no call accepts.
  [[nodiscard]] void* handle() const { return handle_; }

 private:
  void swap(Event& other) noexcept {
    std::swap(accelerator_, other.accelerator_);
    std::swap(handle_, other.handle_);
  }
  Accelerator* accelerator_ = nullptr;
  void* handle_ = nullptr;
};

// `count` rows of `bytes` bytes each. Each row starts to_step (from_step) bytes after the start of the row before it. A
// single row is a plain copy. Rows of the destination do not overlap.
struct CopyRows {
  std::int64_t bytes = 0;
  std::int64_t count = 1;
  std::int64_t to_step = 0;
  std::int64_t from_step = 0;

  bool operator==(const CopyRows&) const = default;
};

// The memory spaces of an accelerator:
// - `device`: its own memory, reserved once as a block and granted by arenas like host memory. The host must not
//   dereference pointers into it; views of it are ordinary TensorViews. reserve() does not zero it.
// - `pinned`: page-locked host memory, required at the host end of a copy. Zeroed.
// - `host`: plain host memory, for data staged through pinned memory; its budget may be 0.
class Accelerator : public Device {
 public:
  [[nodiscard]] Accelerator* accelerator() final { return this; }

  [[nodiscard]] virtual Result<Event> make_event() = 0;

  // Copies to the device. The calls from here to wait() return at once. The host end of a copy must be pinned memory of
  // this accelerator.
  [[nodiscard]] virtual Result<void> upload(Stream stream, std::byte* to_device, const std::byte* from_pinned,
                                            const CopyRows& rows) = 0;
  [[nodiscard]] virtual Result<void> download(Stream stream, std::byte* to_pinned, const std::byte* from_device,
                                              const CopyRows& rows) = 0;
  [[nodiscard]] virtual Result<void> copy(Stream stream, std::byte* to_device, const std::byte* from_device,
                                          const CopyRows& rows) = 0;
  // Sets every byte of a block of device memory to `value`.
  [[nodiscard]] virtual Result<void> fill(Stream stream, std::span<std::byte> block, std::byte value) = 0;
  // Sets the voxels of a tensor in device memory that stand for padding.
  [[nodiscard]] virtual Result<void> fill_outside(Stream stream, const OutsideFill& fill) = 0;
  // Marks the end of the work given to `stream` so far; replaces an earlier mark of `event`.
  [[nodiscard]] virtual Result<void> record(Stream stream, const Event& event) = 0;
  // Makes work given to `stream` from now on start after the event's last mark. An event never recorded counts as
  // passed.
  [[nodiscard]] virtual Result<void> wait(Stream stream, const Event& event) = 0;

  // Block the calling thread: the first call until the event's last mark, the second until all streams are empty.
  [[nodiscard]] virtual Result<void> synchronise(const Event& event) = 0;
  [[nodiscard]] virtual Result<void> synchronise() = 0;
  // Returns the time between the last marks of two events by the device's clock. Both marks must have passed.
  [[nodiscard]] virtual Result<double> seconds_between(const Event& first, const Event& second) = 0;

  // Copy, block until done and accept any host memory: for loading weights and for tests. Each copy runs after all work
  // given before and before all work given later, in every stream.
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
