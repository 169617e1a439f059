#include "proto/convert/caffe/caffe_model.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "primitives/core/shape.hpp"
#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

constexpr std::int64_t opset = 17;
constexpr std::size_t max_name = 255;  // of a layer, which each of its nodes has

std::int64_t numbers_in(const caffe::BlobProto& blob) { return std::max(blob.data_size(), blob.double_data_size()); }

// Returns no extents of a blob that says none, as Caffe writes one of a single number.
OnnxNumbers extents_of(const caffe::BlobProto& blob) {
  const bool has_four = blob.has_num() || blob.has_channels() || blob.has_height() || blob.has_width();
  if (blob.has_shape() || !has_four) return {blob.shape().dim().begin(), blob.shape().dim().end()};
  return {blob.num(), blob.channels(), blob.height(), blob.width()};
}

std::int64_t product(const OnnxNumbers& extents) {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count = mul(count, std::max<std::int64_t>(0, extent));
  return count;
}

// Moves the numbers, which are then in memory once, if they are float32.
void move_numbers(caffe::BlobProto& from, onnx::TensorProto& to) {
  if (from.double_data_size() == 0) {
    to.mutable_float_data()->Swap(from.mutable_data());
    return;
  }
  to.mutable_float_data()->Reserve(from.double_data_size());
  for (const double number : from.double_data()) to.add_float_data(static_cast<float>(number));
  google::protobuf::RepeatedField<double>().Swap(from.mutable_double_data());
}

}  // namespace

CaffeModel::CaffeModel(const caffe::NetParameter& net, caffe::NetParameter numbers, std::string file, int rank)
    : message_(net.name(), rank, opset), file_(std::move(file)), numbers_(std::move(numbers)) {
  for (caffe::LayerParameter& layer : *numbers_.mutable_layer()) layers_[layer.name()] = &layer;
  for (const caffe::LayerParameter& layer : net.layer()) {
    for (const std::string& blob : layer.top()) {
      if (writers_left_[blob]++ == 0) static_cast<void>(message_.free_name(blob));
    }
  }
}

std::string CaffeModel::in_file() const { return in_quotes(std::filesystem::path(file_).filename().string()); }

Error CaffeModel::wrong(const CaffeLayer& layer, const std::string& why) {
  const std::string type = in_quotes(layer.layer.type());
  return corrupt("layer " + in_quotes(layer.layer.name()) + " (" + type.substr(1, type.size() - 2) + "): " + why);
}

Result<void> CaffeModel::add_input(const std::string& blob, const caffe::BlobShape& shape) {
  const int axes = rank() + 2;
  if (blob.empty()) return corrupt("an input has no name");
  if (shape.dim_size() != axes) {
    return unsupported("input " + in_quotes(blob) + " has " + std::to_string(shape.dim_size()) + " axes, and another " +
                       std::to_string(axes));
  }
  if (Result<void> sound = check_extents({shape.dim().begin(), shape.dim().end()}); !sound) {
    return sound.error().within("input " + in_quotes(blob));
  }
  CaffeExtents extents(shape.dim().begin() + 2, shape.dim().end());
  Vec3 along;
  for (int i = 0; i < rank(); ++i) along[3 - rank() + i] = extents[static_cast<std::size_t>(i)];
  const auto left = writers_left_.find(blob);
  if (left == writers_left_.end()) static_cast<void>(message_.free_name(blob));
  const bool is_written_later = left != writers_left_.end() && left->second > 0;
  const std::string tensor = is_written_later ? message_.free_name(blob + "/input") : blob;
  message_.describe_input(tensor, shape.dim(1), along);
  tensors_[blob] = tensor;
  set_extents(tensor, std::move(extents));
  return {};
}

std::string CaffeModel::tensor_to_write(const std::string& blob, const std::string& layer) {
  const bool is_last = --writers_left_[blob] == 0;
  const std::string tensor = is_last ? blob : message_.free_name(blob + "/" + layer);
  tensors_[blob] = tensor;
  written_.push_back(tensor);
  return tensor;
}

Result<CaffeLayer> CaffeModel::enter(const caffe::LayerParameter& layer) {
  CaffeLayer entered{layer, {}, {}};
  if (const std::size_t length = layer.name().size(); length > max_name) {
    return wrong(entered, "its name has " + std::to_string(length) + " characters; up to " + std::to_string(max_name) +
                              " are right");
  }
  for (const std::string& blob : layer.bottom()) {
    const auto found = tensors_.find(blob);
    if (found == tensors_.end() && !shape(blob)) {
      return wrong(entered, "no layer before writes " + in_quotes(blob) + ", which it reads");
    }
    entered.inputs.push_back(found == tensors_.end() ? blob : found->second);
    read_.insert(entered.inputs.back());
  }
  for (const std::string& blob : layer.top()) entered.outputs.push_back(tensor_to_write(blob, layer.name()));
  return entered;
}

