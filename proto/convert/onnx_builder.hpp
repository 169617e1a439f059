// A network while its ONNX nodes are read one after the other.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "planner/network/network.hpp"
#include "proto/convert/onnx_attributes.hpp"
#include "proto/convert/onnx_graph.hpp"
#include "proto/convert/onnx_tensors.hpp"

namespace znni {

// No net has more images; keeps what one number per image costs small.
inline constexpr std::int64_t most_onnx_images = std::int64_t{1} << 20;

// A tensor that is a value with its axes in another order: its axis i is axis `axes[i]` of [N][f][spatial...].
struct TurnedValue {
  int value = 0;
  std::vector<int> axes;
};

class OnnxBuilder {
 public:
  // `graph` must outlive the builder. `rank`: spatial axes of the tensors, 1 to 3. `most_parameters`: how many
  // numbers the nodes may hold together; a hostile file would else let a thousand nodes share one large tensor.
  // `read`: gives the numbers of the graph's tensors.
  using ReadFloats = std::function<Result<std::vector<float>>(const onnx::TensorProto&)>;
  OnnxBuilder(const OnnxGraph& graph, int rank, std::int64_t f_in, std::int64_t most_parameters,
              ReadFloats read = znni::floats_of);

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::int64_t opset() const { return graph_.opset; }

  // Whether input `index` of the node is given at all, and whether it is a constant.
  [[nodiscard]] static bool has_input(const onnx::NodeProto& node, int index);
  [[nodiscard]] const onnx::TensorProto* constant(const onnx::NodeProto& node, int index) const;
  // The elements of a constant, as float32; the error names the tensor and the first that is NaN or infinite.
  [[nodiscard]] Result<std::vector<float>> floats_of(const onnx::TensorProto& constant) const;

  // The value that stands at input `index`; the error says so where it is a constant or a second output.
  [[nodiscard]] Result<int> value(const onnx::NodeProto& node, int index) const;
  [[nodiscard]] std::int64_t images(int value) const { return images_[static_cast<std::size_t>(value)]; }
  // Voxels per axis when the net reads what the file declares; 0 where it leaves that open.
  [[nodiscard]] Vec3 extent(int value) const { return extents_[static_cast<std::size_t>(value)]; }

  // The numbers of the constant at input `index`, `count` of them.
  [[nodiscard]] Result<std::vector<float>> vector(const onnx::NodeProto& node, int index, std::int64_t count) const;

  // The node becomes one of ours; `images` is how many it writes. Where its name is taken, a number follows it:
  // names of ONNX nodes need not differ.
  void append(const onnx::NodeProto& node, Operation operation, std::vector<int> inputs, std::int64_t images,
              NodeWeights weights = {});
  // The node's output is `value` itself.
  void alias(const onnx::NodeProto& node, int value);
  // The node's output is a value transposed: only Softmax and Transpose ask for such, value() refuses them.
  void turn(const onnx::NodeProto& node, TurnedValue turned);
  // nullptr where the tensor is not such.
  [[nodiscard]] const TurnedValue* turned(const std::string& tensor) const;
  // The last value is the Softmax of a value with one voxel; whether it has one is to be checked at the end.
  void note_flattened(const onnx::NodeProto& node);
  struct Flattened {
    const onnx::NodeProto* node = nullptr;
    int value = 0;
  };
  [[nodiscard]] const std::vector<Flattened>& flattened() const { return flattened_; }

  // Whether the last value's images and the parameters so far stay within bounds.
  [[nodiscard]] Result<void> check_limits() const;

  // The value a tensor stands for, or -1.
  [[nodiscard]] int value_of(const std::string& tensor) const;
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] const Network& network() const { return network_; }
  [[nodiscard]] NetworkWeights& weights() { return weights_; }

 private:
  [[nodiscard]] std::string free_name(const std::string& name);

  const OnnxGraph& graph_;
  int rank_;
  std::int64_t most_parameters_;
  ReadFloats read_;
  std::int64_t parameters_ = 0;
  Network network_;
  NetworkWeights weights_;
  std::map<std::string, int> names_;  // taken -> how often it was asked for
  std::map<std::string, int> values_;
  std::map<std::string, TurnedValue> turned_;
  std::vector<Flattened> flattened_;
  std::vector<std::int64_t> images_;  // per value
  std::vector<Vec3> extents_;         // per value
};

}  // namespace znni
