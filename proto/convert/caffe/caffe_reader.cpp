#include "proto/convert/caffe/caffe_reader.hpp"

#include <string>
#include <utility>
#include <vector>

#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/caffe/caffe_files.hpp"
#include "proto/convert/caffe/caffe_layers.hpp"
#include "proto/convert/caffe/caffe_model.hpp"
#include "proto/convert/onnx/reader/onnx_blockers.hpp"
#include "proto/convert/onnx/reader/onnx_operators.hpp"
#include "proto/convert/onnx/reader/onnx_reader.hpp"

namespace znni {
namespace {

// An input blob and its extents, batch and channels counted.
struct Input {
  std::string blob;
  caffe::BlobShape shape;
};

// Returns the inputs that the fields of the network name, in one of two forms.
Result<std::vector<Input>> inputs_of_fields(const caffe::NetParameter& net) {
  constexpr int axes = 4;  // of the older form
  std::vector<Input> inputs;
  const bool is_older = net.input_dim_size() > 0;
  if (is_older ? net.input_dim_size() != axes * net.input_size() : net.input_shape_size() != net.input_size()) {
    return corrupt("has " + std::to_string(net.input_size()) + " inputs, and extents of another number of them");
  }
  for (int i = 0; i < net.input_size(); ++i) {
    Input input{net.input(i), is_older ? caffe::BlobShape() : net.input_shape(i)};
    for (int axis = 0; is_older && axis < axes; ++axis) input.shape.add_dim(net.input_dim(axes * i + axis));
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Returns the inputs that an Input layer names.
Result<std::vector<Input>> inputs_of_layer(const caffe::LayerParameter& layer) {
  const auto& shapes = layer.input_param().shape();
  std::vector<Input> inputs;
  if (shapes.size() != 1 && shapes.size() != layer.top_size()) {
    return CaffeModel::wrong({layer, {}, {}}, "does not say its extents: input_param { shape { dim: ... } }");
  }
  for (int i = 0; i < layer.top_size(); ++i) inputs.push_back({layer.top(i), shapes[shapes.size() == 1 ? 0 : i]});
  return inputs;
}

// Takes the Input layers out of the network, and returns all inputs.
Result<std::vector<Input>> take_inputs(caffe::NetParameter& net) {
  Result<std::vector<Input>> inputs = inputs_of_fields(net);
  if (!inputs) return inputs;
  caffe::NetParameter others;
  for (caffe::LayerParameter& layer : *net.mutable_layer()) {
    if (layer.type() != "Input") {
      others.add_layer()->Swap(&layer);
      continue;
    }
    const Result<std::vector<Input>> own = inputs_of_layer(layer);
    if (!own) return own;
    inputs->insert(inputs->end(), own->begin(), own->end());
  }
  net.mutable_layer()->Swap(others.mutable_layer());
  if (!inputs->empty()) return inputs;
  return unsupported("has no Input layer: that for deployment is right, not that for training");
}

Result<onnx::ModelProto> model_of(caffe::NetParameter net, caffe::NetParameter numbers, const std::string& file) {
  const Result<std::vector<Input>> inputs = take_inputs(net);
  if (!inputs) return inputs.error();
  const int rank = inputs->front().shape.dim_size() - 2;
  if (rank < 1 || rank > 3) {
    return unsupported("input " + in_quotes(inputs->front().blob) + " has " + std::to_string(rank + 2) +
                       " axes; [N, C, Z, Y, X] and fewer spatial axes are supported");
  }
  CaffeModel model(net, std::move(numbers), file, rank);
  for (const Input& input : *inputs) {
    if (Result<void> added = model.add_input(input.blob, input.shape); !added) return added.error();
  }
  for (const caffe::LayerParameter& layer : net.layer()) {
    const Result<CaffeLayer> entered = model.enter(layer);
    if (!entered) return entered.error();
    if (Result<void> converted = convert_caffe_layer(*entered, model); !converted) return converted.error();
  }
  return model.take();
}

// Says "layer" where the reader of ONNX says "node", and which layers are read instead of which operators.
Error in_words_of_caffe(Error error) {
  std::string& message = error.message;
  if (message.starts_with("node ")) message.replace(0, 4, "layer");
  const std::size_t operators = message.find(not_an_operator);
  if (operators == std::string::npos) return error;
  message.replace(operators, std::string::npos, "is not supported; supported are: " + caffe_layers());
  return error;
}

}  // namespace

Result<LoadedNetwork> read_caffe(std::string_view text, caffe::NetParameter numbers, const std::string& file,
                                 const NetworkReading& reading, Blockers* blockers) {
  Result<caffe::NetParameter> net = parse_caffe_net(text);
  if (!net) return net.error();
  const Result<onnx::ModelProto> model = model_of(*std::move(net), std::move(numbers), file);
  if (!model) return model.error();
  Result<LoadedNetwork> loaded = read_onnx(*model, {floats_of, 0, reading}, blockers);
  return loaded ? std::move(loaded) : in_words_of_caffe(loaded.error());
}

Result<LoadedNetwork> read_caffe_files(const std::string& path, const NetworkReading& reading, Blockers* blockers) {
  const Result<std::string> text = read_file(path, max_text_bytes);
  if (!text) return text.error();
  const std::string beside = reading.numbers.empty() ? caffe_numbers_beside(path) : reading.numbers;
  // What is wrong with the layers is said without their numbers, too.
  if (const Result<caffe::NetParameter> net = parse_caffe_net(*text); !net) return net.error().within(path);
  Result<caffe::NetParameter> numbers = read_caffe_numbers(beside, reading.max_weight_bytes);
  if (!numbers && numbers.error().code == ErrorCode::not_found) {
    return Error{ErrorCode::not_found, numbers.error().message + ", which has the numbers of " + path};
  }
  if (!numbers) return numbers.error();
  Blockers all;
  Result<LoadedNetwork> loaded = read_caffe(*text, *std::move(numbers), beside, reading, &all);
  if (!loaded) loaded = with_others(loaded.error(), all, path).within(path);
  if (blockers != nullptr) *blockers = std::move(all);
  return loaded;
}

}  // namespace znni
