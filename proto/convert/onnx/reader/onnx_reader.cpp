#include "proto/convert/onnx/reader/onnx_reader.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "planner/network/padding.hpp"
#include "planner/network/tile_bound.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/file_state.hpp"
#include "proto/convert/onnx/folding/onnx_fold.hpp"
#include "proto/convert/onnx/graph/onnx_builder.hpp"
#include "proto/convert/onnx/graph/onnx_external.hpp"
#include "proto/convert/onnx/graph/onnx_gates.hpp"
#include "proto/convert/onnx/graph/onnx_inputs.hpp"
#include "proto/convert/onnx/graph/onnx_pads.hpp"
#include "proto/convert/onnx/graph/onnx_tensors.hpp"
#include "proto/convert/onnx/graph/onnx_words.hpp"
#include "proto/convert/onnx/operators/onnx_flatten.hpp"
#include "proto/convert/onnx/operators/onnx_layer_norm.hpp"
#include "proto/convert/onnx/operators/onnx_lengths.hpp"
#include "proto/convert/onnx/operators/onnx_softmax.hpp"
#include "proto/convert/onnx/operators/onnx_turned.hpp"
#include "proto/convert/onnx/reader/onnx_blockers.hpp"
#include "proto/convert/onnx/reader/onnx_operators.hpp"
#include "proto/convert/onnx/reader/onnx_outline.hpp"
#include "proto/convert/onnx/reader/onnx_volumes.hpp"
#include "proto/convert/onnx/tokens/onnx_tokens.hpp"

