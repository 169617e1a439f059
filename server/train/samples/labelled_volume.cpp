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

Result<PatchReader> open_weights(const std::string& name, const PatchReader& input, VolumeMemory& memory) {
  Result<PatchReader> weights = PatchReader::open(name, memory);
  if (!weights) return weights;
  if (weights->facts().channels != 1) {
    return Error{ErrorCode::invalid_argument,
                 name + ": has " + std::to_string(weights->facts().channels) + " channels; weights have one"};
  }
  const Result<void> belongs = check_belongs(*weights, input);
  return belongs ? std::move(weights) : belongs.error();
}

Result<std::vector<float>> read_weights(const PatchReader& reader, const Box& box) {
  Result<std::vector<float>> weights = read_input(reader, box, 1, 0);
  if (!weights) return weights;
  const auto wrong = std::find_if(weights->begin(), weights->end(), [](float weight) { return weight < 0; });
  if (wrong == weights->end()) return weights;
  return Error{ErrorCode::invalid_argument, reader.name() + ": a voxel of " + client::to_string(box) + " has weight " +
                                                std::to_string(*wrong) + "; at least 0 is right"};
}

// Puts the voxels of `inner`, which lies in `outer`, where they lie there.
template <class From, class To>
void place_box(const std::vector<From>& values, const Box& inner, const Box& outer, std::vector<To>& placed) {
  const Vec3 offset = inner.start - outer.start;
  const Vec3 n = inner.extent();
  const Vec3 stored = outer.extent();
  auto from = values.begin();
  for (std::int64_t z = 0; z < n.z; ++z) {
    for (std::int64_t y = 0; y < n.y; ++y, from += n.x) {
      const std::int64_t row = ((z + offset.z) * stored.y + y + offset.y) * stored.x + offset.x;
      std::copy(from, from + n.x, placed.begin() + row);
    }
  }
}

// Calls `check` with boxes of at most 2^17 voxels, or of a row, that make up the extent, until one fails.
template <class Check>
Result<void> check_bands(Vec3 n, const Check& check) {
  constexpr std::int64_t largest_band = 128 << 10;  // voxels
  const std::int64_t rows = std::clamp<std::int64_t>(largest_band / n.x, 1, n.y);
  for (std::int64_t z = 0; z < n.z; ++z) {
    for (std::int64_t y = 0; y < n.y; y += rows) {
      const Result<void> sound = check(Box{{z, y, 0}, {z + 1, std::min(y + rows, n.y), n.x}});
      if (!sound) return sound;
    }
  }
  return {};
}

}  // namespace

Result<LabelledVolume> LabelledVolume::open(const VolumeNames& names, VolumeMemory& memory) {
  Result<PatchReader> voxels = PatchReader::open(names.input, memory);
  if (!voxels) return voxels.error();
  Result<PatchReader> classes = open_labels(names.labels, *voxels, memory);
  if (!classes) return classes.error();
  LabelledVolume volume(*std::move(voxels), *std::move(classes));
  if (!names.mask.empty()) {
    Result<PatchReader> known = open_labels(names.mask, volume.input_, memory);
    if (!known) return known.error();
    volume.mask_ = *std::move(known);
  }
  if (!names.weights.empty()) {
    Result<PatchReader> weights = open_weights(names.weights, volume.input_, memory);
    if (!weights) return weights.error();
    volume.weights_ = *std::move(weights);
  }
  return volume;
}

Result<LabelPatch> LabelledVolume::labels_around(const Box& box) const {
  const Vec3 margin = Vec3::cube(target_margin);
  const Box outer{box.start - margin, box.stop + margin};
  const Box inner{max(outer.start, {}), min(outer.stop, extent())};
  const Result<std::vector<std::uint64_t>> labels = read_labels(labels_, inner);
  if (!labels) return labels.error();
  const Result<std::vector<std::uint8_t>> known = read_known(inner);
  if (!known) return known.error();
  const auto count = static_cast<std::size_t>(voxels(outer.extent()));
  LabelPatch patch{outer.extent(), std::vector<std::uint64_t>(count), std::vector<std::uint8_t>(count)};
  place_box(*labels, inner, outer, patch.labels);
  place_box(*known, inner, outer, patch.known);
  if (!weights_) return patch;
  const Result<std::vector<float>> weights = read_weights(*weights_, inner);
  if (!weights) return weights.error();
  patch.weights.resize(count);
  place_box(*weights, inner, outer, patch.weights);
  return patch;
}

Result<std::vector<std::uint8_t>> LabelledVolume::read_known(const Box& box) const {
  std::vector<std::uint8_t> known(static_cast<std::size_t>(voxels(box.extent())), 1);
  if (!mask_) return known;
  const Result<std::vector<std::uint64_t>> mask = read_labels(*mask_, box);
  if (!mask) return mask.error();
  std::transform(mask->begin(), mask->end(), known.begin(), [](std::uint64_t each) { return each != 0 ? 1 : 0; });
  return known;
}

Result<LabelPatch> LabelledVolume::labels_for(TargetKind kind, const Box& box) const {
  Result<LabelPatch> patch = labels_around(box);
  if (!patch) return patch;
  const Result<void> sound = check_labels(kind, *patch);
  return sound ? std::move(patch) : sound.error().within(labels_.name() + ": voxels " + client::to_string(box));
}

Result<void> LabelledVolume::check_classes(std::uint64_t largest) const {
  return check_bands(extent(), [&](const Box& band) { return check_band(band, largest); });
}

Result<void> LabelledVolume::check_weights() const {
  if (!weights_) return {};
  return check_bands(extent(), [&](const Box& band) -> Result<void> {
    const Result<std::vector<float>> weights = read_weights(*weights_, band);
    return weights ? Result<void>() : weights.error();
  });
}

Result<void> LabelledVolume::check_band(const Box& band, std::uint64_t largest) const {
  const Result<std::vector<std::uint64_t>> labels = read_labels(labels_, band);
  if (!labels) return labels.error();
  const auto is_wrong = [&](std::uint64_t label) { return label > largest; };
  if (std::none_of(labels->begin(), labels->end(), is_wrong)) return {};
  const Result<std::vector<std::uint8_t>> known = read_known(band);
  if (!known) return known.error();
  for (std::size_t i = 0; i < labels->size(); ++i) {
    if (!is_wrong((*labels)[i]) || (*known)[i] == 0) continue;
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
