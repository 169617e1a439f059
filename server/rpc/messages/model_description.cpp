#include "server/rpc/messages/model_description.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "planner/network/output_stride.hpp"
#include "server/rpc/messages/datatypes.hpp"

namespace znni::rpc {
namespace {

constexpr std::string_view platform = "znni";

// Returns the shape of `f` channels, where -1 stands for any number.
std::vector<std::int64_t> wire_shape(std::int64_t f, int spatial_rank) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(2 + spatial_rank), -1);
  shape[1] = f;
  return shape;
}

bool has_window(const ModelInfo& model) { return model.window != Vec3{}; }

void describe_tensor(const std::string& name, const std::vector<std::int64_t>& shape,
                     inference::ModelMetadataResponse::TensorMetadata& out) {
  out.set_name(name);
  out.set_datatype("FP32");
  for (const std::int64_t extent : shape) out.add_shape(extent);
}

// Returns "z,y,x", as many extents as the net has axes: "y,x" in 2D.
std::string extent_text(Vec3 n, int spatial_rank) {
  std::string text;
  for (int axis = 3 - spatial_rank; axis < 3; ++axis) text += (text.empty() ? "" : ",") + std::to_string(n[axis]);
  return text;
}

// Tells how often voxels of the output are repeated: "z,y,x", or "z,y,x;z,y,x" in the order of outputs that differ.
void describe_strides(const ModelInfo& model, google::protobuf::Map<std::string, std::string>& properties) {
  if (model.output_stride != Vec3::cube(1)) {
    properties["output_stride"] = extent_text(model.output_stride, model.spatial_rank);
  }
  if (!outputs_differ_in_stride(model.outputs)) return;
  std::string& strides = properties["output_strides"];
  for (const NamedTensor& output : model.outputs) {
    strides += (strides.empty() ? "" : ";") + extent_text(output.stride, model.spatial_rank);
  }
}

// Returns the shortest text that reads as this number.
std::string shortest_text(double number) {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

// Returns the smallest volume. A window lies around one that is smaller, where the output is as large as the input.
Vec3 min_input(const ModelInfo& model) {
  if (!has_window(model)) return model.min_input;
  Vec3 least = model.window;
  for (int axis = 0; axis < 3; ++axis) {
    if (model.field_of_view[axis] == 1) least[axis] = 1;
  }
  return least;
}

std::uint64_t count(std::int64_t value) { return static_cast<std::uint64_t>(value); }

void set_duration(std::int64_t calls, std::int64_t ns, inference::StatisticDuration& out) {
  out.set_count(count(calls));
  out.set_ns(count(ns));
}

}  // namespace

inference::ModelMetadataResponse describe_metadata(const ModelInfo& model, const std::vector<std::string>& versions,
                                                   const WireLimits& limits) {
  inference::ModelMetadataResponse response;
  response.set_name(model.name);
  for (const std::string& version : versions) response.add_versions(version);
  response.set_platform(std::string(platform));
  for (const NamedTensor& input : model.inputs) {
    describe_tensor(input.name, wire_shape(input.channels, model.spatial_rank), *response.add_inputs());
  }
  for (const NamedTensor& output : model.outputs) {
    describe_tensor(output.name, wire_shape(output.channels, model.spatial_rank), *response.add_outputs());
  }
  const Vec3 halo = model.field_of_view - Vec3::cube(1);
  const Vec3 before = halo / Vec3::cube(2);
  auto& properties = *response.mutable_properties();
  properties["field_of_view"] = extent_text(model.field_of_view, model.spatial_rank);
  if (has_window(model)) {
    properties["window"] = extent_text(model.window, model.spatial_rank);
    properties["window_overlap"] = shortest_text(model.blend.overlap);
    properties["window_weight"] = model.blend.weight == WindowWeight::gaussian ? "gaussian" : "constant";
  }
  properties["least_input"] = extent_text(min_input(model), model.spatial_rank);
  const bool has_period = model.period != Vec3::cube(1) && !has_window(model);
  if (has_period) properties["input_period"] = extent_text(model.period, model.spatial_rank);
  properties["output_extent"] = "input - field_of_view + 1";
  if (!has_window(model)) describe_strides(model, properties);  // blended voxels differ
  if (model.is_dense) {
    properties["halo_before"] = extent_text(before, model.spatial_rank);
    properties["halo_after"] = extent_text(halo - before, model.spatial_rank);
  } else if (model.padded != Vec3{}) {  // no block by itself has the volume's border
    properties["padding_before"] = extent_text(model.frame.begin, model.spatial_rank);
    properties["padding_after"] = extent_text(model.frame.end, model.spatial_rank);
  }
  if (model.whole_input) properties["input_zscore"] = "volume";  // of which no box by itself has the mean
  properties["patch"] = extent_text(model.patch, model.spatial_rank);
  properties["predicted_voxels_per_second"] = std::to_string(std::llround(model.predicted_voxels_per_second));
  properties["plan"] = model.plan_summary;
  if (!model.fingerprint.empty()) properties["fingerprint"] = model.fingerprint;
  properties["precision"] = std::string(to_string(model.precision));
  properties["plan_memory_bytes"] = std::to_string(model.memory.total());
  properties["input_datatypes"] = "FP32,FP16,UINT8,UINT16";
  properties["output_datatypes"] = types_that_hold(model.largest_channel_number);
  const bool has_labels = model.largest_channel_number > 0;  // which are not averaged
  if (has_labels) properties["largest_channel_number"] = std::to_string(model.largest_channel_number);
  properties["max_request_bytes"] = std::to_string(limits.max_request_bytes);
  properties["max_response_bytes"] = std::to_string(limits.max_response_bytes);
  properties["max_chunk_bytes"] = std::to_string(limits.max_chunk_bytes);
  return response;
}

