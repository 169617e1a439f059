#include "proto/convert/onnx/reader/onnx_volumes.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "planner/network/padding.hpp"
#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

constexpr std::int64_t remainders = 64;
// Remainders that are tried for a net that no volume suits: its refusals alone are of interest.
constexpr std::int64_t remainders_of_refused = 16;
// Step of the first volumes, which all usual strides divide, and their extent, far above all that a net loses.
constexpr std::int64_t first_step = std::int64_t{945} << 14;
constexpr std::int64_t first_extent = 5 * first_step;

using Axes = std::vector<int>;

Axes open_axes(const OnnxBuilder& builder) {
  Axes axes;
  for (int axis = 3 - builder.rank(); axis < 3; ++axis) {
    if (builder.extents(0).least[axis] == 0) axes.push_back(axis);
  }
  return axes;
}

// Returns volumes of these extents and steps along the open axes, else as declared.
VolumeExtents along_open(VolumeExtents declared, const Axes& open, Vec3 least, Vec3 step) {
  for (const int axis : open) {
    declared.least[axis] = least[axis];
    declared.step[axis] = step[axis];
  }
  return declared;
}

// Returns the volumes that the network takes.
VolumeExtents taken_by(const Network& network) {
  const Vec3 step = is_strided(network) ? period(network) : reaches(network).back().stride;
  const Vec3 least = min_extent(network) - network.frame.begin - network.frame.end;
  return {max(Vec3::cube(1), least), step};
}

// Returns the smallest extent along `axis`, of those that the network takes, for which no value is empty: of smaller
// volumes a framework computes nothing. The builder has read large volumes, and `values` values.
std::int64_t min_along(const OnnxBuilder& builder, int values, const VolumeExtents& taken, int axis) {
  std::int64_t n = taken.least[axis];
  const VolumeExtents& large = builder.extents(0);
  for (int value = 0; value < values; ++value) {
    const VolumeExtents& extents = builder.extents(value);
    const bool follows = extents.least[axis] > 0 && extents.step[axis] > 0 && extents.step[axis] <= large.step[axis];
    if (!follows) continue;
    const std::int64_t stride = large.step[axis] / extents.step[axis];
    const std::int64_t left = extents.least[axis] - (large.least[axis] - n) / stride;
    if (left < 1) n += round_up((1 - left) * stride, taken.step[axis]);
  }
  return n;
}

// Remainders of volumes for which branches meet, per axis; the better ones leave no voxels unread.
class Remainders {
 public:
  explicit Remainders(Axes open) : open_(std::move(open)) {}

  void note(const OnnxBuilder& builder, std::int64_t remainder) {
    for (const int axis : open_) {
      const auto place = static_cast<std::size_t>(axis);
      if (builder.misfits().unmet[axis] > 0) continue;
      if (!meeting_[place]) meeting_[place] = remainder;
      const bool exact = builder.is_padded() || builder.misfits().unread[axis] == 0;
      if (exact && !exact_[place]) exact_[place] = remainder;
    }
  }
  [[nodiscard]] bool is_done() const { return all_of(exact_).has_value(); }
  // Returns candidates, the best first.
  [[nodiscard]] std::vector<Vec3> found() const {
    std::vector<Vec3> all;
    for (const auto& each : {all_of(exact_), all_of(meeting_)}) {
      if (each) all.push_back(*each);
    }
    return all;
  }

 private:
  using PerAxis = std::array<std::optional<std::int64_t>, 3>;

  [[nodiscard]] std::optional<Vec3> all_of(const PerAxis& each) const {
    Vec3 remainder;
    for (const int axis : open_) {
      if (!each[static_cast<std::size_t>(axis)]) return std::nullopt;
      remainder[axis] = *each[static_cast<std::size_t>(axis)];
    }
    return remainder;
  }

  Axes open_;
  PerAxis meeting_;
  PerAxis exact_;
};

class Search {
 public:
  explicit Search(const OnnxReading& reading) : reading_(reading), declared_(reading.make().extents(0)) {
    open_ = open_axes(reading.make());
  }

  // Sets `all` to the blockers of the reading that the error is of.
  Result<VolumeExtents> run(Blockers& all) {
    const Result<VolumeExtents> found = search();
    if (!found && refused_) all = refused_->all;
    return found;
  }

