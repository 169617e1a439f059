// Samples drawn from labelled volumes.
//
// A network's output is smaller than its input by the field of view less 1. Output voxel v belongs to input voxel v +
// (fov - 1) / 2, as znni infer pads. So the target of an even field of view lies half a voxel before the middle of the
// window. That holds in the frame of the network: a patch that is reversed has its labels reversed first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "primitives/core/shape.hpp"
#include "server/train/samples/augmentation.hpp"
#include "server/train/samples/labelled_volume.hpp"
#include "server/train/samples/samples.hpp"
#include "server/train/samples/targets.hpp"

namespace znni {

// uniform: every patch of every volume that has a voxel that counts in its output is as likely: a labelled one, of a
// class whose weight is not 0. balanced: the voxel in the middle of the output is of each class equally often, and
// within a class every labelled voxel is as likely. It is the middle of those that are compared. Classes are the
// labels; of boundaries and affinities 1 (of affinities: along all axes) and 0. Voxels so near to the volume's border
// that no patch has them in the middle are not drawn; of an even extent or field of view the last one may stand next to
// the middle.
enum class Sampling { uniform, balanced };

struct SampleOptions {
  std::uint64_t seed = 1;
  std::int64_t f_in = 1;        // channels of the input
  Vec3 patch;                   // of the input
  Vec3 output;                  // that the network makes of the patch, dense; no larger along any axis
  Vec3 stride = Vec3::cube(1);  // the loss compares the output's first voxel and each `stride`-th behind it
  float input_scale = 1;        // the network sees voxel * input_scale + input_offset
  float input_offset = 0;
  TargetKind targets = TargetKind::classes;
  std::uint64_t largest_class = max_class;  // of labels that are classes
  std::vector<double> class_weights;        // of the loss, of targets 0, 1, ...; none: every labelled voxel counts
  Sampling sampling = Sampling::uniform;
  AugmentationOptions augmentation;
  bool keeps_volumes = true;           // in memory; else patches are read from the files
  std::int64_t max_bytes = saturated;  // of all that the source keeps
};

class VolumeSamples : public SampleSource {
 public:
  // Returns the bytes that the source keeps: volumes, and what balanced sampling knows of them.
  [[nodiscard]] virtual std::int64_t memory_bytes() const = 0;
};

// Opens the volumes. Labels that are classes are read once, and once more by balanced sampling. Fails with
// invalid_argument if there is no volume, one is smaller than the patch, or labels or mask have another extent than the
// input. So it does if the channels are not f_in, or a labelled voxel has a class above the largest. Fails with
// over_budget if what is kept takes too much; the error names the file.
[[nodiscard]] Result<std::unique_ptr<VolumeSamples>> open_samples(const std::vector<VolumeNames>& volumes,
                                                                  const SampleOptions& options);

}  // namespace znni
