#include "planner/report/explain_json.hpp"

#include <nlohmann/json.hpp>

#include "planner/network/exchange.hpp"

namespace znni {
namespace {

using Json = nlohmann::ordered_json;

Json extents(Vec3 n) { return {n.z, n.y, n.x}; }
Json shape(const Shape5& shape) { return {shape.S, shape.f, shape.n.z, shape.n.y, shape.n.x}; }

Json mode(const std::optional<PoolingMode>& mode) {
  if (!mode) return nullptr;
  return mode->mode == PoolMode::plain ? "plain" : "mpf";
}

Json groups(const std::optional<PoolingMode>& mode) {
  if (!mode || mode->groups == Vec3::cube(1)) return nullptr;
  return {{"count", extents(mode->groups)}, {"input", mode->holds() ? "held" : "anew"}};
}

Json division(const Step& step) {
  if (step.division.empty()) return nullptr;
  const Division& own = step.division.front();
  return {{"S", own.S}, {"f", own.f}, {"f_out", own.f_out}, {"slab", own.slab}};
}

Json variant(const Variant& settings) {
  Json object = Json::object();
  for (const Setting& setting : settings) object[setting.name] = setting.value;
  return object;
}

// Returns null if the error is unknown.
Json error_bar(double error) { return error > 0 ? Json(error) : Json(nullptr); }

Json node(const NodeReport& report) {
  const Step& step = *report.step;
  return {{"index", report.node},
          {"name", report.name},
          {"place", std::string(to_string(report.place))},
          {"primitive", step.primitive},
          {"version", step.version},
          {"variant", variant(step.variant)},
          {"pooling_mode", mode(report.mode)},
          {"pooling_groups", groups(report.mode)},
          {"in", to_string(step.in)},
          {"native", to_string(step.native)},
          {"out", to_string(step.out)},
          {"reorder", step.reorder.empty() ? Json(nullptr) : Json(step.reorder)},
          {"shape", shape(report.shape)},
          {"division", division(step)},
          {"predicted_seconds", step.seconds},
          {"runs", report.runs},
          {"spread", extents(report.spread)},
          {"bytes", {{"persistent", report.persistent}, {"peak", report.peak}}},
          {"basis", std::string(to_string(step.basis))},
          {"error", error_bar(step.error)}};
}

Json segment(const Segment& own) {
  return {{"nodes", {own.first, own.last}},
          {"place", std::string(to_string(own.place))},
          {"group", {{"inputs", own.group.inputs}}}};
}

Json rung(const Rung& own) {
  Json modes = Json::array();
  for (const PoolingMode& each : own.geometry.modes) modes.push_back(to_string(each));
  return {{"pass_input", extents(own.geometry.pass_input)},
          {"S", own.geometry.S},
          {"modes", std::move(modes)},
          {"head_slab", own.geometry.head_slab},
          {"streamed", own.geometry.streamed},
          {"closed", axes_text(exchanged(own.geometry.closed, own.geometry.axis))},
          {"predicted_seconds", own.seconds},
          {"memory", {{"persistent", own.memory.persistent}, {"transient", own.memory.transient}}}};
}

Json stream(const PlanReport& report) {
  if (!report.geometry.choice.streamed) return nullptr;
  return {{"axis", std::string(axis_name(report.geometry.choice.axis))},
          {"planes", report.geometry.choice.pass_input.z},
          {"turns", report.geometry.turns},
          {"history_bytes", report.history_bytes}};
}

Json rounding(const RoundingReach& reach) {
  return {{"voxels", extents(reach.voxels())}, {"field_of_view", extents(reach.field_of_view)}};
}

template <class Items, class Function>
Json list(const Items& items, Function one) {
  Json array = Json::array();
  for (const auto& item : items) array.push_back(one(item));
  return array;
}

Json space(std::int64_t persistent, std::int64_t transient) {
  return {{"persistent", persistent}, {"transient", transient}, {"peak", add(persistent, transient)}};
}

Json memory(const Plan& plan, const PlanReport& report) {
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

Json predicted(const Plan& plan) {
  const Prediction& prediction = plan.predicted;
  return {{"voxels_per_second", prediction.voxels_per_second},
          {"volume", plan.key.volume ? extents(*plan.key.volume) : Json(nullptr)},
          {"endless_voxels_per_second", endless_rate(prediction)},
          {"seconds", prediction.seconds},
          {"border_cost", prediction.border_cost},
          {"basis", std::string(to_string(prediction.basis))},
          {"error", error_bar(prediction.error)}};
}

Json machine(const DeviceSpec& spec) {
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
  all["input"] = shape(report.input);
  all["output"] = shape(report.output);
  all["theta"] = report.places ? Json(report.places->theta) : Json(nullptr);
  all["passes"] = pass_count(report.geometry);
  all["stream"] = stream(report);
  all["rounding_reach"] = rounding(report.rounding);
  all["nodes"] = list(report.nodes, node);
  all["segments"] = list(plan.ladder.front().segments, segment);
  all["ladder"] = list(plan.ladder, rung);
  all["sockets"] = plan.sockets;
  all["predicted"] = predicted(plan);
  all["memory"] = memory(plan, report);
  all["machine"] = machine(spec);
  all["gpu"] = gpu == nullptr ? Json(nullptr) : machine(*gpu);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace znni