 private:
  struct Refused {
    Error error;
    Blockers all;
  };

  Result<VolumeExtents> search() {
    if (open_.empty()) return declared_;
    Remainders remainders_found(open_);
    bool is_read = false;
    for (std::int64_t remainder = 0; remainder < remainders && !remainders_found.is_done(); ++remainder) {
      OnnxBuilder builder = reader_of(Vec3::cube(remainder));
      Blockers all;
      if (const Result<void> read = reading_.read(builder, all); read) {
        remainders_found.note(builder, remainder);
        is_read = true;
      } else {
        note(read.error(), all);
        if (!builder.known().depend_on_volume()) break;  // as for any other remainder
        if (builder.is_refused_for_all() && remainder + 1 == remainders_of_refused) break;
      }
    }
    if (is_read) refused_.reset();  // what other remainders are refused for does not matter
    for (const Vec3 remainder : remainders_found.found()) {
      Blockers all;
      const Result<VolumeExtents> volumes = volumes_of(remainder, all);
      if (volumes) return volumes;
      note(volumes.error(), all);
    }
    if (refused_) return refused_->error;
    return unsupported("branches do not meet, whatever the volume's extent, in a net that computes with extents");
  }

  // Notes what a reading was refused for, if none before had as few blockers.
  void note(const Error& error, const Blockers& all) {
    if (!refused_ || all.count < refused_->all.count) refused_ = {error, all};
  }

  [[nodiscard]] OnnxBuilder reader_of(Vec3 remainder) const {
    OnnxBuilder builder = reading_.make();
    builder.leave_weights_out();
    builder.assume(along_open(declared_, open_, Vec3::cube(first_extent) + remainder, Vec3::cube(first_step)));
    return builder;
  }

  // Returns the volumes that the net of this remainder takes. Fails if they have another one. `all` gets the refusals
  // of nodes.
  Result<VolumeExtents> volumes_of(Vec3 remainder, Blockers& all) const {
    OnnxBuilder builder = reader_of(remainder);
    if (const Result<void> read = reading_.read(builder, all); !read) return read.error();
    const Vec3 extent = builder.extents(0).least;
    const int values = static_cast<int>(builder.network().nodes.size()) + 1;
    const Result<LoadedNetwork> valid = without_padding({std::move(builder.network()), {}}, builder.pads(), extent);
    if (!valid) return valid.error();
    if (const Result<void> sound = check(valid->network); !sound) return corrupt(sound.error().message);
    const VolumeExtents taken = taken_by(valid->network);
    Vec3 least;
    for (const int axis : open_) {
      least[axis] = min_along(builder, values, taken, axis);
      if ((extent[axis] - taken.least[axis]) % taken.step[axis] == 0) continue;
      return unsupported("computes with extents, and its branches meet for other volumes than it was read for");
    }
    return along_open(declared_, open_, least, taken.step);
  }

  const OnnxReading& reading_;
  VolumeExtents declared_;
  Axes open_;
  std::optional<Refused> refused_;  // the first with the fewest blockers
};

}  // namespace

Result<VolumeExtents> find_volumes(const OnnxReading& reading, Blockers& all) { return Search(reading).run(all); }

Result<void> check_covered(const Network& network, const VolumeExtents& volumes) {
  const VolumeExtents taken = taken_by(network);
  for (int axis = 3 - network.spatial_rank; axis < 3; ++axis) {
    const bool declared = volumes.step[axis] == 0;
    const std::int64_t more = volumes.least[axis] - taken.least[axis];
    const bool among = more % taken.step[axis] == 0 || (is_dense(network) && more >= 0);
    const bool all = volumes.step[axis] == taken.step[axis] && more >= 0 && more % taken.step[axis] == 0;
    if (among && (declared || all)) continue;
    return unsupported("computes with extents of volumes of " + std::to_string(volumes.least[axis]) + " voxels along " +
                       std::string(1, "zyx"[axis]) + ", and takes others: " + std::to_string(taken.least[axis]) +
                       " and steps of " + std::to_string(taken.step[axis]));
  }
  return {};
}

}  // namespace znni