namespace znni {
namespace {

// Returns an upper bound of the parameters: a few times the file's bytes, because nodes may share a tensor, and one
// number may stand for all channels.
std::int64_t plausible_parameters(const onnx::ModelProto& model, std::int64_t bytes_elsewhere) {
  constexpr std::int64_t always = std::int64_t{1} << 22;
  return add(always, mul(4, add(static_cast<std::int64_t>(model.ByteSizeLong()), bytes_elsewhere)));
}

// Returns the bytes of the numbers that nodes read, as float32. A tensor that nodes share counts once. Tensors with
// wrong extents do not count, because their node refuses them.
std::int64_t weight_bytes_of(const OnnxGraph& graph) {
  std::set<const onnx::TensorProto*> tensors;
  for (const onnx::NodeProto* node : graph.nodes) {
    for (const std::string& input : node->input()) {
      if (const auto found = graph.constants.find(input); found != graph.constants.end()) tensors.insert(found->second);
    }
  }
  std::int64_t bytes = 0;
  for (const onnx::TensorProto* tensor : tensors) {
    const Result<std::int64_t> count = count_of(*tensor);
    if (count) bytes = add(bytes, mul(*count, sizeof(float)));
  }
  return bytes;
}

Result<void> check_room(const OnnxGraph& graph, std::int64_t max_bytes) {
  const std::int64_t bytes = weight_bytes_of(graph);
  if (bytes <= max_bytes) return {};
  return Error{ErrorCode::over_budget, "its weights take " + bytes_text(bytes) + " as float32, and " +
                                           bytes_text(max_bytes) + " may be used for all of the model"};
}

// Returns how many numbers the node may read.
std::int64_t count_numbers(const onnx::NodeProto& node, const OnnxBuilder& builder) {
  std::int64_t numbers = 0;
  for (int i = 0; i < node.input_size(); ++i) {
    const onnx::TensorProto* constant = builder.constant(node, i);
    const Result<std::int64_t> count = constant == nullptr ? 0 : count_of(*constant);
    if (count) numbers = add(numbers, *count);
  }
  return numbers;
}

// Makes outputs whose channels are last, or that leave out a single one, those whose channels are first, as in
// messages.
void settle_outputs(const OnnxGraph& graph, OnnxBuilder& builder) {
  for (const std::string& output : graph.outputs) {
    const TurnedValue* turned = builder.turned(output);
    if (turned == nullptr) continue;
    if (is_channels_last(builder, *turned) || is_without_channel(builder, *turned)) builder.settle(output);
  }
}

// Joins outputs of which some are pooled of all voxels. These have their voxel everywhere.
void append_join(const OnnxGraph& graph, OnnxBuilder& builder) {
  std::vector<int> values;
  std::int64_t channels = 0;
  for (const std::string& output : graph.outputs) {
    values.push_back(builder.value_of(output));
    channels = add(channels, builder.channels(values.back()));
  }
  builder.append(*graph.join, Concat{}, std::move(values), channels);
}

// Joins several outputs, if all are values; finish() refuses others.
Result<void> convert_join(const OnnxGraph& graph, OnnxBuilder& builder) {
  settle_outputs(graph, builder);
  if (builder.is_written(graph.output)) return corrupt("tensor " + in_quotes(graph.output) + " is written twice");
  const bool are_values = std::all_of(graph.outputs.begin(), graph.outputs.end(),
                                      [&](const std::string& output) { return builder.value_of(output) >= 0; });
  if (!are_values || !check_axes_of_outputs(graph, builder).has_value()) return {};
  const bool has_pooled = std::any_of(graph.outputs.begin(), graph.outputs.end(), [&](const std::string& output) {
    return builder.pooled_axes(output) > 0 && !builder.is_of_patch(output);
  });
  if (!has_pooled) return convert_node(*graph.join, builder);
  append_join(graph, builder);
  return builder.check_limits();
}

// What a graph writes as several nodes and is one layer.
struct Written {
  OnnxGates gates;
  OnnxWrittenNorms norms;
  OnnxWrittenLengths lengths;
};

// Converts a node that is a part of a gate. Only the last one writes anything.
Result<void> convert_gate(const onnx::NodeProto& node, const OnnxGate& gate, OnnxBuilder& builder) {
  const bool is_last = gate.last == &node;
  const int x = builder.value_of(gate.x);
  if (x < 0) {
    const bool is_laid = builder.tokens().laid(gate.x) != nullptr || builder.turned(gate.x) != nullptr;
    if (!is_laid) return convert_node(node, builder);
    const bool appends = is_last && append_in_layout(node, builder, gate.x, Activate{gate.activation});
    return appends ? builder.check_limits() : Result<void>();
  }
  const FlatTensor* flat = builder.flat(gate.x);
  if (flat != nullptr && !flat->scale.empty()) return convert_node(node, builder);
  if (!is_last) return {};
  builder.append(node, Activate{gate.activation}, {x}, builder.channels(x));
  if (const int axes = builder.pooled_axes(gate.x); axes > 0) builder.note_pooled(node, axes);
  if (flat != nullptr) builder.note_flat(node, FlatTensor(*flat));
  return builder.check_limits();
}

// Converts a node, or what of a layer of several nodes it stands for: the last one for all.
Result<void> convert_or_join(const onnx::NodeProto& node, const Written& written, OnnxBuilder& builder) {
  const OnnxWrittenNorm* norm = written.norms.of(node);
  if (norm != nullptr && is_over_channels(*norm, builder)) {
    if (norm->last == &node) convert_written_norm(*norm, builder);
    return builder.check_limits();
  }
  if (norm != nullptr && is_of_tokens(*norm, builder)) {
    if (norm->last != &node) return {};
    if (Result<void> converted = convert_norm_of_tokens(*norm, builder); !converted) return converted;
    return builder.check_limits();
  }
  const OnnxWrittenLength* length = written.lengths.of(node);
  if (length != nullptr && is_layer(*length, builder)) {
    if (length->last == &node) convert_written_length(*length, builder);
    return builder.check_limits();
  }
  const OnnxGate* gate = written.gates.of(node);
  return gate == nullptr ? convert_node(node, builder) : convert_gate(node, *gate, builder);
}

// Converts all nodes, also those behind refused ones, as far as they read no more than `max_numbers` in all: a hostile
// file could let a million refused nodes share one large tensor.
void convert_nodes(const OnnxGraph& graph, const Written& written, OnnxBuilder& builder, std::int64_t max_numbers,
                   OnnxBlockers& blockers) {
  std::int64_t numbers = 0;
  for (const onnx::NodeProto* node : graph.nodes) {
    const bool joins = node == graph.join.get();
    const Result<void> converted = joins ? convert_join(graph, builder) : convert_or_join(*node, written, builder);
    if (!converted) builder.refuse(*node, blockers.add(*node, converted.error()));
    if (!blockers.first()) continue;
    numbers = add(numbers, count_numbers(*node, builder));
    if (numbers > max_numbers) return blockers.end_early();
  }
}

// Returns the outputs with their channels, if there are several. Requires that they are joined.
std::vector<NamedTensor> outputs_of(const OnnxGraph& graph, const OnnxBuilder& builder) {
  std::vector<NamedTensor> outputs;
  if (!graph.join) return outputs;
  for (const std::string& name : graph.outputs) outputs.push_back({name, builder.channels(builder.value_of(name))});
  return outputs;
}

// Reads all nodes; leaves those that the output needs, and names the outputs. Returns the first blocker.
Result<void> read_nodes(const OnnxGraph& graph, const Written& written, OnnxBuilder& builder, std::int64_t max_numbers,
                        OnnxBlockers& blockers) {
  convert_nodes(graph, written, builder, max_numbers, blockers);
  if (blockers.first()) return *blockers.first();
  settle_outputs(graph, builder);
  builder.drop_unread(graph.output);
  if (builder.value_of(graph.output) >= 0) builder.network().outputs = outputs_of(graph, builder);
  return {};
}

// Returns the window that the file declares for a network that is bound to one; zeros if it leaves an axis open.
Vec3 declared_window(const Network& network, const VolumeExtents& volumes) {
  if (!is_tile_bound(network)) return {};
  Vec3 window = Vec3::cube(1);
  for (int axis = 3 - network.spatial_rank; axis < 3; ++axis) {
    if (volumes.least[axis] == 0 || volumes.step[axis] != 0) return {};
    window[axis] = volumes.least[axis];
  }
  return window;
}

// Fails if an output is no tensor as the net's values are.
Result<void> check_outputs_are_values(const OnnxGraph& graph, const OnnxBuilder& builder) {
  for (const std::string& output : graph.outputs) {
    const bool is_reshaped = builder.grouped(output) != nullptr || builder.split(output) != nullptr;
    const bool is_laid = builder.turned(output) != nullptr || builder.tokens().laid(output) != nullptr;
    if (is_reshaped || is_laid) {
      return unsupported("the output " + in_quotes(output) +
                         " is transposed or reshaped; only [N, C, Z, Y, X] and [N, Z, Y, X, C] are supported");
    }
    if (builder.value_of(output) < 0) {
      return unsupported("the output " + in_quotes(output) + " is not the first output of a node");
    }
  }
  return check_axes_of_outputs(graph, builder);
}

// Returns what to do if the error is of the node that joins the outputs, because they do not fit each other.
std::optional<Error> outputs_differ(const OnnxGraph& graph, const std::string& join, const Error& error) {
  if (!graph.join || error.message.find("node " + join + ": ") == std::string::npos) return std::nullopt;
  return unsupported("its outputs " + names_in_quotes(graph.outputs) +
                     " are computed together, for which they must have one extent, but for their strides (" +
                     error.message + "): choose by --outputs, or by the parameter 'outputs' of config.pbtxt");
}

// Returns the same if the error is of branches that do not meet, of which one is an input.
std::optional<Error> tensors_differ(const OnnxGraph& graph, const std::string& join, const Error& error) {
  if (std::optional<Error> differ = outputs_differ(graph, join, error)) return differ;
  const auto says = [&](const std::string& words) { return error.message.find(words) != std::string::npos; };
  const std::string input(split_name);
  const bool names_input = says(input + " has ") || says(input + " #");
  if (!graph.split || !says("branches do not meet") || !names_input) return std::nullopt;
  return inputs_differ(graph, error.message);
}

Result<LoadedNetwork> finish(const onnx::ModelProto& model, const OnnxGraph& graph, OnnxBuilder& builder) {
  builder.network().name = model.graph().name();
  if (const Result<void> sound = check_outputs_are_values(graph, builder); !sound) return sound.error();
  if (const Result<void> sound = check_flattened(graph, builder); !sound) return sound.error();
  const std::string last = builder.network().nodes.empty() ? "" : builder.network().nodes.back().name;
  Result<LoadedNetwork> valid = without_padding({std::move(builder.network()), std::move(builder.weights())},
                                                builder.pads(), builder.extents(0).least);
  if (!valid) return tensors_differ(graph, last, valid.error()).value_or(valid.error());
  if (const Result<void> sound = check(valid->network); !sound) {
    return tensors_differ(graph, last, sound.error()).value_or(corrupt(sound.error().message));
  }
  valid->network.window = declared_window(valid->network, builder.extents(0));
  if (const Result<void> fits = check_window(valid->network); !fits) {
    return unsupported("the extents that the input declares are the window that the network is bound to, and " +
                       fits.error().message + "; export it with open extents, and name a window");
  }
  if (const Result<void> sound = check_weights(valid->network, valid->weights); !sound) return sound.error();
  return valid;
}

// Returns the refusal of a network as a whole. `is_whole`: its nodes were looked at.
Blockers blockers_of(const Error& error, bool is_whole) {
  const OnnxWords words = words_of_network(error.message);
  return {{{words.what, error.message, words.advice, "", 1}}, 1, 0, is_whole};
}

// Returns the refusal of a model before its nodes are looked at; `all` gets that of a sound one.
Error refused_early(const Error& error, Blockers& all) {
  if (error.code == ErrorCode::unsupported) all = blockers_of(error, false);
  return error;
}

// Fails if pads were taken for the extents that some volumes have, of a net that takes others, too.
Result<void> check_same_pads(const OnnxGraph& graph, const Network& network, const VolumeExtents& volumes) {
  const bool has_some = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                    [](const onnx::NodeProto* node) { return pads_by_extent(*node); });
  if (!has_some || is_strided(network) || volumes.step == Vec3{}) return {};
  return unsupported(
      "pads by auto_pad at a stride, which depends on the volume's extents, and takes any: export it with "
      "explicit pads or fixed extents");
}

// Reads the nodes for the volumes that the net takes. `all` gets the refusals of nodes.
Result<LoadedNetwork> read_for_volumes(const onnx::ModelProto& model, const OnnxGraph& graph,
                                       const OnnxReading& reading, Blockers& all) {
  OnnxBuilder builder = reading.make();
  const bool computes_extents = reads_extents(graph);
  if (computes_extents) {
    const Result<VolumeExtents> volumes = find_volumes(reading, all);
    if (!volumes) return outputs_differ(graph, std::string(join_name), volumes.error()).value_or(volumes.error());
    builder.assume(*volumes);
  }
  const VolumeExtents volumes = builder.extents(0);
  if (const Result<void> read = reading.read(builder, all); !read) return read.error();
  Result<LoadedNetwork> loaded = finish(model, graph, builder);
  if (!loaded || !computes_extents) return loaded;
  if (const Result<void> covered = check_covered(loaded->network, volumes); !covered) return covered.error();
  const Result<void> same = check_same_pads(graph, loaded->network, volumes);
  return same ? std::move(loaded) : same.error();
}

Result<LoadedNetwork> read_and_collect(const onnx::ModelProto& model, const OnnxSource& source, Blockers& all) {
  const Result<OnnxGraph> graph = make_onnx_graph(model, source.reading.outputs);
  if (!graph) return refused_early(graph.error(), all);
  const Result<InputForm> form = form_of(*graph);
  if (!form) return refused_early(form.error(), all);
  if (const Result<void> fits = check_room(*graph, source.reading.max_weight_bytes); !fits) return fits.error();
  const std::int64_t max_numbers = plausible_parameters(model, source.bytes_elsewhere);
  const Written written = {OnnxGates(*graph), OnnxWrittenNorms(*graph), OnnxWrittenLengths(*graph)};
  const OnnxReading reading = {[&] { return OnnxBuilder(*graph, form->rank, form->f_in, max_numbers, source.floats); },
                               [&](OnnxBuilder& builder, Blockers& found) {
                                 OnnxBlockers blockers(*graph);
                                 const Result<void> read = read_nodes(*graph, written, builder, max_numbers, blockers);
                                 found = blockers.result();
                                 return read;
                               }};
  Result<LoadedNetwork> loaded = read_for_volumes(model, *graph, reading, all);
  if (!loaded && all.count == 0) all = blockers_of(loaded.error(), true);
  return loaded;
}

}  // namespace

