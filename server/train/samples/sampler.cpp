#include "server/train/samples/sampler.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/train/samples/balance.hpp"
#include "server/train/samples/labelled_volume.hpp"

namespace znni {
namespace {

using client::Box;

// Draws of a step, at most, until a patch has a labelled voxel.
constexpr int max_draws = 1000;

Error invalid(std::string message) { return {ErrorCode::invalid_argument, std::move(message)}; }

// Returns how many patches of that extent begin at different voxels.
std::int64_t patches_in(Vec3 volume, Vec3 patch) { return voxels(volume - patch + Vec3::cube(1)); }

// Returns the voxels before the output's first in the frame of the network.
Vec3 voxels_before(const SampleOptions& options) { return (options.patch - options.output) / Vec3::cube(2); }

// Returns the voxel of the patch that stands in the middle of those of the output that are compared.
Vec3 middle_of(const SampleOptions& options) {
  return voxels_before(options) + strided(options.output, options.stride) / Vec3::cube(2) * options.stride;
}

std::vector<float> turned_weights(const LabelPatch& patch, const Symmetry& symmetry) {
  return patch.weights.empty() ? patch.weights : turned<float>(patch.weights, patch.n, symmetry);
}

class Sampler final : public VolumeSamples {
 public:
  Sampler(SampleOptions options, std::vector<LabelledVolume> volumes, std::optional<ClassRows> rows, std::int64_t bytes)
      : options_(std::move(options)), volumes_(std::move(volumes)), rows_(std::move(rows)), bytes_(bytes) {}

  [[nodiscard]] std::int64_t memory_bytes() const override { return bytes_; }

  Result<Sample> sample(std::uint64_t step) override {
    CounterRandom random(options_.seed, step, RandomStream::symmetry);
    const Symmetry symmetry = draw_symmetry(options_.augmentation, options_.patch, options_.output, random);
    CounterRandom places(options_.seed, step, RandomStream::place);
    for (int draw = 0; draw < max_draws; ++draw) {
      const Result<PlaceInVolume> start = draw_start(places, symmetry);
      if (!start) return start.error();
      Sample sample;
      if (Result<void> cut = cut_target(*start, symmetry, sample); !cut) return cut.error();
      if (!does_count(sample)) continue;
      if (Result<void> cut = cut_input(*start, symmetry, step, sample); !cut) return cut.error();
      return sample;
    }
    return nothing_labelled();
  }

 private:
  [[nodiscard]] Error nothing_labelled() const {
    const bool is_one = volumes_.size() == 1;
    const std::vector<double>& weights = options_.class_weights;
    const bool has_0 = std::find(weights.begin(), weights.end(), 0.0) != weights.end();
    return invalid(volumes_.front().labels().name() + (is_one ? "" : " and the other volumes") + ": " +
                   std::to_string(max_draws) + " patches were drawn, and the output of none has a labelled voxel" +
                   (has_0 ? " of a class whose class_weight is not 0" : "") +
                   (has_weights() ? " whose weight is not 0" : "") +
                   "; label or unmask more voxels, or cut the volumes around those that are labelled");
  }

  [[nodiscard]] bool has_weights() const {
    return std::any_of(volumes_.begin(), volumes_.end(), [](const LabelledVolume& each) { return each.has_weights(); });
  }

  // Returns whether a voxel of the sample is labelled, with a target whose class has a weight.
  [[nodiscard]] bool does_count(const Sample& sample) const {
    const std::vector<double>& of_classes = options_.class_weights;
    for (std::size_t at = 0; at < sample.target.size(); ++at) {
      if (sample.weight[at % sample.weight.size()] == 0) continue;
      const auto own = static_cast<std::size_t>(sample.target[at]);
      if (own >= of_classes.size() || of_classes[own] != 0) return true;
    }
    return false;
  }

  // Returns the first voxel of the patch.
  [[nodiscard]] Result<PlaceInVolume> draw_start(CounterRandom& random, const Symmetry& symmetry) const {
    if (!rows_) return draw_uniform(random);
    Result<PlaceInVolume> drawn = rows_->draw(volumes_, random);
    if (!drawn) return drawn;
    Vec3 middle = middle_of(options_);
    for (int axis = 0; axis < 3; ++axis) {
      if (symmetry.reversed[axis] != 0) middle[axis] = options_.patch[axis] - 1 - middle[axis];
    }
    const Vec3 last = volumes_[drawn->volume].extent() - options_.patch;
    drawn->voxel = max({}, min(drawn->voxel - middle, last));
    return drawn;
  }

  [[nodiscard]] PlaceInVolume draw_uniform(CounterRandom& random) const {
    std::int64_t all = 0;
    for (const LabelledVolume& volume : volumes_) all += patches_in(volume.extent(), options_.patch);
    std::int64_t number = random.below(all);
    std::size_t volume = 0;
    for (; number >= patches_in(volumes_[volume].extent(), options_.patch); ++volume) {
      number -= patches_in(volumes_[volume].extent(), options_.patch);
    }
    const Vec3 starts = volumes_[volume].extent() - options_.patch + Vec3::cube(1);
    return {volume, {number / (starts.y * starts.x), number / starts.x % starts.y, number % starts.x}};
  }

