#include "planner/report/explain_json.hpp"

#include "planner/network/swap_axes.hpp"
#include "planner/report/json.hpp"

namespace znni {
namespace {

Json shape_json(const Shape5& shape) { return {shape.S, shape.f, shape.n.z, shape.n.y, shape.n.x}; }

Json mode_json(const std::optional<PoolingMode>& mode) {
  if (!mode) return nullptr;
  return mode->mode == PoolMode::plain ? "plain" : "mpf";
}

Json groups_json(const std::optional<PoolingMode>& mode) {
  if (!mode || mode->groups == Vec3::cube(1)) return nullptr;
  return {{"count", json_of(mode->groups)}, {"input", mode->holds() ? "held" : "recompute"}};
}

Json division_json(const Step& step) {
  if (step.division.empty()) return nullptr;
  const Division& own = step.division.front();
  return {{"S", own.S}, {"f", own.f}, {"f_out", own.f_out}, {"slab", own.slab}};
}

Json variant_json(const Variant& settings) {
  Json object = Json::object();
  for (const Setting& setting : settings) object[setting.name] = setting.value;
  return object;
}

// Returns null if the error is unknown.
Json error_bar(double error) { return error > 0 ? Json(error) : Json(nullptr); }

Json node_json(const NodeReport& report) {
  const Step& step = *report.step;
  return {{"index", report.node},
          {"name", report.name},
          {"place", std::string(to_string(report.place))},
          {"primitive", step.primitive},
          {"version", step.version},
          {"variant", variant_json(step.variant)},
          {"pooling_mode", mode_json(report.mode)},
          {"pooling_groups", groups_json(report.mode)},
          {"in", to_string(step.in)},
          {"native", to_string(step.native)},
          {"out", to_string(step.out)},
          {"reorder", step.reorder.empty() ? Json(nullptr) : Json(step.reorder)},
          {"shape", shape_json(report.shape)},
          {"division", division_json(step)},
          {"predicted_seconds", step.seconds},
          {"runs", report.runs},
          {"spread", json_of(report.spread)},
          {"bytes", {{"persistent", report.persistent}, {"peak", report.peak}}},
          {"basis", std::string(to_string(step.basis))},
          {"error", error_bar(step.error)}};
}

Json segment_json(const Segment& own) {
  return {{"nodes", {own.first, own.last}},
          {"place", std::string(to_string(own.place))},
          {"micro_batch", {{"inputs", own.micro_batch.inputs}}},
          {"group", {{"inputs", own.micro_batch.inputs}}}};  // the same, as it was called up to 0.2.0
}

Json rung_json(const Rung& own) {
  Json modes = Json::array();
  for (const PoolingMode& each : own.geometry.modes) modes.push_back(to_string(each));
  return {{"pass_input", json_of(own.geometry.pass_input)},
          {"S", own.geometry.S},
          {"modes", std::move(modes)},
          {"stem_slab", own.geometry.stem_slab},
          {"head_slab", own.geometry.stem_slab},  // as it was called up to 0.2.0
          {"streamed", own.geometry.streamed},
          {"closed", axes_text(swap_axes(own.geometry.closed, own.geometry.axis))},
          {"predicted_seconds", own.seconds},
          {"memory", {{"persistent", own.memory.persistent}, {"transient", own.memory.transient}}}};
}

Json stream_json(const PlanReport& report) {
  if (!report.geometry.choice.streamed) return nullptr;
  return {{"axis", std::string(axis_name(report.geometry.choice.axis))},
          {"planes", report.geometry.choice.pass_input.z},
          {"phases", report.geometry.phases},
          {"turns", report.geometry.phases},  // as phases were called up to 0.2.0
          {"history_bytes", report.history_bytes}};
}

Json rounding_json(const RoundingReach& reach) {
  return {{"voxels", json_of(reach.voxels())}, {"field_of_view", json_of(reach.field_of_view)}};
}

Json space(std::int64_t persistent, std::int64_t transient) {
  return {{"persistent", persistent}, {"transient", transient}, {"peak", add(persistent, transient)}};
}

Json memory_json(const Plan& plan, const PlanReport& report) {
  const std::int64_t persistent = add(plan.memory.weights, plan.memory.persistent);
  PlacesReport places{0, {plan.memory.total(), 0, 0}, {persistent, 0, 0}, 0, 0};
  if (report.places) places = *report.places;
  const auto& [bytes, kept] = std::pair(places.bytes, places.kept);
  Json host = space(kept.host, bytes.host - kept.host);
  host["weights"] = plan.memory.weights;
  return {{"limit", plan.key.memory_limit},
          {"host", std::move(host)},
          {"pinned", space(kept.pinned, bytes.pinned - kept.pinned)},
          {"device", space(kept.device, bytes.device - kept.device)}};
}

Json predicted_json(const Plan& plan) {
  const Prediction& prediction = plan.predicted;
  return {{"voxels_per_second", prediction.voxels_per_second},
          {"volume", plan.key.volume ? json_of(*plan.key.volume) : Json(nullptr)},
          {"endless_voxels_per_second", endless_rate(prediction)},
          {"seconds", prediction.seconds},
          {"border_cost", prediction.border_cost},
          {"basis", std::string(to_string(prediction.basis))},
          {"error", error_bar(prediction.error)}};
}

Json machine_json(const DeviceSpec& spec) {
  return {{"name", spec.name},       {"kind", spec.kind == DeviceKind::cpu ? "cpu" : "gpu"},
          {"threads", spec.threads}, {"flops_per_second", spec.flops_per_second},
          {"hertz", spec.hertz},     {"bytes_per_second", spec.bytes_per_second}};
}

}  // namespace

std::string explain_json(const Plan& plan, const PlanReport& report, const DeviceSpec& spec, const DeviceSpec* gpu) {
  Json all;
  all["model"] = plan.key.network;
  all["strategy"] = plan.key.strategy;
  all["precision"] = std::string(to_string(plan.key.precision));
  all["pins"] = plan.key.pins.empty() ? Json(nullptr) : Json(plan.key.pins);
  all["input"] = shape_json(report.input);
  all["output"] = shape_json(report.output);
  all["theta"] = report.places ? Json(report.places->theta) : Json(nullptr);
  all["passes"] = pass_count(report.geometry);
  all["stream"] = stream_json(report);
  all["rounding_reach"] = rounding_json(report.rounding);
  all["nodes"] = json_list(report.nodes, node_json);
  all["segments"] = json_list(plan.ladder.front().segments, segment_json);
  all["ladder"] = json_list(plan.ladder, rung_json);
  all["sockets"] = plan.sockets;
  all["predicted"] = predicted_json(plan);
  all["memory"] = memory_json(plan, report);
  all["machine"] = machine_json(spec);
  all["gpu"] = gpu == nullptr ? Json(nullptr) : machine_json(*gpu);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace znni