void CaffeModel::refuse(const CaffeLayer& layer, const std::string& what) {
  if (layer.outputs.empty()) return;
  const CaffeExtents kept = layer.inputs.empty() ? CaffeExtents() : extents(layer.inputs.front());
  std::vector<std::string> inputs = layer.inputs;
  std::erase_if(inputs, [&](const std::string& input) { return shapes_.contains(input); });
  onnx::NodeProto& node = message_.node(what, layer.layer.name(), inputs, layer.outputs.front());
  for (std::size_t i = 1; i < layer.outputs.size(); ++i) node.add_output(layer.outputs[i]);
  set_extents(layer.outputs.front(), kept);
}

onnx::NodeProto& CaffeModel::add(std::string_view operation, const CaffeLayer& layer,
                                 const std::vector<std::string>& inputs) {
  const std::string& output = layer.outputs.front();
  set_extents(output, extents(layer.inputs.front()));
  if (is_row(layer.inputs.front())) note_row(output);
  return message_.node(operation, layer.layer.name(), inputs, output);
}

std::string CaffeModel::add_part(std::string_view operation, const CaffeLayer& layer,
                                 const std::vector<std::string>& inputs) {
  const std::string output = message_.free_name(layer.layer.name() + "/" + std::string(operation));
  message_.node(operation, output, inputs, output);
  set_extents(output, extents(layer.inputs.front()));
  return output;
}

caffe::LayerParameter* CaffeModel::numbers_of(const CaffeLayer& layer) {
  const auto found = layers_.find(layer.layer.name());
  return found == layers_.end() ? nullptr : found->second;
}

Result<std::int64_t> CaffeModel::count(const CaffeLayer& layer, int blob, int blobs) {
  caffe::LayerParameter* own = numbers_of(layer);
  const int found = own == nullptr ? 0 : own->blobs_size();
  if (found != blobs) {
    return wrong(layer, "has " + std::to_string(found) + " blobs of numbers in " + in_file() + "; " +
                            std::to_string(blobs) + (blobs == 1 ? " is right" : " are right"));
  }
  const auto [taker, is_first] = takers_.try_emplace(own, &layer.layer);
  if (!is_first && taker->second != &layer.layer) {
    return wrong(layer, "another layer of its name has its numbers in " + in_file() +
                            "; give each layer that has numbers a name of its own");
  }
  return count_in(layer, blob);
}

Result<std::int64_t> CaffeModel::count_in(const CaffeLayer& layer, int blob) {
  const caffe::BlobProto& own = numbers_of(layer)->blobs(blob);
  const std::string name = "blob " + std::to_string(blob) + " in " + in_file() + " has ";
  if (own.data_size() > 0 && own.double_data_size() > 0) {
    return wrong(layer, name + "numbers of both fields, data and double_data; those of one are right");
  }
  const std::int64_t numbers = numbers_in(own);
  const OnnxNumbers extents = extents_of(own);
  if (numbers == product(extents)) return numbers;
  return wrong(layer, name + std::to_string(numbers) + " numbers; its extents, " + extents_text(extents) +
                          ", ask for " + std::to_string(product(extents)));
}

OnnxNumbers CaffeModel::extents_of_blob(const CaffeLayer& layer, int blob) {
  return extents_of(numbers_of(layer)->blobs(blob));
}

std::vector<float> CaffeModel::numbers(const CaffeLayer& layer, int blob) {
  const caffe::BlobProto& from = numbers_of(layer)->blobs(blob);
  if (from.double_data_size() == 0) return {from.data().begin(), from.data().end()};
  std::vector<float> numbers;
  for (const double number : from.double_data()) numbers.push_back(static_cast<float>(number));
  return numbers;
}

Result<std::string> CaffeModel::constant(const CaffeLayer& layer, int blob, const OnnxNumbers& extents) {
  caffe::BlobProto& from = *numbers_of(layer)->mutable_blobs(blob);
  const std::int64_t found = numbers_in(from);
  if (found != product(extents)) {
    return wrong(layer, "blob " + std::to_string(blob) + " in " + in_file() + " has " + std::to_string(found) +
                            " numbers; " + std::to_string(product(extents)) + " are right");
  }
  onnx::TensorProto& to = message_.constant(layer.layer.name() + ".blob" + std::to_string(blob), extents);
  move_numbers(from, to);
  return to.name();
}

OnnxNumbers CaffeModel::for_channels(const std::string& tensor, std::int64_t channels) const {
  OnnxNumbers extents = {channels};
  if (!is_row(tensor)) extents.resize(static_cast<std::size_t>(rank()) + 1, 1);
  return extents;
}

CaffeExtents CaffeModel::extents(const std::string& tensor) const {
  const auto found = extents_.find(tensor);
  return found == extents_.end() ? CaffeExtents() : found->second;
}

std::optional<CaffeExtents> CaffeModel::shape(const std::string& blob) const {
  const auto found = shapes_.find(blob);
  return found == shapes_.end() ? std::nullopt : std::optional(found->second);
}

onnx::ModelProto CaffeModel::take() {
  for (const std::string& tensor : written_) {
    if (!read_.contains(tensor) && !shapes_.contains(tensor)) message_.name_output(tensor);
  }
  return message_.take();
}

}  // namespace znni
