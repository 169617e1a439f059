// A volume with its labels: what samples are cut from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/files/bbox.hpp"
#include "server/train/samples/patch_reader.hpp"
#include "server/train/samples/targets.hpp"

namespace znni {

// Files of one volume, as `znni infer` names them.
struct VolumeNames {
  std::string input;
  std::string labels;
  std::string mask;          // 0 where a voxel is unlabelled; "": all voxels are labelled
  std::string weights = {};  // how much each voxel counts, at least 0; "": each counts 1
};

class LabelledVolume {
 public:
  // Opens the files. Fails if they do not belong together; every error begins with a file's name.
  [[nodiscard]] static Result<LabelledVolume> open(const VolumeNames& names, VolumeMemory& memory);

  [[nodiscard]] const PatchReader& input() const { return input_; }
  [[nodiscard]] const PatchReader& labels() const { return labels_; }
  [[nodiscard]] Vec3 extent() const { return input_.facts().n; }
  [[nodiscard]] bool has_weights() const { return weights_.has_value(); }
  // Returns the labels of a box and of the margin around it (target_margin), with their weights. What lies outside of
  // the volume is not known, and so are voxels that the mask has as 0.
  [[nodiscard]] Result<LabelPatch> labels_around(const client::Box& box) const;
  // Returns the same for targets of that kind. Fails if check_labels() does; the error has the file's name and the box.
  [[nodiscard]] Result<LabelPatch> labels_for(TargetKind kind, const client::Box& box) const;

  // Fails unless every known voxel has a label up to that; the error has the file's name, the first such voxel, what it
  // has and what is right. Reads all labels once, in bands of at most 2^17 voxels, or of a row.
  [[nodiscard]] Result<void> check_classes(std::uint64_t largest) const;
  // Fails unless every weight is a finite number of at least 0; the error has the file's name and a box. Reads all
  // weights once, in such bands.
  [[nodiscard]] Result<void> check_weights() const;

 private:
  // Returns 1 for each labelled voxel of a box, 0 for the others.
  [[nodiscard]] Result<std::vector<std::uint8_t>> read_known(const client::Box& box) const;
  [[nodiscard]] Result<void> check_band(const client::Box& band, std::uint64_t largest) const;
  LabelledVolume(PatchReader input, PatchReader labels) : input_(std::move(input)), labels_(std::move(labels)) {}

  PatchReader input_;
  PatchReader labels_;
  std::optional<PatchReader> mask_;
  std::optional<PatchReader> weights_;
};

// Opens volumes of so many channels. Fails as LabelledVolume::open() does, or with invalid_argument for other channels.
[[nodiscard]] Result<std::vector<LabelledVolume>> open_volumes(const std::vector<VolumeNames>& volumes,
                                                               std::int64_t channels, VolumeMemory& memory);

}  // namespace znni
