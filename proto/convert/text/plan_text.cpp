#include "proto/convert/text/plan_text.hpp"

#include "primitives/core/write_atomically.hpp"
#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/read_file.hpp"
#include "proto/convert/base/text_format.hpp"
#include "proto/convert/text/plan_from_message.hpp"
#include "proto/convert/text/plan_words.hpp"

namespace znni {
namespace {

// The enums of the messages have the same order as the planner's.
static_assert(static_cast<int>(PoolMode::fragments) == text::Plan::fragments);
static_assert(static_cast<int>(Place::gpu_host_ram) == text::Plan::gpu_host_ram);
static_assert(static_cast<int>(Precision::bf16) == text::Plan::bf16);

void set_memory(text::Plan::MemoryUse* written, const MemoryUse& memory) {
  written->set_weights(memory.weights);
  written->set_persistent(memory.persistent);
  written->set_transient(memory.transient);
}

void set_key(text::Plan::Key* written, const PlanKey& key) {
  written->set_network(key.network);
  for (const std::string& node : key.nodes) written->add_node(node);
  written->set_device(key.device);
  written->set_threads(key.threads);
  written->set_memory_limit(key.memory_limit);
  written->set_strategy(key.strategy);
  written->set_search_space(key.search_space);
  if (key.precision != Precision::fp32) written->set_precision(static_cast<text::Plan::Precision>(key.precision));
  if (!key.pins.empty()) written->set_pins(key.pins);
  if (!key.volume) {
    if (!key.of_unknown_volume) written->set_endless(true);
    return;
  }
  for (const std::int64_t extent : {key.volume->z, key.volume->y, key.volume->x}) written->add_volume(extent);
}

void set_prediction(text::Plan::Prediction* written, const Prediction& predicted) {
  written->set_voxels_per_second(predicted.voxels_per_second);
  written->set_seconds(predicted.seconds);
  written->set_border_cost(predicted.border_cost);
  written->set_basis(message_of(predicted.basis));
  if (predicted.error > 0) written->set_error(predicted.error);
  if (predicted.endless_voxels_per_second > 0)
    written->set_endless_voxels_per_second(predicted.endless_voxels_per_second);
}

void set_division(text::Plan::Division* written, const Division& division) {
  written->set_s(division.S);
  written->set_f(division.f);
  written->set_f_out(division.f_out);
  written->set_slab(division.slab);
}

void set_step(text::Plan::Step* written, const Step& step) {
  written->set_node(step.node);
  written->set_primitive(step.primitive);
  written->set_version(step.version);
  set_variant(written->mutable_setting(), step.variant);
  written->set_in(to_string(step.in));
  written->set_native(to_string(step.native));
  written->set_out(to_string(step.out));
  if (!step.reorder.empty()) written->set_reorder(step.reorder);
  if (!step.division.empty()) set_division(written->mutable_division(), step.division.front());
  written->set_seconds(step.seconds);
  written->set_basis(message_of(step.basis));
  if (step.error > 0) written->set_error(step.error);
}

void set_segment(text::Plan::Segment* written, const Segment& segment) {
  written->set_first(segment.first);
  written->set_last(segment.last);
  written->set_place(static_cast<text::Plan::Place>(segment.place));
  if (segment.micro_batch != MicroBatch{}) written->mutable_micro_batch()->set_inputs(segment.micro_batch.inputs);
  for (const Step& step : segment.steps) set_step(written->add_step(), step);
}

void set_groups(text::Plan::Groups* written, int pooling, const PoolingMode& mode) {
  written->set_pooling(pooling);
  for (int axis = 0; axis < 3; ++axis) written->add_count(mode.groups[axis]);
  if (!mode.held) written->set_recompute(true);
}

void set_rung(text::Plan::Rung* written, const Rung& rung) {
  const Vec3 input = rung.geometry.pass_input;
  for (int axis = 0; axis < 3; ++axis) written->add_pass_input(input[axis]);
  written->set_s(rung.geometry.S);
  for (const PoolingMode& mode : rung.geometry.modes) {
    written->add_modes(static_cast<text::Plan::PoolMode>(mode.mode));
    if (mode.groups != Vec3::cube(1)) set_groups(written->add_groups(), written->modes_size() - 1, mode);
  }
  if (rung.geometry.stem_slab != 0) written->set_stem_slab(rung.geometry.stem_slab);
  if (rung.geometry.streamed) written->set_streamed(true);
  if (rung.geometry.axis != 0) written->set_axis(rung.geometry.axis);
  if (rung.geometry.closed != Vec3{}) written->set_closed(axes_text(rung.geometry.closed));
  written->set_seconds(rung.seconds);
  set_memory(written->mutable_memory(), rung.memory);
  for (const Segment& segment : rung.segments) set_segment(written->add_segment(), segment);
}

}  // namespace

std::string plan_text(const Plan& plan) {
  text::Plan written;
  set_key(written.mutable_key(), plan.key);
  set_prediction(written.mutable_predicted(), plan.predicted);
  set_memory(written.mutable_memory(), plan.memory);
  if (plan.sockets != 1) written.set_sockets(plan.sockets);
  for (const Rung& rung : plan.ladder) set_rung(written.add_rung(), rung);
  return print_text(written);
}

Result<Plan> parse_plan(std::string_view text) {
  text::Plan written;
  if (const Result<void> parsed = parse_text(text, written); !parsed) return parsed.error();
  return plan_from_message(written);
}

Result<Plan> read_plan(const std::string& path) {
  const Result<std::string> text = read_file(path, max_text_bytes);
  if (!text) return text.error();
  Result<Plan> plan = parse_plan(*text);
  if (!plan) return plan.error().within(path);
  return plan;
}

Result<void> write_plan(const std::string& path, const Plan& plan) { return write_atomically(path, plan_text(plan)); }

}  // namespace znni