Result<LoadedNetwork> read_onnx(const onnx::ModelProto& model, const OnnxSource& source, Blockers* blockers) {
  Blockers all;
  Result<LoadedNetwork> loaded = read_and_collect(model, source, all);
  if (blockers != nullptr) *blockers = std::move(all);
  return loaded;
}

Result<LoadedNetwork> read_onnx_bytes(std::string_view bytes, const std::string& path, const NetworkReading& reading,
                                      Blockers* blockers) {
  if (bytes.size() > static_cast<std::size_t>(max_model_bytes))
    return unsupported("is over the 2 GiB of a protobuf file");
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return corrupt("not an ONNX model, or cut short (" + std::to_string(bytes.size()) + " bytes)");
  }
  if (path.empty()) return read_onnx(model, {floats_of, 0, reading}, blockers);
  Result<ExternalData> files = ExternalData::open(model, path);
  if (!files) return files.error();
  const auto read = [&files](const onnx::TensorProto& tensor) { return files->floats_of(tensor); };
  return read_onnx(model, {read, files->bytes(), reading}, blockers);
}

Result<LoadedNetwork> read_onnx_file(const std::string& path, const NetworkReading& reading, Blockers* blockers) {
  constexpr std::int64_t names = std::int64_t{1} << 20;  // bytes for names and other fields beside the weights
  const std::optional<FileState> before = file_state(path);
  const Result<std::string> outline = read_onnx_outline(path, add(reading.max_weight_bytes, names));
  if (!outline) return outline.error();
  Blockers all;
  Result<LoadedNetwork> loaded = read_onnx_bytes(*outline, path, reading, &all);
  // The outline refers to positions in the file, so the file must not have changed.
  if (file_state(path) != before) return corrupt("changed while it was read; load it again").within(path);
  if (!loaded) loaded = with_others(loaded.error(), all, path).within(path);
  if (blockers != nullptr) *blockers = std::move(all);
  return loaded;
}

}  // namespace znni
