#include "planner/layers/segments.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/plan/pairs.hpp"
#include "primitives/core/refusals.hpp"

namespace znni {
namespace {

std::int64_t count_of(const AxisFragments& fragments) { return static_cast<std::int64_t>(fragments.offsets.size()); }

Vec3 counts_of(const Geometry& geometry) {
  return {count_of(geometry.fragments[0]), count_of(geometry.fragments[1]), count_of(geometry.fragments[2])};
}

Result<void> check_order(const Network& network, const std::vector<Segment>& segments) {
  int next = 0;
  for (const Segment& segment : segments) {
    if (segment.first != next || segment.last < segment.first) {
      return invalid_argument(name_of(segment) + ": node " + std::to_string(next) + " comes next");
    }
    if (segment.last >= static_cast<int>(network.nodes.size())) {
      return invalid_argument(name_of(segment) + ": there are " + std::to_string(network.nodes.size()) + " nodes");
    }
    next = segment.last + 1;
  }
  if (next == static_cast<int>(network.nodes.size())) return {};
  return invalid_argument("the segments end before node " + std::to_string(next) + " of " +
                          std::to_string(network.nodes.size()));
}

// Fails if any value but the one that a segment begins with is alive there.
Result<void> check_cut(const Network& network, int first) {
  const std::vector<int> last = last_readers(network);
  for (int value = 0; value < first; ++value) {
    if (last[static_cast<std::size_t>(value)] < first) continue;
    return refused("node " + network.nodes[static_cast<std::size_t>(first)].name +
                   ": the net cannot be cut before it, for value " + std::to_string(value) + " is read later, too");
  }
  return {};
}

Result<void> check_whole(const Geometry& geometry) {
  if (geometry.stem.last >= 0) return refused("a stem in slabs runs on one place only");
  if (!geometry.held.empty()) return refused("fragments in groups that hold their input run on one place only");
  return {};
}

// Leaves a tensor that crosses a cut out of the segment's memory: it has an owner of its own.
void leave_out(Schedule& schedule, int tensor) {
  schedule.memory[static_cast<std::size_t>(schedule.tensors[static_cast<std::size_t>(tensor)].buffer)].bytes = 0;
}

Result<std::int64_t> micro_batch_of(const Segment& segment, std::int64_t inputs) {
  const std::int64_t micro_batch = segment.micro_batch.inputs == 0 ? inputs : segment.micro_batch.inputs;
  if (micro_batch > 0 && inputs % micro_batch == 0) return micro_batch;
  return invalid_argument("micro-batches of " + std::to_string(micro_batch) + " do not divide its " +
                          std::to_string(inputs) + " inputs");
}

// Returns the kind of device that computes the step.
DeviceKind kind_of(const Step& step, Place place) {
  const bool on_gpu = place == Place::gpu || (place == Place::gpu_host_ram && !step.division.empty());
  return on_gpu ? DeviceKind::gpu : DeviceKind::cpu;
}

Result<void> check_step(const Step& step, const Catalogue& catalogue, Place place) {
  if (!step.division.empty() && place != Place::gpu_host_ram) {
    return invalid_argument("node " + std::to_string(step.node) + " is divided; only segments on 'gpu_host_ram' are");
  }
  const Primitive* const reorder = catalogue.find(step.reorder);
  if (reorder != nullptr && reorder->device != kind_of(step, place)) {
    return invalid_argument(step.reorder + " does not run on '" + std::string(to_string(place)) + "'");
  }
  const Primitive* const primitive = catalogue.find(step.primitive);
  if (primitive == nullptr || primitive->device == kind_of(step, place)) return {};
  return invalid_argument(step.primitive + " does not run on '" + std::string(to_string(place)) + "'" +
                          (place == Place::gpu_host_ram
                               ? " where its layer is " + std::string(step.division.empty() ? "not " : "") + "divided"
                               : ""));
}

// Checks a divided step: its sub-layers travel planar if they are reordered, and are left as they are if not.
Result<void> check_sublayers(const Step& step, const Primitive* reorder) {
  if (reorder == nullptr && !step.reorder.empty()) return invalid_argument("unknown primitive " + step.reorder);
  const bool reorders = step.native != step.out && step.out == Format{};
  if (reorder == nullptr ? step.native == step.out : reorders) return {};
  return invalid_argument("sub-layers are computed in " + to_string(step.native) + " and left in " +
                          to_string(step.out) + ", and the reorder is " +
                          (reorder == nullptr ? "missing" : step.reorder));
}

// Checks the node of a step before its number is used. Node -1 reorders the input of a segment on 'gpu'.
Result<void> check_number(const Step& step, const Segment& segment) {
  if (step.node < 0 && segment.place != Place::gpu) return refused("its input is reordered; it must begin planar");
  if (step.node == -1 || (step.node >= segment.first && step.node <= segment.last)) return {};
  return invalid_argument("a step is of node " + std::to_string(step.node));
}

Result<void> set_schedule(const Segment& segment, const Catalogue& catalogue, const PlaceSpecs& specs,
                          SegmentDesign& design) {
  design.steps = segment.steps;
  for (Step& step : design.steps) {
    if (Result<void> sound = check_number(step, segment); !sound) return sound;
    if (Result<void> sound = check_step(step, catalogue, design.place); !sound) return sound;
    if (step.node >= 0) step.node -= design.first_node;
  }
  design.geometry =
      with_pairs(design.network, std::move(design.geometry), left_out_values(design.network, design.steps));
  const DividedEstimate divided = [&](const Step& step, const LayerProblem& problem) -> Result<Estimate> {
    const auto* conv = std::get_if<ConvProblem>(&problem);
    const Primitive* const inner = catalogue.find(step.primitive);
    if (conv == nullptr || inner == nullptr) return refused("only convolutions are divided, by a known primitive");
    const Primitive* const reorder = catalogue.find(step.reorder);
    if (Result<void> sound = check_sublayers(step, reorder); !sound) return sound.error();
    return hybrid::describe_divided(*conv, divided_choice(step, *inner, reorder), specs.gpu);
  };
  const DeviceSpec& spec = design.place == Place::gpu ? specs.gpu : specs.cpu;
  Result<Schedule> schedule = make_schedule(design.network, design.geometry, design.steps, catalogue, spec, divided);
  if (!schedule) return schedule.error();
  design.schedule = *std::move(schedule);
  leave_out(design.schedule, 0);
  leave_out(design.schedule, design.schedule.output);
  return {};
}

// Returns the geometry of a network that pads or upsamples, of which the segment has all nodes.
Result<Geometry> undivided_geometry(const Geometry& whole, const SegmentDesign& design) {
  if (design.micro_batches() != 1) return refused("a network that pads or upsamples takes its inputs through at once");
  if (whole.choice.streamed || whole.choice.closed != Vec3{}) {
    return refused("a network that pads or upsamples runs in patches on a GPU: in no stream, and closed along no axis");
  }
  return whole;
}

// Makes the geometry of the design's network, for one micro-batch of what crosses the cut.
Result<Geometry> part_geometry(const Geometry& whole, const std::vector<PoolingMode>& modes,
                               const SegmentDesign& design) {
  if (!is_dense(design.network)) return undivided_geometry(whole, design);
  GeometryChoice choice{whole.values[static_cast<std::size_t>(design.first_node)].n, design.micro_batch, modes};
  choice.streamed = whole.choice.streamed;
  choice.axis = whole.choice.axis;
  Result<Geometry> part = make_part_geometry(design.network, choice);
  if (!part) return part;
  part->windows = mul(static_cast<std::int64_t>(pass_count(whole)), design.micro_batches());
  part->runs.assign(part->runs.size(), part->windows);
  return part;
}

Result<SegmentDesign> design_sound(const Network& network, const Geometry& whole, const Segment& segment, Vec3 before,
                                   const Catalogue& catalogue, const PlaceSpecs& specs) {
  if (Result<void> cut = check_cut(network, segment.first); !cut) return cut.error();
  const std::int64_t inputs = whole.values[static_cast<std::size_t>(segment.first)].S;
  SegmentDesign design;
  design.place = segment.place;
  design.first_node = segment.first;
  design.network = part_of(network, segment.first, segment.last);
  design.inputs = inputs;
  design.fragments_before = before;
  const Result<std::int64_t> micro_batch = micro_batch_of(segment, inputs);
  if (!micro_batch) return micro_batch.error();
  design.micro_batch = *micro_batch;
  const std::vector<PoolingMode> modes = modes_of(network, whole.choice, segment.first, segment.last);
  Result<Geometry> geometry = part_geometry(whole, modes, design);
  if (!geometry) return geometry.error();
  design.geometry = *std::move(geometry);
  if (Result<void> set = set_schedule(segment, catalogue, specs, design); !set) return set.error();
  return design;
}

}  // namespace

std::string name_of(const Segment& segment) {
  return "segment of nodes " + std::to_string(segment.first) + " to " + std::to_string(segment.last);
}

Network part_of(const Network& network, int first, int last) {
  Network part = network;
  part.nodes.assign(network.nodes.begin() + first, network.nodes.begin() + last + 1);
  part.f_in = channels_of(network)[static_cast<std::size_t>(first)];
  if (first > 0) part.input_name = network.nodes[static_cast<std::size_t>(first) - 1].name;
  for (Node& node : part.nodes) {
    for (int& input : node.inputs) input -= first;
  }
  return part;
}

std::vector<PoolingMode> modes_of(const Network& network, const GeometryChoice& choice, int first, int last) {
  const std::vector<int> poolings = pooling_nodes(network);
  std::vector<PoolingMode> modes;
  for (std::size_t i = 0; i < poolings.size(); ++i) {
    if (poolings[i] >= first && poolings[i] <= last) modes.push_back(choice.modes[i]);
  }
  return modes;
}

hybrid::DividedChoice divided_choice(const Step& step, const Primitive& inner, const Primitive* reorder) {
  ensure(!step.division.empty(), "the step is divided");
  return {&inner, step.variant, step.in, step.native, step.division.front(), true, reorder};
}

bool SegmentDesign::reorders_input() const { return place == Place::gpu && steps.front().node < 0; }

Shape5 SegmentDesign::micro_batch_tensor() const {
  return reorders_input() ? micro_batch_input() : tensor_shape(geometry, 0);
}

Vec3 SegmentDesign::fragments() const { return counts_of(geometry); }

Shape5 SegmentDesign::whole_input() const {
  Shape5 whole = micro_batch_input();
  whole.S = inputs;
  return whole;
}

Shape5 SegmentDesign::whole_tensor() const {
  Shape5 whole = micro_batch_tensor();
  whole.S = inputs;
  return whole;
}

Shape5 SegmentDesign::whole_output() const {
  Shape5 whole = micro_batch_output();
  whole.S = mul(whole.S, micro_batches());
  return whole;
}

bool writes_in_place(const SegmentDesign& segment) {
  const bool one_kind = voxels(segment.fragments_before) == 1 || voxels(segment.fragments()) == 1;
  return segment.micro_batches() == 1 && one_kind;
}

std::int64_t place_of_output(const SegmentDesign& segment, std::int64_t micro_batch, std::int64_t output) {
  const Vec3 own = segment.fragments();
  const std::int64_t before = voxels(segment.fragments_before);
  const std::int64_t input = micro_batch * segment.micro_batch + output / voxels(own);
  const Vec3 old_index = fragment_at(input % before, segment.fragments_before);
  const Vec3 new_index = fragment_at(output % voxels(own), own);
  const Vec3 index = new_index * segment.fragments_before + old_index;
  return input / before * before * voxels(own) + fragment_index(index, segment.fragments_before * own);
}

Result<void> check_gpu_takes(const Network& network) {
  if (!is_tile_bound(network)) return {};
  return refused("a network that is bound to its window runs on the CPU alone: use --strategy cpu");
}

Result<void> check_segments(const Network& network, const std::vector<Segment>& segments) {
  if (Result<void> taken = check_gpu_takes(network); !taken) return taken;
  if (!is_dense(network) && (segments.size() != 1 || segments.front().place != Place::gpu)) {
    return refused("a network that pads or upsamples runs on the CPU, or as a whole on the GPU, not on several places");
  }
  return check_order(network, segments);
}

Result<SegmentDesign> design_segment(const Network& network, const Geometry& whole, const Segment& segment, Vec3 before,
                                     const Catalogue& catalogue, const PlaceSpecs& specs) {
  if (Result<void> sound = check_whole(whole); !sound) return sound.error();
  Result<SegmentDesign> design = design_sound(network, whole, segment, before, catalogue, specs);
  return design ? std::move(design) : design.error().within(name_of(segment));
}

Result<RungSegments> take_apart(const Network& network, const Rung& rung, const Catalogue& catalogue,
                                const PlaceSpecs& specs) {
  if (Result<void> sound = check_segments(network, rung.segments); !sound) return sound.error();
  Result<Geometry> geometry = make_geometry(network, rung.geometry);
  if (!geometry) return geometry.error();
  RungSegments all{*std::move(geometry), {}};
  Vec3 before = Vec3::cube(1);
  for (const Segment& segment : rung.segments) {
    Result<SegmentDesign> design = design_segment(network, all.geometry, segment, before, catalogue, specs);
    if (!design) return design.error();
    before = before * design->fragments();
    all.segments.push_back(*std::move(design));
  }
  return all;
}

}  // namespace znni
