#include "client/cli/padded_reader.hpp"

#include <algorithm>
#include <cstring>

namespace znni::client {
namespace {

// Returns the volume's position for each of [first, last) of the padded extent; -1 if it is zero padding.
std::vector<std::int64_t> positions(const PaddedExtent& extent, int axis, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> found;
  for (std::int64_t at = first; at < last; ++at) found.push_back(source_position(extent, axis, at).value_or(-1));
  return found;
}

// A range of positions, [first, last).
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
// Returns the range that the positions span, and makes them relative to its begin.
Range take_range(std::vector<std::int64_t>& found) {
  const auto is_read = [](std::int64_t at) { return at >= 0; };
  const auto some = std::find_if(found.begin(), found.end(), is_read);
  if (some == found.end()) return {0, 1};
  Range range{*some, *some + 1};
  for (const std::int64_t at : found) {
    if (at >= 0) range = {std::min(range.first, at), std::max(range.last, at + 1)};
  }
  for (std::int64_t& at : found) at -= at >= 0 ? range.first : 0;
  return range;
}

std::size_t size(std::int64_t count) { return static_cast<std::size_t>(count); }

}  // namespace

PaddedReader::PaddedReader(const PaddedVolume& volume, const Box& window)
    : volume_(volume),
      type_(volume.scale ? VoxelType::f32 : volume.source.facts.type),
      n_{volume.source.facts.channels, window.extent().y, window.extent().x},
      rows_(positions(volume.extent, 1, window.start.y, window.stop.y)) {
  std::vector<std::int64_t> columns = positions(volume.extent, 2, window.start.x, window.stop.x);
  const Range y = take_range(rows_);
  const Range x = take_range(columns);
  columns_ = stretches(columns);
  read_ = {{0, y.first, x.first}, {0, y.last, x.last}};
  const std::int64_t count = mul(n_.z, mul(y.last - y.first, x.last - x.first));
  voxels_.resize(size(mul(count, voxel_bytes(volume.source.facts.type))));
  values_.resize(volume.scale ? size(count) : 0);
}

Result<void> PaddedReader::read(std::int64_t plane, std::span<std::byte> out) {
  fill_with_zero(out);
  const auto z = source_position(volume_.extent, 0, plane);
  if (!z) return {};
  if (Result<void> done = volume_.source.read_plane(*z, read_, voxels_); !done) return done;
  const std::span<const std::byte> sent = normalised();
  if (!nonfinite_) nonfinite_ = find_nonfinite(sent, type_, *z, read_);
  spread(sent, out);
  return {};
}

// Returns the voxels that were read, as they are sent.
std::span<const std::byte> PaddedReader::normalised() {
  if (!volume_.scale) return voxels_;
  normalise(voxels_, volume_.source.facts.type, *volume_.scale, *volume_.offset, values_);
  return std::as_bytes(std::span(values_));
}

// Fills with what voxels of 0 are sent as.
void PaddedReader::fill_with_zero(std::span<std::byte> out) const {
  const float zero = volume_.scale ? *volume_.offset : 0;
  if (zero == 0) return static_cast<void>(std::fill(out.begin(), out.end(), std::byte{0}));
  for (std::size_t at = 0; at < out.size(); at += sizeof(zero)) std::memcpy(out.data() + at, &zero, sizeof(zero));
}

std::vector<PaddedReader::Stretch> PaddedReader::stretches(const std::vector<std::int64_t>& columns) {
  std::vector<Stretch> found;
  for (std::int64_t to = 0; to < std::ssize(columns); ++to) {
    const std::int64_t from = columns[size(to)];
    if (from < 0) continue;
    const bool goes_on =
        !found.empty() && found.back().to + found.back().count == to && found.back().from + found.back().count == from;
    if (!goes_on) found.push_back({from, to, 0});
    ++found.back().count;
  }
  return found;
}

// Copies the voxels that were read to their places.
void PaddedReader::spread(std::span<const std::byte> sent, std::span<std::byte> out) const {
  const std::int64_t bytes = voxel_bytes(type_);
  const std::int64_t height = read_.extent().y;
  const std::int64_t width = read_.extent().x;
  for (std::int64_t row = 0; row < n_.z * n_.y; ++row) {
    const std::int64_t y = rows_[size(row % n_.y)];
    if (y < 0) continue;
    const std::byte* from = sent.data() + (row / n_.y * height + y) * width * bytes;
    std::byte* to = out.data() + row * n_.x * bytes;
    for (const Stretch& part : columns_) {
      std::memcpy(to + part.to * bytes, from + part.from * bytes, size(part.count * bytes));
    }
  }
}

}  // namespace znni::client
