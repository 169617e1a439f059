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
      bytes_(voxel_bytes(volume.source.facts.type)),
      n_{volume.source.facts.channels, window.extent().y, window.extent().x},
      rows_(positions(volume.extent, 1, window.start.y, window.stop.y)) {
  std::vector<std::int64_t> columns = positions(volume.extent, 2, window.start.x, window.stop.x);
  const Range y = take_range(rows_);
  const Range x = take_range(columns);
  columns_ = stretches(columns);
  read_ = {{0, y.first, x.first}, {0, y.last, x.last}};
  inner_.resize(size(mul(mul(n_.z, bytes_), mul(y.last - y.first, x.last - x.first))));
  outer_.resize(size(mul(voxels(n_), bytes_)));
}

Result<void> PaddedReader::read(std::int64_t plane, std::span<std::byte> out) {
  std::fill(outer_.begin(), outer_.end(), std::byte{0});
  if (const auto z = source_position(volume_.extent, 0, plane)) {
    if (Result<void> done = volume_.source.read_plane(*z, read_, inner_); !done) return done;
    if (!nonfinite_) nonfinite_ = find_nonfinite(inner_, volume_.source.facts.type, *z, read_);
    spread();
  }
  deliver(out);
  return {};
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

// Copies inner_ into outer_.
void PaddedReader::spread() {
  const std::int64_t height = read_.extent().y;
  const std::int64_t width = read_.extent().x;
  for (std::int64_t row = 0; row < n_.z * n_.y; ++row) {
    const std::int64_t y = rows_[size(row % n_.y)];
    if (y < 0) continue;
    const std::byte* from = inner_.data() + (row / n_.y * height + y) * width * bytes_;
    std::byte* to = outer_.data() + row * n_.x * bytes_;
    for (const Stretch& part : columns_) {
      std::memcpy(to + part.to * bytes_, from + part.from * bytes_, size(part.count * bytes_));
    }
  }
}

void PaddedReader::deliver(std::span<std::byte> out) {
  if (!volume_.scale) return static_cast<void>(std::memcpy(out.data(), outer_.data(), outer_.size()));
  values_.resize(out.size() / sizeof(float));
  normalise(outer_, volume_.source.facts.type, *volume_.scale, *volume_.offset, values_);
  std::memcpy(out.data(), values_.data(), out.size());
}

}  // namespace znni::client
