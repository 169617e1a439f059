// A Caffe network as it becomes an ONNX model in memory, layer by layer, which the reader of ONNX then reads: so that
// padding, rounding, blockers and limits are those of one reader.
//
// Layers of Caffe may write the blob that they read. Each layer writes a tensor of its own here; the last one of a blob
// has the blob's name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/caffe.pb.h"
#include "proto/convert/caffe/caffe_windows.hpp"
#include "proto/convert/onnx/writer/onnx_message.hpp"

namespace znni {

// A layer with the tensors that it reads and writes.
struct CaffeLayer {
  const caffe::LayerParameter& layer;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

class CaffeModel {
 public:
  // Takes the numbers of layers from `numbers`, by the layers' names. `file` is their file, for errors. `rank` is the
  // number of spatial axes.
  CaffeModel(const caffe::NetParameter& net, caffe::NetParameter numbers, std::string file, int rank);

  [[nodiscard]] int rank() const { return message_.rank(); }
  [[nodiscard]] OnnxMessage& message() { return message_; }

  // Adds an input blob of these extents, batch and channels counted.
  [[nodiscard]] Result<void> add_input(const std::string& blob, const caffe::BlobShape& shape);
  // Returns the layer with its tensors. Fails if it reads a blob that no layer before wrote, or
  // has too long a name.
  [[nodiscard]] Result<CaffeLayer> enter(const caffe::LayerParameter& layer);
  // Adds a node that the reader refuses, in place of the layer: `what` are a few words.
  void refuse(const CaffeLayer& layer, const std::string& what);
  // Adds a node that writes the layer's first output, and returns it. Its extents are those of the first input.
  onnx::NodeProto& add(std::string_view operation, const CaffeLayer& layer, const std::vector<std::string>& inputs);
  // Adds a node before it, and returns the tensor that it writes.
  std::string add_part(std::string_view operation, const CaffeLayer& layer, const std::vector<std::string>& inputs);

  // Returns how many numbers a blob of the layer's has. Fails unless the layer has `blobs` of them, and another layer
  // of its name none.
  [[nodiscard]] Result<std::int64_t> count(const CaffeLayer& layer, int blob, int blobs);
  // Returns the extents that the file says for the blob, which must be there.
  [[nodiscard]] OnnxNumbers extents_of_blob(const CaffeLayer& layer, int blob);
  // Returns the blob's numbers, which must be there.
  [[nodiscard]] std::vector<float> numbers(const CaffeLayer& layer, int blob);
  // Makes the blob a constant of these extents, and returns its name. The blob must be there. Fails unless it has as
  // many numbers as they ask for.
  [[nodiscard]] Result<std::string> constant(const CaffeLayer& layer, int blob, const OnnxNumbers& extents);
  // Returns the extents of a constant with a number for each channel of the tensor.
  [[nodiscard]] OnnxNumbers for_channels(const std::string& tensor, std::int64_t channels) const;

  // Returns the extents of a tensor along its spatial axes.
  [[nodiscard]] CaffeExtents extents(const std::string& tensor) const;
  void set_extents(const std::string& tensor, CaffeExtents extents) { extents_[tensor] = std::move(extents); }
  // Returns whether the tensor is a row of numbers, without spatial axes.
  [[nodiscard]] bool is_row(const std::string& tensor) const { return rows_.contains(tensor); }
  void note_row(const std::string& tensor) { rows_.insert(tensor); }
  // Notes a blob that has extents alone, and returns those of one; nullopt for any other. All its axes count.
  void note_shape(const std::string& blob, CaffeExtents extents) { shapes_[blob] = std::move(extents); }
  [[nodiscard]] std::optional<CaffeExtents> shape(const std::string& blob) const;

  // Returns the error of a layer whose file is wrong.
  [[nodiscard]] static Error wrong(const CaffeLayer& layer, const std::string& why);
  // Returns the model; the tensors that no layer reads are its outputs.
  [[nodiscard]] onnx::ModelProto take();

 private:
  caffe::LayerParameter* numbers_of(const CaffeLayer& layer);
  [[nodiscard]] Result<std::int64_t> count_in(const CaffeLayer& layer, int blob);
  [[nodiscard]] std::string in_file() const;
  std::string tensor_to_write(const std::string& blob, const std::string& layer);

  OnnxMessage message_;
  std::string file_;
  caffe::NetParameter numbers_;
  std::map<std::string, caffe::LayerParameter*> layers_;                         // with numbers, by name
  std::map<const caffe::LayerParameter*, const caffe::LayerParameter*> takers_;  // numbers -> their layer
  std::map<std::string, int> writers_left_;     // blob -> layers that will still write it
  std::map<std::string, std::string> tensors_;  // blob -> what was written last
  std::map<std::string, CaffeExtents> extents_;
  std::map<std::string, CaffeExtents> shapes_;
  std::set<std::string> rows_;
  std::set<std::string> read_;
  std::vector<std::string> written_;  // by layers, in their order
};

}  // namespace znni
