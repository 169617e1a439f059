#include "proto/convert/network_text.hpp"

#include <algorithm>
#include <vector>

#include "planner/network/padding.hpp"
#include "primitives/core/overloaded.hpp"
#include "proto/convert/errors.hpp"
#include "proto/convert/extents.hpp"
#include "proto/convert/node_names.hpp"
#include "proto/convert/text_format.hpp"
#include "proto/network.pb.h"

namespace znni {
namespace {

using Kind = text::Activation::Kind;

// The file's enum has the same order as the planner's kinds.
static_assert(static_cast<int>(ActivationKind::gelu_tanh) == text::Activation::gelu_tanh);
static_assert(static_cast<int>(ActivationKind::none) == text::Activation::none);

float default_alpha(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::leaky_relu: return 0.01F;
    case ActivationKind::elu: return 1.0F;
    case ActivationKind::capped_relu: return 6.0F;
    default: return 0.0F;
  }
}

Activation activation_of(Kind word, bool has_alpha, float alpha) {
  const auto kind = static_cast<ActivationKind>(word);
  return {kind, has_alpha ? alpha : default_alpha(kind)};
}

// Returns an extent, or `otherwise` if the file has none.
template <class Values>
Result<Vec3> extent_or(std::string_view field, const Values& values, int rank, Vec3 otherwise) {
  if (values.empty()) return otherwise;
  return extent_of(field, std::vector<std::int64_t>(values.begin(), values.end()), rank);
}

Result<Operation> convolution_in(const text::Convolution& conv, int rank) {
  if (!conv.has_f_out() || conv.k().empty()) return corrupt("conv needs f_out and k");
  const Result<Vec3> k = extent_of("k", std::vector<std::int64_t>(conv.k().begin(), conv.k().end()), rank);
  if (!k) return k.error();
  const Result<Vec3> dilation = extent_or("dilation", conv.dilation(), rank, Vec3::cube(1));
  if (!dilation) return dilation.error();
  const Result<Vec3> stride = extent_or("stride", conv.stride(), rank, Vec3::cube(1));
  if (!stride) return stride.error();
  const Activation activation = activation_of(conv.activation(), conv.has_alpha(), conv.alpha());
  return Operation(
      Convolution{conv.f_out(), *k, *dilation, activation, *stride, conv.has_groups() ? conv.groups() : 1});
}

Result<Operation> pooling_of(const text::Pooling& pool, PoolKind kind, int rank) {
  if (pool.window().empty()) return corrupt("a pooling needs window");
  const Result<Vec3> window = extent_or("window", pool.window(), rank, Vec3::cube(1));
  if (!window) return window.error();
  const Result<Vec3> stride = extent_or("stride", pool.stride(), rank, *window);
  if (!stride) return stride.error();
  return Operation(Pooling{kind, *window, *stride, pool.strided()});
}

// Returns a border, with zeros along the axes that the rank lacks.
template <class Values>
Result<Vec3> border_of(std::string_view field, const Values& values, int rank) {
  if (values.empty()) return Vec3();
  Result<Vec3> border = extent_of(field, std::vector<std::int64_t>(values.begin(), values.end()), rank);
  for (int axis = 0; border && axis < 3 - rank; ++axis) (*border)[axis] = 0;
  return border;
}

// A Crop or a Border.
template <class Message>
Result<Border> borders_of(const Message& message, int rank) {
  const Result<Vec3> begin = border_of("begin", message.begin(), rank);
  if (!begin) return begin.error();
  const Result<Vec3> end = border_of("end", message.end(), rank);
  if (!end) return end.error();
  return Border{*begin, *end};
}

Result<Operation> crop_of(const text::Crop& crop, int rank) {
  const Result<Border> borders = borders_of(crop, rank);
  if (!borders) return borders.error();
  return Operation(Crop{borders->begin, borders->end});
}

static_assert(static_cast<int>(UpsampleKind::nearest) == text::Upsample::nearest);
static_assert(static_cast<int>(UpsampleKind::aligned) == text::Upsample::aligned);

Result<Operation> upsample_of(const text::Upsample& up, int rank) {
  if (up.factor().empty()) return corrupt("upsample needs factor");
  const Result<Vec3> factor = extent_or("factor", up.factor(), rank, Vec3::cube(1));
  if (!factor) return factor.error();
  return Operation(Upsample{*factor, static_cast<UpsampleKind>(up.kind())});
}

// Voxels of padding on one side of an input.
template <class Values>
Result<Vec3> pads_of(std::string_view field, const Values& values, int rank) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  const Result<Vec3> pads = border_of(field, values, rank);
  if (!pads) return pads;
  if (covers(*pads, {}) && covers(Vec3::cube(most), *pads)) return pads;
  return corrupt(std::string(field) + " is " + to_string(*pads) + "; 0 to 2^20 is right");
}

