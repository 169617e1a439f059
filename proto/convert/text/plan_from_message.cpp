#include "proto/convert/text/plan_from_message.hpp"

#include "proto/convert/base/errors.hpp"
#include "proto/convert/base/extents.hpp"
#include "proto/convert/text/plan_words.hpp"

namespace znni {
namespace {

Result<std::int64_t> not_negative(std::string_view field, std::int64_t value) {
  if (value >= 0) return value;
  return corrupt(std::string(field) + " is " + std::to_string(value) + "; 0 or more is right");
}

// Reads z, y, x, each at least 1.
Result<Vec3> three_of(const std::string& field, const std::vector<std::int64_t>& values) {
  if (values.size() != 3) return corrupt(field + " has " + std::to_string(values.size()) + " values; 3 are right");
  for (const std::int64_t each : values) {
    if (each < 1) return corrupt(field + " holds " + std::to_string(each) + "; 1 or more is right");
  }
  return Vec3{values[0], values[1], values[2]};
}

Result<MemoryUse> memory_of(const text::Plan::MemoryUse& written) {
  for (const auto& [field, value] :
       {std::pair{"memory.weights", written.weights()}, std::pair{"memory.persistent", written.persistent()},
        std::pair{"memory.transient", written.transient()}}) {
    if (const Result<std::int64_t> sound = not_negative(field, value); !sound) return sound.error();
  }
  return MemoryUse{written.weights(), written.persistent(), written.transient()};
}

Result<Division> division_of(const text::Plan::Division& written) {
  for (const std::int64_t part : {written.s(), written.f(), written.f_out(), written.slab()}) {
    if (const Result<std::int64_t> sound = not_negative("division", part); !sound) return sound.error();
  }
  return Division{written.s(), written.f(), written.f_out(), written.slab()};
}

Result<MicroBatch> micro_batch_of(const text::Plan::Segment& written) {
  const Result<std::int64_t> inputs = written.has_micro_batch() || !written.has_group()
                                          ? not_negative("micro_batch", written.micro_batch().inputs())
                                          : not_negative("group", written.group().inputs());
  if (!inputs) return inputs.error();
  return MicroBatch{*inputs};
}

Result<void> read_formats(const text::Plan::Step& written, Step& step) {
  const Result<Format> in = parse_format("in", written.in());
  if (!in) return in.error();
  const Result<Format> native = parse_format("native", written.native());
  if (!native) return native.error();
  const Result<Format> out = parse_format("out", written.out());
  if (!out) return out.error();
  step.in = *in;
  step.native = *native;
  step.out = *out;
  return {};
}

Result<Step> step_of(const text::Plan::Step& written) {
  if (written.primitive().empty() && written.node() >= 0) return corrupt("primitive is missing");
  Step step;
  if (const Result<void> read = read_formats(written, step); !read) return read.error();
  if (written.has_division()) {
    const Result<Division> division = division_of(written.division());
    if (!division) return division.error();
    step.division.push_back(*division);
  }
  step.node = written.node();
  step.primitive = written.primitive();
  step.version = written.version();
  step.variant = variant_of(written.setting());
  step.reorder = written.reorder();
  step.seconds = written.seconds();
  step.basis = basis_of(written.basis());
  step.error = written.error();
  return step;
}

Result<Segment> segment_of(const text::Plan::Segment& written) {
  Segment segment;
  segment.first = written.first();
  segment.last = written.last();
  segment.place = static_cast<Place>(written.place());
  const Result<MicroBatch> micro_batch = micro_batch_of(written);
  if (!micro_batch) return micro_batch.error();
  segment.micro_batch = *micro_batch;
  for (const text::Plan::Step& step : written.step()) {
    Result<Step> read = step_of(step);
    if (!read) return read.error().within("step of node " + std::to_string(step.node()));
    segment.steps.push_back(*std::move(read));
  }
  return segment;
}

Result<void> add_groups(const text::Plan::Groups& written, std::vector<PoolingMode>& modes) {
  const auto poolings = static_cast<int>(modes.size());
  if (written.pooling() < 0 || written.pooling() >= poolings) {
    return corrupt("groups of pooling " + std::to_string(written.pooling()) + "; modes names " +
                   std::to_string(poolings));
  }
  const Result<Vec3> count = three_of("groups.count", {written.count().begin(), written.count().end()});
  if (!count) return count.error();
  PoolingMode& mode = modes[static_cast<std::size_t>(written.pooling())];
  mode.groups = *count;
  mode.held = !written.recompute() && !written.anew();
  return {};
}

Result<GeometryChoice> geometry_of(const text::Plan::Rung& written) {
  const Result<Vec3> extents = three_of("pass_input", {written.pass_input().begin(), written.pass_input().end()});
  if (!extents) return extents.error();
  if (written.s() < 1) return corrupt("S is " + std::to_string(written.s()) + "; 1 or more is right");
  GeometryChoice geometry{*extents, written.s(), {}, 0, written.streamed()};
  for (const int mode : written.modes()) geometry.modes.push_back(static_cast<PoolMode>(mode));
  const bool has_old_name = written.has_head_slab() && !written.has_stem_slab();
  geometry.stem_slab = has_old_name ? written.head_slab() : written.stem_slab();
  const std::string slab = has_old_name ? "head_slab" : "stem_slab";
  if (const Result<std::int64_t> sound = not_negative(slab, geometry.stem_slab); !sound) return sound.error();
  if (written.axis() < 0 || written.axis() > 2) {
    return corrupt("axis is " + std::to_string(written.axis()) + "; 0 to 2 is right");
  }
  geometry.axis = written.axis();
  for (int axis = 0; axis < 3; ++axis) {
    geometry.closed[axis] = written.closed().find("zyx"[axis]) == std::string::npos ? 0 : 1;
  }
  if (axes_text(geometry.closed) != written.closed()) {
    return corrupt("closed is '" + written.closed() + "'; axes in the order zyx are right, each once");
  }
  for (const text::Plan::Groups& groups : written.groups()) {
    if (Result<void> added = add_groups(groups, geometry.modes); !added) return added.error();
  }
  return geometry;
}

Result<Rung> rung_of(const text::Plan::Rung& written) {
  Rung rung;
  Result<GeometryChoice> geometry = geometry_of(written);
  if (!geometry) return geometry.error();
  rung.geometry = *std::move(geometry);
  const Result<MemoryUse> memory = memory_of(written.memory());
  if (!memory) return memory.error();
  rung.memory = *memory;
  rung.seconds = written.seconds();
  for (const text::Plan::Segment& segment : written.segment()) {
    Result<Segment> read = segment_of(segment);
    if (!read) return read.error();
    rung.segments.push_back(*std::move(read));
  }
  if (rung.segments.empty()) return corrupt("has no segment");
  return rung;
}

Result<std::optional<Vec3>> volume_of(const text::Plan::Key& written) {
  if (written.volume().empty()) return std::optional<Vec3>();
  const Result<Vec3> volume = three_of("key.volume", {written.volume().begin(), written.volume().end()});
  return volume ? Result<std::optional<Vec3>>(*volume) : volume.error();
}

Result<PlanKey> key_of(const text::Plan::Key& written) {
  const Result<std::optional<Vec3>> volume = volume_of(written);
  if (!volume) return volume.error();
  return PlanKey{written.network(),
                 {written.node().begin(), written.node().end()},
                 written.device(),
                 written.threads(),
                 written.memory_limit(),
                 written.strategy(),
                 written.search_space(),
                 static_cast<Precision>(written.precision()),
                 written.pins(),
                 *volume,
                 !*volume && !written.endless()};
}

Prediction prediction_of(const text::Plan::Prediction& written) {
  return {written.voxels_per_second(), written.seconds(), written.border_cost(),
          basis_of(written.basis()),   written.error(),   written.endless_voxels_per_second()};
}

Result<void> add_rungs(const text::Plan& written, Plan& plan) {
  for (const text::Plan::Rung& rung : written.rung()) {
    Result<Rung> read = rung_of(rung);
    if (!read) return read.error().within("rung " + std::to_string(plan.ladder.size()));
    plan.ladder.push_back(*std::move(read));
  }
  return {};
}

}  // namespace

Result<Plan> plan_from_message(const text::Plan& written) {
  if (written.key().node().empty()) return corrupt("not a plan: key.node is missing");
  if (written.rung().empty()) return corrupt("not a plan: it has no rung");
  Plan plan;
  Result<PlanKey> key = key_of(written.key());
  if (!key) return key.error();
  plan.key = *std::move(key);
  const Result<MemoryUse> memory = memory_of(written.memory());
  if (!memory) return memory.error();
  plan.memory = *memory;
  plan.predicted = prediction_of(written.predicted());
  plan.sockets = written.sockets();
  if (plan.sockets < 1) return corrupt("sockets is " + std::to_string(plan.sockets) + "; it must be 1 or more");
  if (const Result<void> added = add_rungs(written, plan); !added) return added.error();
  return plan;
}

}  // namespace znni
