#include "proto/convert/caffe/caffe_spatial.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "proto/convert/base/errors.hpp"

namespace znni {
namespace {

OnnxNumbers twice(const CaffeExtents& pads) {
  OnnxNumbers both = pads;
  both.insert(both.end(), pads.begin(), pads.end());
  return both;
}

void set_windows(onnx::NodeProto& node, const CaffeWindows& windows) {
  set_integers(node, "kernel_shape", windows.kernel);
  set_integers(node, "strides", windows.stride);
  set_integers(node, "pads", twice(windows.pad));
  set_integers(node, "dilations", windows.dilation);
}

// Fails unless the kernels are of the extents that the layer says.
Result<void> check_kernels(const CaffeLayer& layer, const OnnxNumbers& found, const CaffeWindows& windows,
                           bool is_transposed) {
  const caffe::ConvolutionParameter& of = layer.layer.convolution_param();
  const std::int64_t outputs = is_transposed ? of.num_output() / of.group() : of.num_output();
  const bool has_axes = found.size() == windows.kernel.size() + 2;
  if (has_axes && found[is_transposed ? 1 : 0] == outputs &&
      std::equal(windows.kernel.begin(), windows.kernel.end(), found.begin() + 2)) {
    return {};
  }
  return CaffeModel::wrong(layer, "its kernels are of extents " + extents_text(found) + "; num_output is " +
                                      std::to_string(of.num_output()) + " and kernel_size " +
                                      extents_text(windows.kernel));
}

Result<void> convolve(const CaffeLayer& layer, CaffeModel& model, bool is_transposed) {
  const caffe::ConvolutionParameter& of = layer.layer.convolution_param();
  if (from_front(of.axis(), model) != 1) return not_read(layer, model, of_axis(of.axis()));
  if (of.group() == 0 || of.num_output() % of.group() != 0) {
    return CaffeModel::wrong(
        layer, "num_output is " + std::to_string(of.num_output()) + " and group " + std::to_string(of.group()));
  }
  const Result<CaffeWindows> windows = windows_of(of, model.rank());
  if (!windows) return CaffeModel::wrong(layer, windows.error().message);
  const int blobs = of.bias_term() ? 2 : 1;
  for (int blob = 0; blob < blobs; ++blob) {
    if (const auto counted = model.count(layer, blob, blobs); !counted) return counted.error();
  }
  const OnnxNumbers kernels = model.extents_of_blob(layer, 0);
  if (Result<void> sound = check_kernels(layer, kernels, *windows, is_transposed); !sound) return sound;
  std::vector<std::string> inputs = {layer.inputs.front()};
  for (int blob = 0; blob < blobs; ++blob) {
    const Result<std::string> constant =
        model.constant(layer, blob, blob == 0 ? kernels : OnnxNumbers{std::int64_t{of.num_output()}});
    if (!constant) return constant.error();
    inputs.push_back(*constant);
  }
  onnx::NodeProto& node = model.add(is_transposed ? "ConvTranspose" : "Conv", layer, inputs);
  set_windows(node, *windows);
  set_integer(node, "group", of.group());
  const CaffeExtents in = model.extents(layer.inputs.front());
  model.set_extents(layer.outputs.front(), is_transposed ? extents_before(*windows, in) : extents_after(*windows, in));
  return {};
}

// Returns the offset along each axis that is cropped.
Result<OnnxNumbers> offsets_of(const CaffeLayer& layer, std::size_t axes) {
  const auto& given = layer.layer.crop_param().offset();
  OnnxNumbers offsets(given.begin(), given.end());
  if (offsets.empty()) offsets = {0};
  if (offsets.size() == 1) offsets.resize(axes, offsets.front());
  if (offsets.size() == axes) return offsets;
  return CaffeModel::wrong(
      layer, "has " + std::to_string(offsets.size()) + " offsets; 1 or " + std::to_string(axes) + " are right");
}

}  // namespace

Result<void> not_read(const CaffeLayer& layer, CaffeModel& model, const std::string& what) {
  model.refuse(layer, on_one_line(layer.layer.type()) + " " + what);
  return {};
}

std::string of_axis(std::int64_t axis) { return "of axis " + std::to_string(axis); }

std::int64_t from_front(std::int64_t axis, const CaffeModel& model) {
  return axis < 0 ? axis + model.rank() + 2 : axis;
}

Result<void> convert_convolution(const CaffeLayer& layer, CaffeModel& model) { return convolve(layer, model, false); }
Result<void> convert_deconvolution(const CaffeLayer& layer, CaffeModel& model) { return convolve(layer, model, true); }

Result<void> convert_pooling(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::PoolingParameter& of = layer.layer.pooling_param();
  const bool is_max = of.pool() == caffe::PoolingParameter::MAX;
  if (of.pool() == caffe::PoolingParameter::STOCHASTIC) return not_read(layer, model, "STOCHASTIC");
  if (layer.outputs.size() > 1) return not_read(layer, model, "with indices");
  if (from_front(of.axis(), model) != 1) return not_read(layer, model, of_axis(of.axis()));
  if (of.global_pooling()) {
    model.add(is_max ? "GlobalMaxPool" : "GlobalAveragePool", layer, layer.inputs);
    model.set_extents(layer.outputs.front(), CaffeExtents(static_cast<std::size_t>(model.rank()), 1));
    return {};
  }
  const Result<CaffeWindows> windows = windows_of(of, model.rank());
  if (!windows) return CaffeModel::wrong(layer, windows.error().message);
  const CaffeExtents in = model.extents(layer.inputs.front());
  const bool ceil = of.round_mode() == caffe::PoolingParameter::CEIL && has_rest(*windows, in);
  onnx::NodeProto& node = model.add(is_max ? "MaxPool" : "AveragePool", layer, layer.inputs);
  set_windows(node, *windows);
  if (ceil) set_integer(node, "ceil_mode", 1);
  if (!is_max) set_integer(node, "count_include_pad", 1);
  model.set_extents(layer.outputs.front(), extents_after(*windows, in, ceil));
  return {};
}

Result<void> convert_dummy(const CaffeLayer& layer, CaffeModel& model) {
  const caffe::DummyDataParameter& of = layer.layer.dummy_data_param();
  const int shapes = of.shape_size();
  const int tops = static_cast<int>(layer.outputs.size());
  if (shapes != 1 && shapes != tops) return not_read(layer, model, "without shapes");
  for (int i = 0; i < tops; ++i) {
    const auto& dims = of.shape(shapes == 1 ? 0 : i).dim();
    const CaffeExtents extents(dims.begin(), dims.end());
    if (const auto sound = check_extents(extents); !sound) return CaffeModel::wrong(layer, sound.error().message);
    model.note_shape(layer.outputs[static_cast<std::size_t>(i)], extents);
  }
  return {};
}

Result<void> convert_crop(const CaffeLayer& layer, CaffeModel& model) {
  const std::int64_t axes = model.rank() + 2;
  const std::int64_t first = from_front(layer.layer.crop_param().axis(), model);
  if (first < 2 || first >= axes) return not_read(layer, model, of_axis(first));
  if (layer.inputs.size() != 2) return CaffeModel::wrong(layer, "has another number of inputs than 2");
  const Result<OnnxNumbers> offsets = offsets_of(layer, static_cast<std::size_t>(axes - first));
  if (!offsets) return offsets.error();
  OnnxNumbers cropped;
  for (std::int64_t axis = first; axis < axes; ++axis) cropped.push_back(axis);
  OnnxMessage& message = model.message();
  const auto constant = [&](const char* of, const OnnxNumbers& values) {
    return message.integers(layer.layer.name() + "/" + of, values);
  };
  const std::string begin = constant("offsets", *offsets);
  std::string end;
  if (const std::optional<CaffeExtents> shape = model.shape(layer.inputs.back())) {
    if (static_cast<std::int64_t>(shape->size()) != axes) return CaffeModel::wrong(layer, "its inputs differ in axes");
    OnnxNumbers ends = *offsets;
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] += (*shape)[static_cast<std::size_t>(first) + i];
    end = constant("ends", ends);
  } else {
    const std::string all = model.add_part("Shape", layer, {layer.inputs.back()});
    const std::string lengths = model.add_part(
        "Slice", layer, {all, constant("first", {first}), constant("last", {axes}), constant("axis", {0})});
    end = model.add_part("Add", layer, {lengths, begin});
  }
  model.add("Slice", layer, {layer.inputs.front(), begin, end, constant("axes", cropped)});
  const std::optional<CaffeExtents> shape = model.shape(layer.inputs.back());
  CaffeExtents extents = shape ? CaffeExtents(shape->begin() + 2, shape->end()) : model.extents(layer.inputs.back());
  const CaffeExtents own = model.extents(layer.inputs.front());
  const std::size_t kept = static_cast<std::size_t>(first - 2);
  const bool is_known = extents.size() == own.size();
  if (is_known) std::copy_n(own.begin(), kept, extents.begin());
  model.set_extents(layer.outputs.front(), is_known ? extents : CaffeExtents());
  return {};
}

}  // namespace znni