  Result<void> cut_input(const PlaceInVolume& start, const Symmetry& symmetry, std::uint64_t step,
                         Sample& sample) const {
    const Box box{start.voxel, start.voxel + options_.patch};
    Result<std::vector<float>> input =
        read_input(volumes_[start.volume].input(), box, options_.input_scale, options_.input_offset);
    if (!input) return input.error();
    CounterRandom tone(options_.seed, step, RandomStream::tone);
    change_tone(options_.augmentation, tone, *input);
    CounterRandom planes(options_.seed, step, RandomStream::planes);
    damage_planes(options_.augmentation, planes, options_.patch, *input);
    sample.input = turned<float>(*input, options_.patch, symmetry);
    return {};
  }

  // Turns the labels, and makes the target of what they are then.
  Result<void> cut_target(const PlaceInVolume& start, const Symmetry& symmetry, Sample& sample) const {
    const Vec3 before = voxels_before(options_);
    const Vec3 behind = options_.patch - options_.output - before;
    Vec3 offset = before;
    for (int axis = 0; axis < 3; ++axis) {
      if (symmetry.reversed[axis] != 0) offset[axis] = behind[axis];
    }
    const Box box{start.voxel + offset, start.voxel + offset + options_.output};
    const Result<LabelPatch> labels = volumes_[start.volume].labels_for(options_.targets, box);
    if (!labels) return labels.error();
    Targets dense = targets_of(options_.targets, {labels->n, turned<std::uint64_t>(labels->labels, labels->n, symmetry),
                                                  turned<std::uint8_t>(labels->known, labels->n, symmetry),
                                                  turned_weights(*labels, symmetry)});
    Targets targets = strided(std::move(dense), options_.output, options_.stride);
    sample.target = std::move(targets.values);
    sample.weight = std::move(targets.weights);
    sample.labels = volumes_[start.volume].labels().name() + ": voxels " + client::to_string(box);
    return {};
  }

  SampleOptions options_;
  std::vector<LabelledVolume> volumes_;
  std::optional<ClassRows> rows_;  // of balanced sampling
  std::int64_t bytes_;
};

Result<void> check_options(const SampleOptions& options) {
  if (!covers(options.output, Vec3::cube(1)) || !covers(options.patch, options.output)) {
    return invalid("a patch of " + to_string(options.patch) + " with an output of " + to_string(options.output) +
                   "; the output must have voxels, and the patch at least as many");
  }
  return {};
}

Result<void> check_volume(const LabelledVolume& volume, const SampleOptions& options) {
  if (covers(volume.extent(), options.patch)) return {};
  return invalid(volume.input().name() + ": has an extent of " + to_string(volume.extent()) +
                 ", smaller than a patch of " + to_string(options.patch) + "; take a smaller patch");
}

// Counts the classes of all voxels that may stand in the middle of an output, within so many bytes.
Result<ClassRows> count_classes(const std::vector<LabelledVolume>& volumes, const SampleOptions& options,
                                std::int64_t max_bytes) {
  std::vector<Box> boxes;
  for (const LabelledVolume& volume : volumes) {
    const Vec3 first = middle_of(options);
    boxes.push_back({first, first + volume.extent() - options.patch + Vec3::cube(1)});
  }
  Result<ClassRows> rows = ClassRows::count(options.targets, volumes, std::move(boxes), max_bytes);
  if (!rows) return rows;
  if (!rows->counts().empty()) return rows;
  return invalid(volumes.front().input().name() +
                 ": no voxel is labelled that may stand in the middle of an output; sample uniformly");
}

}  // namespace

Result<std::unique_ptr<VolumeSamples>> open_samples(const std::vector<VolumeNames>& volumes,
                                                    const SampleOptions& options) {
  if (Result<void> sound = check_options(options); !sound) return sound.error();
  if (volumes.empty()) return invalid("there is no volume to train from; name one");
  VolumeMemory memory{options.keeps_volumes, options.max_bytes, 0};
  Result<std::vector<LabelledVolume>> opened = open_volumes(volumes, options.f_in, memory);
  if (!opened) return opened.error();
  for (const LabelledVolume& volume : *opened) {
    if (Result<void> sound = check_volume(volume, options); !sound) return sound.error();
    if (Result<void> sound = volume.check_weights(); !sound) return sound.error();
    if (options.targets != TargetKind::classes) continue;
    if (Result<void> sound = volume.check_classes(options.largest_class); !sound) return sound.error();
  }
  std::optional<ClassRows> rows;
  if (options.sampling == Sampling::balanced) {
    Result<ClassRows> counted = count_classes(*opened, options, options.max_bytes - memory.bytes);
    if (!counted) return counted.error();
    rows = *std::move(counted);
    memory.bytes += rows->memory_bytes();
  }
  return std::unique_ptr<VolumeSamples>(
      std::make_unique<Sampler>(options, *std::move(opened), std::move(rows), memory.bytes));
}

}  // namespace znni
