// A volume that flows through a few planes of memory: one thread writes its bytes in their order, another reads its
// planes. The writer waits while all planes in memory are still wanted, the reader until what it wants has come.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>

#include "server/volume/plane_source.hpp"

namespace znni {

class PlaneRing final : public PlaneSource {
 public:
  // Keeps planes in `memory`, the caller's, which holds whole planes of all channels: at least as many as the reader
  // wants at a time, at least one; every one more lets the writer be ahead of it. The channels of a plane follow each
  // other: shape.order is plane_major, or there is one channel. The writer begins with plane `first_plane`.
  PlaneRing(std::span<std::byte> memory, const VolumeShape& shape, std::int64_t first_plane = 0);

  // Writes the next bytes of the volume, which must have as many left. Blocks while there is no room. Fails with
  // `cancelled` if the ring is closed or `stop` asks for it.
  [[nodiscard]] Result<void> write(std::span<const std::byte> bytes, const std::stop_token& stop);
  // Fails the source: what is missing will never come, and waiting for it gives this error. The first error stays.
  void fail(const Error& error);
  // Notes that no planes are read any more.
  void close();

  [[nodiscard]] const VolumeShape& shape() const override { return shape_; }
  void want(const PlaneRange& planes) override;
  [[nodiscard]] bool here() const override;
  // Waits for the wanted planes. Fails with `internal` if more planes are wanted than there is memory for.
  [[nodiscard]] Result<void> wait(const std::stop_token& stop) override;
  [[nodiscard]] const std::byte* plane(std::int64_t channel, std::int64_t z) const override;

 private:
  [[nodiscard]] bool have_come() const { return written_ >= wanted_.last * plane_bytes_; }
  // Waits for room and returns the memory of the next bytes, as far as it is contiguous; at least one byte.
  [[nodiscard]] Result<std::span<std::byte>> wait_for_room(const std::stop_token& stop);

  const std::span<std::byte> memory_;
  const VolumeShape shape_;
  const std::int64_t plane_bytes_;  // of all channels
  const std::int64_t capacity_;     // planes
  // Guards what stands below it. It does not guard the planes: the writer fills only what wait_for_room() gave it, and
  // the reader looks only at planes it wants that have come; the two never meet, for room is made by wanting later
  // planes.
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  PlaneRange wanted_;
  std::int64_t written_;  // bytes, from the begin of the volume
  std::optional<Error> failure_;
  bool closed_ = false;
};

}  // namespace znni