// `message`: a Convolution, a Pooling or an Upsample.
template <class Message>
Result<Border> pads_around(const Message& message, int rank) {
  const Result<Vec3> begin = pads_of("pad_begin", message.pad_begin(), rank);
  if (!begin) return begin.error();
  const Result<Vec3> end = pads_of("pad_end", message.pad_end(), rank);
  if (!end) return end.error();
  return Border{*begin, *end};
}

Result<Border> pads_of(const text::Node& node, int rank) {
  if (node.has_max_pool()) return pads_around(node.max_pool(), rank);
  if (node.has_average_pool()) return pads_around(node.average_pool(), rank);
  if (node.has_upsample()) return pads_around(node.upsample(), rank);
  return pads_around(node.conv(), rank);
}

Result<Operation> operation_of(const text::Node& node, int rank) {
  switch (node.op_case()) {
    case text::Node::kConv: return convolution_in(node.conv(), rank);
    case text::Node::kMaxPool: return pooling_of(node.max_pool(), PoolKind::max, rank);
    case text::Node::kAveragePool: return pooling_of(node.average_pool(), PoolKind::average, rank);
    case text::Node::kActivate: {
      const text::Activation& activate = node.activate();
      return Operation(Activate{activation_of(activate.kind(), activate.has_alpha(), activate.alpha())});
    }
    case text::Node::kSoftmax: return Operation(AcrossChannels{AcrossKind::softmax});
    case text::Node::kLogSoftmax: return Operation(AcrossChannels{AcrossKind::log_softmax});
    case text::Node::kArgMax:
      return Operation(AcrossChannels{node.arg_max().last() ? AcrossKind::arg_max_last : AcrossKind::arg_max});
    case text::Node::kChannelNorm: return Operation(AcrossChannels{AcrossKind::norm, node.channel_norm().epsilon()});
    case text::Node::kScaleShift: return Operation(ScaleShift{});
    case text::Node::kAdd:
      return Operation(Add{activation_of(node.add().activation(), node.add().has_alpha(), node.add().alpha())});
    case text::Node::kNorm: {
      const text::Norm& norm = node.norm();
      return Operation(
          Norm{norm.groups(), norm.epsilon(), activation_of(norm.activation(), norm.has_alpha(), norm.alpha())});
    }
    case text::Node::kGlobalAveragePool: return Operation(GlobalPool{PoolKind::average});
    case text::Node::kGlobalMaxPool: return Operation(GlobalPool{PoolKind::max});
    case text::Node::kMultiply: return Operation(Multiply{});
    case text::Node::kConcat: return Operation(Concat{});
    case text::Node::kCrop: return crop_of(node.crop(), rank);
    case text::Node::kUpsample: return upsample_of(node.upsample(), rank);
    case text::Node::OP_NOT_SET: break;
  }
  return corrupt(
      "has no operation; conv, max_pool, average_pool, activate, softmax, log_softmax, arg_max, channel_norm, "
      "scale_shift, norm, global_average_pool, global_max_pool, add, multiply, concat, crop, upsample are known");
}

// What pads come to; a network that has its frame already has no pads.
Result<LoadedNetwork> with_frame(LoadedNetwork network, const std::vector<Border>& pads) {
  const bool pads_too = std::any_of(pads.begin(), pads.end(), [](const Border& own) { return own != Border{}; });
  const std::vector<Node>& nodes = network.network.nodes;
  const bool framed =
      network.network.frame != Border{} ||
      std::any_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.outside != Border{}; });
  if (pads_too && framed) return corrupt("has pads and a frame; one of them is right");
  if (framed) return network;
  return without_padding(std::move(network), pads);
}

Result<Node> node_of(const text::Node& written, int rank, NodeNames& names) {
  Node node;
  node.name = names.name_of(written);
  const auto within = [&](const Error& error) { return error.within("node " + in_quotes(node.name)); };
  Result<Operation> operation = operation_of(written, rank);
  if (!operation) return within(operation.error());
  Result<std::vector<int>> inputs = names.inputs_of(written);
  if (!inputs) return within(inputs.error());
  if (!names.add(node.name)) return within(corrupt("the name is taken"));
  const Result<Border> outside = borders_of(written.outside(), rank);
  if (!outside) return within(outside.error());
  node.outside = *outside;
  if (written.outside_is_lowest() && written.outside_is_edge()) {
    return within(corrupt("has outside_is_lowest and outside_is_edge; one of them is right"));
  }
  if (written.outside_is_lowest()) node.outside_kind = OutsideKind::lowest;
  if (written.outside_is_edge()) node.outside_kind = OutsideKind::edge;
  const Result<Border> beyond = borders_of(written.beyond(), rank);
  if (!beyond) return within(beyond.error());
  node.beyond = *beyond;
  node.operation = *std::move(operation);
  node.inputs = *std::move(inputs);
  return node;
}

