#include "server/train/samples/labelled_volume.hpp"

#include <algorithm>
#include <utility>

namespace znni {
namespace {

using client::Box;

// Fails unless the volume has labels for each voxel of the input.
Result<void> check_belongs(const PatchReader& labels, const PatchReader& input) {
  if (labels.facts().n == input.facts().n) return {};
  return Error{ErrorCode::invalid_argument, labels.name() + ": has an extent of " + to_string(labels.facts().n) + "; " +
                                                input.name() + " has " + to_string(input.facts().n) +
                                                ", and each of its voxels needs one here"};
}

Result<PatchReader> open_labels(const std::string& name, const PatchReader& input, VolumeMemory& memory) {
  Result<PatchReader> labels = PatchReader::open_labels(name, memory);
  if (!labels) return labels;
  const Result<void> belongs = check_belongs(*labels, input);
  return belongs ? std::move(labels) : belongs.error();
}

// Puts the voxels of `inner`, which lies in `outer`, where they lie there.
void place_box(const std::vector<std::uint64_t>& labels, const std::vector<std::uint64_t>& mask, const Box& inner,
               const Box& outer, LabelPatch& patch) {
  const Vec3 offset = inner.start - outer.start;
  const Vec3 n = inner.extent();
  std::size_t from = 0;
  for (std::int64_t z = 0; z < n.z; ++z) {
    for (std::int64_t y = 0; y < n.y; ++y) {
      const std::int64_t row = ((z + offset.z) * patch.n.y + y + offset.y) * patch.n.x + offset.x;
      for (std::int64_t x = 0; x < n.x; ++x, ++from) {
        patch.labels[static_cast<std::size_t>(row + x)] = labels[from];
        patch.known[static_cast<std::size_t>(row + x)] = mask.empty() || mask[from] != 0 ? 1 : 0;
      }
    }
  }
}

}  // namespace

Result<LabelledVolume> LabelledVolume::open(const VolumeNames& names, VolumeMemory& memory) {
  Result<PatchReader> voxels = PatchReader::open(names.input, memory);
  if (!voxels) return voxels.error();
  Result<PatchReader> classes = open_labels(names.labels, *voxels, memory);
  if (!classes) return classes.error();
  if (names.mask.empty()) return LabelledVolume(*std::move(voxels), *std::move(classes), std::nullopt);
  Result<PatchReader> known = open_labels(names.mask, *voxels, memory);
  if (!known) return known.error();
  return LabelledVolume(*std::move(voxels), *std::move(classes), *std::move(known));
}

Result<LabelPatch> LabelledVolume::labels_around(const Box& box) const {
  const Vec3 margin = Vec3::cube(target_margin);
  const Box outer{box.start - margin, box.stop + margin};
  const Box inner{max(outer.start, {}), min(outer.stop, extent())};
  const Result<std::vector<std::uint64_t>> labels = read_labels(labels_, inner);
  if (!labels) return labels.error();
  const Result<std::vector<std::uint64_t>> mask =
      mask_ ? read_labels(*mask_, inner) : Result<std::vector<std::uint64_t>>(std::vector<std::uint64_t>());
  if (!mask) return mask.error();
  const auto count = static_cast<std::size_t>(voxels(outer.extent()));
  LabelPatch patch{outer.extent(), std::vector<std::uint64_t>(count), std::vector<std::uint8_t>(count)};
  place_box(*labels, *mask, inner, outer, patch);
  return patch;
}

Result<LabelPatch> LabelledVolume::labels_for(TargetKind kind, const Box& box) const {
  Result<LabelPatch> patch = labels_around(box);
  if (!patch) return patch;
  const Result<void> sound = check_labels(kind, *patch);
  return sound ? std::move(patch) : sound.error().within(labels_.name() + ": voxels " + client::to_string(box));
}

Result<void> LabelledVolume::check_classes(std::uint64_t largest) const {
  constexpr std::int64_t largest_band = 128 << 10;  // voxels
  const Vec3 n = extent();
  const std::int64_t rows = std::clamp<std::int64_t>(largest_band / n.x, 1, n.y);
  for (std::int64_t z = 0; z < n.z; ++z) {
    for (std::int64_t y = 0; y < n.y; y += rows) {
      const Result<void> sound = check_band({{z, y, 0}, {z + 1, std::min(y + rows, n.y), n.x}}, largest);
      if (!sound) return sound;
    }
  }
  return {};
}

Result<void> LabelledVolume::check_band(const Box& band, std::uint64_t largest) const {
  const Result<std::vector<std::uint64_t>> labels = read_labels(labels_, band);
  if (!labels) return labels.error();
  const auto is_wrong = [&](std::uint64_t label) { return label > largest; };
  if (std::none_of(labels->begin(), labels->end(), is_wrong)) return {};
  const Result<std::vector<std::uint64_t>> mask =
      mask_ ? read_labels(*mask_, band) : Result<std::vector<std::uint64_t>>(std::vector<std::uint64_t>());
  if (!mask) return mask.error();
  for (std::size_t i = 0; i < labels->size(); ++i) {
    if (!is_wrong((*labels)[i]) || (!mask->empty() && (*mask)[i] == 0)) continue;
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t x = band.extent().x;
    return Error{ErrorCode::invalid_argument,
                 labels_.name() + ": the voxel at z, y, x of " + std::to_string(band.start.z) + ", " +
                     std::to_string(band.start.y + at / x) + ", " + std::to_string(at % x) + " has label " +
                     std::to_string((*labels)[i]) + "; as a class 0 to " + std::to_string(largest) +
                     " is right: if it means that the voxel is unlabelled, name a mask that is 0 there"};
  }
  return {};
}

Result<std::vector<LabelledVolume>> open_volumes(const std::vector<VolumeNames>& volumes, std::int64_t channels,
                                                 VolumeMemory& memory) {
  std::vector<LabelledVolume> opened;
  for (const VolumeNames& names : volumes) {
    Result<LabelledVolume> volume = LabelledVolume::open(names, memory);
    if (!volume) return volume.error();
    const std::int64_t found = volume->input().facts().channels;
    if (found != channels) {
      return Error{ErrorCode::invalid_argument, names.input + ": has " + std::to_string(found) +
                                                    " channels; the network reads " + std::to_string(channels)};
    }
    opened.push_back(*std::move(volume));
  }
  return opened;
}

}  // namespace znni
