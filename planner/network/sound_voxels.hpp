// Which voxels of a network that pads depend on no padding, counted as the file counts them, and which of these its
// output needs. What padding made of the network (planner/network/padding.hpp) is taken back: of a value, voxel v of a
// whole volume's tensor stands at v + Node::beyond.
#pragma once

#include <optional>
#include <vector>

#include "planner/network/graph_edits.hpp"

namespace znni {

// How a node reads its first input in the file: what it writes in place of `factor` voxels, number g, it computes of
// voxels from g * stride - pads.begin on, and likewise from the ends. Pads below 0 crop.
struct FileReading {
  Vec3 stride = Vec3::cube(1);
  Vec3 factor = Vec3::cube(1);
  Border pads;
};

// Returns how node `number` of a network as read_onnx() returns it reads.
[[nodiscard]] FileReading file_reading(const Network& network, int number);

class SoundVoxels {
 public:
  // `padded` must outlive it, pass check(), and not be bound to its window.
  explicit SoundVoxels(const LoadedNetwork& padded);

  [[nodiscard]] const FileReading& reading(int number) const { return readings_[index(number)]; }
  // Returns whether the outputs need the value. Those that padding added for the sake of the volume's voxels, such as
  // repeated ones, they do not.
  [[nodiscard]] bool is_needed(int value) const { return needed_[index(value)].has_value(); }
  // Returns the voxels at a value's ends that no output needs: all sound voxels of the outputs are computed of the
  // rest. Of a value that is needed.
  [[nodiscard]] const Border& needed(int value) const { return *needed_[index(value)]; }
  // Returns likewise those of its first input that a node does not read for them.
  [[nodiscard]] Border read_by(int number) const;

  // Returns whether the node copies its input and pads, and does nothing else.
  [[nodiscard]] bool only_pads(int number) const;
  // Returns whether the node has pads in every file: it interpolates, or is the convolution of a transposed one.
  [[nodiscard]] bool keeps_pads(int number) const;
  // Returns whether it is the shuffle behind such a convolution.
  [[nodiscard]] bool shuffles_kept(int number) const;

  // Returns the values that the file has as outputs.
  [[nodiscard]] const std::vector<int>& outputs() const { return outputs_; }
  // Returns the voxels at the ends of each that the valid network does not write. Nodes may need more of it.
  [[nodiscard]] const Border& lost_of_output(std::size_t number) const { return of_outputs_[number]; }
  // Returns the node that joins several outputs.
  [[nodiscard]] int join() const { return join_; }
  // Returns true if the network has no strides but those of poolings, so that it is dense without padding.
  [[nodiscard]] bool is_dense() const { return is_dense_; }
  // Returns the voxels at the ends of the input that are not needed, but need not be cropped: a dense network is
  // computed at every offset of its strides.
  [[nodiscard]] Border moved() const;
  // Return the numbers of the same names in MadeValid.
  [[nodiscard]] Vec3 first() const;
  [[nodiscard]] Vec3 step() const { return is_dense_ ? network_.output_stride : Vec3::cube(1); }

 private:
  void find_outputs();
  [[nodiscard]] int source_of(int value, bool is_repeated) const;
  void find_sound();
  void ask_outputs();
  void ask_inputs();
  void ask(int value, const Border& lost);
  [[nodiscard]] Vec3 stride_of_output(std::size_t number) const;

  const Network& network_;
  const NetworkWeights& weights_;
  std::vector<FileReading> readings_;          // per node
  std::vector<Border> sound_;                  // per value: voxels at its ends that depend on padding
  std::vector<std::optional<Border>> needed_;  // per value
  std::vector<int> outputs_;
  std::vector<Border> of_outputs_;
  int join_ = -1;
  bool is_dense_ = true;
};

}  // namespace znni