inference::ModelConfig describe_config(const ModelInfo& model) {
  inference::ModelConfig config;
  config.set_name(model.name);
  config.set_platform(std::string(platform));
  config.set_backend(std::string(platform));
  config.set_max_batch_size(0);
  for (const NamedTensor& each : model.inputs) {
    auto& input = *config.add_input();
    input.set_name(each.name);
    input.set_data_type(inference::TYPE_FP32);
    for (const std::int64_t extent : wire_shape(each.channels, model.spatial_rank)) input.add_dims(extent);
  }
  for (const NamedTensor& each : model.outputs) {
    auto& output = *config.add_output();
    output.set_name(each.name);
    output.set_data_type(inference::TYPE_FP32);
    for (const std::int64_t extent : wire_shape(each.channels, model.spatial_rank)) output.add_dims(extent);
  }
  return config;
}

inference::ModelStatistics describe_statistics(const ModelInfo& model, const ModelStatistics& counted) {
  inference::ModelStatistics statistics;
  statistics.set_name(model.name);
  statistics.set_version(model.version);
  statistics.set_last_inference(count(counted.last_unix_ms));
  statistics.set_inference_count(count(counted.inferences));
  statistics.set_execution_count(count(counted.executions));
  auto& times = *statistics.mutable_inference_stats();
  set_duration(counted.succeeded, counted.success_ns, *times.mutable_success());
  set_duration(counted.failed + counted.cancelled, counted.fail_ns, *times.mutable_fail());
  set_duration(counted.succeeded, counted.queue_ns, *times.mutable_queue());
  set_duration(counted.succeeded, 0, *times.mutable_compute_input());
  set_duration(counted.succeeded, counted.compute_ns, *times.mutable_compute_infer());
  set_duration(counted.succeeded, 0, *times.mutable_compute_output());
  auto& batch = *statistics.add_batch_stats();
  batch.set_batch_size(1);
  set_duration(counted.executions, 0, *batch.mutable_compute_input());
  set_duration(counted.executions, counted.compute_ns, *batch.mutable_compute_infer());
  set_duration(counted.executions, 0, *batch.mutable_compute_output());
  auto& memory = *statistics.add_memory_usage();
  memory.set_type("CPU");
  memory.set_byte_size(count(model.memory.total()));
  return statistics;
}

inference::RepositoryIndexResponse::ModelIndex describe_index(const ModelInfo& model) {
  inference::RepositoryIndexResponse::ModelIndex index;
  index.set_name(model.name);
  index.set_version(model.version);
  switch (model.state) {
    case ModelState::loading: index.set_state("LOADING"); break;
    case ModelState::ready: index.set_state("READY"); break;
    case ModelState::unloaded:
    case ModelState::unavailable: index.set_state("UNAVAILABLE"); break;
  }
  index.set_reason(model.reason);
  return index;
}

}  // namespace znni::rpc