// Writes one value if the extent is a cube, else one per axis that the net has.
void set_extent(google::protobuf::RepeatedField<std::int64_t>* field, Vec3 extent, int rank) {
  bool equal = true;
  for (int axis = 3 - rank; axis < 3; ++axis) equal = equal && extent[axis] == extent.x;
  for (int axis = equal ? 2 : 3 - rank; axis < 3; ++axis) field->Add(extent[axis]);
}

template <class Message>
void set_activation(Message* message, Activation activation) {
  if (activation == Activation{}) return;
  message->set_activation(static_cast<Kind>(activation.kind));
  if (activation.alpha != default_alpha(activation.kind)) message->set_alpha(activation.alpha);
}

void set_convolution(text::Convolution* written, const Convolution& conv, int rank) {
  written->set_f_out(conv.f_out);
  set_extent(written->mutable_k(), conv.k, rank);
  if (conv.dilation != Vec3::cube(1)) set_extent(written->mutable_dilation(), conv.dilation, rank);
  if (conv.stride != Vec3::cube(1)) set_extent(written->mutable_stride(), conv.stride, rank);
  if (conv.groups != 1) written->set_groups(conv.groups);
  set_activation(written, conv.activation);
}

void set_upsample(text::Upsample* written, const Upsample& up, int rank) {
  set_extent(written->mutable_factor(), up.factor, rank);
  if (up.kind != UpsampleKind::nearest) written->set_kind(static_cast<text::Upsample::Kind>(up.kind));
}

void set_pooling(text::Pooling* written, const Pooling& pool, int rank) {
  set_extent(written->mutable_window(), pool.window, rank);
  set_extent(written->mutable_stride(), pool.stride, rank);
  if (pool.strided) written->set_strided(true);
}

// Writes what a crop takes away, or a border.
template <class Message, class Ends>
void set_ends(Message* written, const Ends& ends, int rank) {
  if (ends.begin != Vec3()) set_extent(written->mutable_begin(), ends.begin, rank);
  if (ends.end != Vec3()) set_extent(written->mutable_end(), ends.end, rank);
}

void set_norm(text::Norm* written, const Norm& norm) {
  written->set_groups(norm.groups);
  if (norm.epsilon != written->epsilon()) written->set_epsilon(norm.epsilon);
  set_activation(written, norm.activation);
}

void set_across(text::Node* written, const AcrossChannels& across) {
  switch (across.kind) {
    case AcrossKind::softmax: written->mutable_softmax(); return;
    case AcrossKind::log_softmax: written->mutable_log_softmax(); return;
    case AcrossKind::arg_max: written->mutable_arg_max(); return;
    case AcrossKind::arg_max_last: written->mutable_arg_max()->set_last(true); return;
    case AcrossKind::norm: break;
  }
  text::ChannelNorm* norm = written->mutable_channel_norm();
  if (across.epsilon != norm->epsilon()) norm->set_epsilon(across.epsilon);
}

void set_activate(text::Activation* written, Activation activation) {
  written->set_kind(static_cast<Kind>(activation.kind));
  if (activation.alpha != default_alpha(activation.kind)) written->set_alpha(activation.alpha);
}

void set_operation(text::Node* written, const Operation& operation, int rank) {
  std::visit(Overloaded{[&](const Convolution& conv) { set_convolution(written->mutable_conv(), conv, rank); },
                        [&](const Pooling& pool) {
                          const bool is_max = pool.kind == PoolKind::max;
                          set_pooling(is_max ? written->mutable_max_pool() : written->mutable_average_pool(), pool,
                                      rank);
                        },
                        [&](const Activate& node) { set_activate(written->mutable_activate(), node.activation); },
                        [&](const AcrossChannels& across) { set_across(written, across); },
                        [&](const ScaleShift&) { written->mutable_scale_shift(); },
                        [&](const Add& sum) { set_activation(written->mutable_add(), sum.activation); },
                        [&](const Norm& norm) { set_norm(written->mutable_norm(), norm); },
                        [&](const GlobalPool& pool) {
                          const bool is_max = pool.kind == PoolKind::max;
                          is_max ? written->mutable_global_max_pool() : written->mutable_global_average_pool();
                        },
                        [&](const Multiply&) { written->mutable_multiply(); },
                        [&](const Concat&) { written->mutable_concat(); },
                        [&](const Upsample& up) { set_upsample(written->mutable_upsample(), up, rank); },
                        [&](const Crop& crop) { set_ends(written->mutable_crop(), crop, rank); }},
             operation);
}

