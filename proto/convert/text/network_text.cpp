#include "proto/convert/text/network_text.hpp"

#include <algorithm>
#include <vector>

#include "planner/network/padding.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/text_format.hpp"
#include "proto/convert/text/node_fields.hpp"
#include "proto/convert/text/node_names.hpp"
#include "proto/convert/text/node_operations.hpp"
#include "proto/network.pb.h"

namespace znni {
namespace {

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
  const Result<Border> outside = ends_of(written.outside(), rank);
  if (!outside) return within(outside.error());
  node.outside = *outside;
  if (written.outside_is_lowest() + written.outside_is_edge() + written.outside_is_reflected() > 1) {
    return within(corrupt("has two of outside_is_lowest, outside_is_edge and outside_is_reflected; one is right"));
  }
  if (written.outside_is_lowest()) node.outside_kind = OutsideKind::lowest;
  if (written.outside_is_edge()) node.outside_kind = OutsideKind::edge;
  if (written.outside_is_reflected()) node.outside_kind = OutsideKind::reflect;
  const Result<Border> beyond = ends_of(written.beyond(), rank);
  if (!beyond) return within(beyond.error());
  node.beyond = *beyond;
  node.operation = *std::move(operation);
  node.inputs = *std::move(inputs);
  return node;
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
  const Result<Border> frame = ends_of(written.frame(), rank);
  if (!frame) return frame.error().within("frame");
  network.frame = *frame;
  const Result<Vec3> window = extent_or("window", written.window(), rank, Vec3{});
  if (!window) return window.error();
  network.window = *window;
  const Result<Vec3> stride = extent_or("output_stride", written.output_stride(), rank, Vec3::cube(1));
  if (!stride) return stride.error();
  network.output_stride = *stride;
  const Result<Vec3> least = extent_or("min_volume", written.min_volume(), rank, Vec3::cube(1));
  if (!least) return least.error();
  network.min_volume = *least;
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
  if (network.frame != Border{}) set_ends(*written.mutable_frame(), network.frame, network.spatial_rank);
  if (network.window != Vec3{}) set_extent(written.mutable_window(), network.window, network.spatial_rank);
  const Vec3 stride = network.output_stride;
  if (stride != Vec3::cube(1)) set_extent(written.mutable_output_stride(), stride, network.spatial_rank);
  const Vec3 least = network.min_volume;
  if (least != Vec3::cube(1)) set_extent(written.mutable_min_volume(), least, network.spatial_rank);
  add_tensors(network.outputs, network.spatial_rank, *written.mutable_output());
  add_tensors(network.inputs, network.spatial_rank, *written.mutable_input());
  for (std::size_t i = 0; i < network.nodes.size(); ++i) {
    text::Node* node = written.add_node();
    node->set_name(network.nodes[i].name);
    add_inputs(node, network, i);
    set_operation(*node, network.nodes[i].operation, network.spatial_rank);
    const Border& outside = network.nodes[i].outside;
    if (outside != Border{}) set_ends(*node->mutable_outside(), outside, network.spatial_rank);
    if (network.nodes[i].outside_kind == OutsideKind::lowest) node->set_outside_is_lowest(true);
    if (network.nodes[i].outside_kind == OutsideKind::edge) node->set_outside_is_edge(true);
    if (network.nodes[i].outside_kind == OutsideKind::reflect) node->set_outside_is_reflected(true);
    const Border& beyond = network.nodes[i].beyond;
    if (beyond != Border{}) set_ends(*node->mutable_beyond(), beyond, network.spatial_rank);
  }
  return print_text(written);
}

}  // namespace znni
