#include "server/volume/plane_ring.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace znni {
namespace {

std::int64_t bytes_of_plane(const VolumeShape& shape) {
  return volume_bytes({shape.f, {1, shape.n.y, shape.n.x}, shape.type, shape.order});
}

Error cancelled(const char* why) { return {ErrorCode::cancelled, why}; }

}  // namespace

PlaneRing::PlaneRing(std::span<std::byte> memory, const VolumeShape& shape, std::int64_t first_plane)
    : memory_(memory),
      shape_(shape),
      plane_bytes_(bytes_of_plane(shape)),
      capacity_(static_cast<std::int64_t>(memory.size()) / plane_bytes_),
      wanted_{first_plane, first_plane},
      written_(first_plane * plane_bytes_) {
  ensure(capacity_ >= 1, "a ring holds a plane");
  ensure(shape.order == VolumeOrder::plane_major || shape.f == 1, "the channels of a plane follow each other");
}

Result<std::span<std::byte>> PlaneRing::wait_for_room(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto room = [this] { return (wanted_.first + capacity_) * plane_bytes_ - written_; };
  if (!changed_.wait(lock, stop, [&] { return closed_ || room() > 0; }) || closed_) {
    return cancelled("the input is wanted no more");
  }
  const std::int64_t begin = written_ % (capacity_ * plane_bytes_);
  const std::int64_t bytes = std::min(room(), capacity_ * plane_bytes_ - begin);
  return memory_.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
}

Result<void> PlaneRing::write(std::span<const std::byte> bytes, const std::stop_token& stop) {
  while (!bytes.empty()) {
    const Result<std::span<std::byte>> room = wait_for_room(stop);
    if (!room) return room.error();
    const std::size_t taken = std::min(room->size(), bytes.size());
    std::memcpy(room->data(), bytes.data(), taken);
    bytes = bytes.subspan(taken);
    const std::lock_guard lock(mutex_);
    written_ += static_cast<std::int64_t>(taken);
    ensure(written_ <= shape_.n.z * plane_bytes_, "no more is written than the volume has");
    changed_.notify_all();
  }
  return {};
}

void PlaneRing::fail(const Error& error) {
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = error;
  changed_.notify_all();
}

void PlaneRing::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void PlaneRing::want(const PlaneRange& planes) {
  const std::lock_guard lock(mutex_);
  ensure(planes.first >= wanted_.first && planes.last >= wanted_.last, "planes are wanted in rising order");
  wanted_ = planes;
  changed_.notify_all();
}

bool PlaneRing::here() const {
  const std::lock_guard lock(mutex_);
  return have_come() || failure_.has_value();
}

Result<void> PlaneRing::wait(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  if (wanted_.last - wanted_.first > capacity_) {
    return Error{ErrorCode::internal, "planes " + std::to_string(wanted_.first) + " to " +
                                          std::to_string(wanted_.last) + " of the input are wanted at a time; " +
                                          std::to_string(capacity_) + " have room"};
  }
  const bool ended = changed_.wait(lock, stop, [this] { return have_come() || failure_.has_value(); });
  if (!ended) return cancelled("the job was cancelled");
  return have_come() ? Result<void>() : Result<void>(*failure_);
}

const std::byte* PlaneRing::plane(std::int64_t channel, std::int64_t z) const {
  const std::int64_t place = z % capacity_ * plane_bytes_ + channel * (plane_bytes_ / shape_.f);
  return memory_.data() + place;
}

}  // namespace znni