void add_inputs(text::Node* written, const Network& network, std::size_t number) {
  const std::vector<int>& inputs = network.nodes[number].inputs;
  if (inputs == std::vector<int>{static_cast<int>(number)}) return;  // the node before
  for (const int value : inputs) {
    written->add_inputs(value == 0 ? network.input_name : network.nodes[static_cast<std::size_t>(value) - 1].name);
  }
}

void add_tensors(const std::vector<NamedTensor>& tensors, int rank,
                 google::protobuf::RepeatedPtrField<text::NamedTensor>& written) {
  for (const NamedTensor& tensor : tensors) {
    text::NamedTensor* of_file = written.Add();
    of_file->set_name(tensor.name);
    of_file->set_channels(tensor.channels);
    if (tensor.stride != Vec3::cube(1)) set_extent(of_file->mutable_stride(), tensor.stride, rank);
  }
}

// Returns the outputs, with their strides.
Result<std::vector<NamedTensor>> outputs_of(const text::Network& written, int rank) {
  std::vector<NamedTensor> outputs;
  for (const text::NamedTensor& output : written.output()) {
    const Result<Vec3> stride = extent_or("stride", output.stride(), rank, Vec3::cube(1));
    if (!stride) return stride.error().within("output " + in_quotes(output.name()));
    outputs.push_back({output.name(), output.channels(), *stride});
  }
  return outputs;
}

}  // namespace

Result<Network> parse_network(std::string_view text) {
  text::Network written;
  if (const Result<void> parsed = parse_text(text, written); !parsed) return parsed.error();
  const int rank = written.spatial_rank();
  if (rank < 1 || rank > 3) return corrupt("spatial_rank is " + std::to_string(rank) + "; 1, 2 or 3 is right");
  Network network{written.name(), rank, written.f_in(), written.input_name(), written.output_name(), {}};
  const Result<Border> frame = borders_of(written.frame(), rank);
  if (!frame) return frame.error().within("frame");
  network.frame = *frame;
  const Result<Vec3> window = extent_or("window", written.window(), rank, Vec3{});
  if (!window) return window.error();
  network.window = *window;
  const Result<Vec3> stride = extent_or("output_stride", written.output_stride(), rank, Vec3::cube(1));
  if (!stride) return stride.error();
  network.output_stride = *stride;
  Result<std::vector<NamedTensor>> outputs = outputs_of(written, rank);
  if (!outputs) return outputs.error();
  network.outputs = *std::move(outputs);
  for (const text::NamedTensor& input : written.input()) network.inputs.push_back({input.name(), input.channels()});
  NodeNames names(network.input_name);
  std::vector<Border> pads;
  for (const text::Node& node : written.node()) {
    Result<Node> read = node_of(node, rank, names);
    if (!read) return read.error();
    network.nodes.push_back(*std::move(read));
    const Result<Border> own = pads_of(node, rank);
    if (!own) return own.error().within("node " + in_quotes(network.nodes.back().name));
    pads.push_back(*own);
  }
  Result<LoadedNetwork> valid = with_frame(LoadedNetwork{std::move(network), {}}, pads);
  if (!valid) return corrupt(valid.error().message);
  if (const Result<void> sound = check(valid->network); !sound) return corrupt(sound.error().message);
  return std::move(valid->network);
}

std::string network_text(const Network& network) {
  text::Network written;
  written.set_name(network.name);
  if (network.spatial_rank != written.spatial_rank()) written.set_spatial_rank(network.spatial_rank);
  written.set_f_in(network.f_in);
  written.set_input_name(network.input_name);
  written.set_output_name(network.output_name);
  if (network.frame != Border{}) set_ends(written.mutable_frame(), network.frame, network.spatial_rank);
  if (network.window != Vec3{}) set_extent(written.mutable_window(), network.window, network.spatial_rank);
  const Vec3 stride = network.output_stride;
  if (stride != Vec3::cube(1)) set_extent(written.mutable_output_stride(), stride, network.spatial_rank);
  add_tensors(network.outputs, network.spatial_rank, *written.mutable_output());
  add_tensors(network.inputs, network.spatial_rank, *written.mutable_input());
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    text::Node* node = written.add_node();
    node->set_name(network.nodes[i].name);
    add_inputs(node, network, i);
    set_operation(node, network.nodes[i].operation, network.spatial_rank);
    const Border& outside = network.nodes[i].outside;
    if (outside != Border{}) set_ends(node->mutable_outside(), outside, network.spatial_rank);
    if (network.nodes[i].outside_kind == OutsideKind::lowest) node->set_outside_is_lowest(true);
    if (network.nodes[i].outside_kind == OutsideKind::edge) node->set_outside_is_edge(true);
    const Border& beyond = network.nodes[i].beyond;
    if (beyond != Border{}) set_ends(node->mutable_beyond(), beyond, network.spatial_rank);
  }
  return print_text(written);
}

}  // namespace znni
