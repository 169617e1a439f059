// A rung whose segments stand on several places, taken apart: each segment as a network of its own with its geometry,
// its calls and its memory. A segment may run its input in micro-batches of S, fragments of earlier poolings among
// them: the paper's sub-batches (ZNNi section VII.B). Of a streamed rung each segment keeps what its own nodes read
// again, in the memory of its place; the new planes alone cross a cut.
#pragma once

#include <string>
#include <vector>

#include "planner/costs/catalogue.hpp"
#include "planner/layers/schedule.hpp"
#include "planner/plan/plan.hpp"
#include "primitives/hybrid/divided_conv.hpp"

namespace znni {

// A segment of one place, ready to be prepared. Its nodes are numbered from 0; value 0 is what crosses the cut, planar.
struct SegmentDesign {
  Place place = Place::cpu;
  int first_node = 0;  // of the whole network
  Network network;
  Geometry geometry;  // of one micro-batch; its runs and windows count those of a whole patch, all micro-batches and
                      // passes; axes swapped as in the whole one
  std::vector<Step> steps;  // nodes numbered as in `network`
  Schedule schedule;  // of one micro-batch; its input and output are in their owners' memory, not in its own; those of
                      // a whole rung are in its own (planner/layers/ladder.hpp)
  std::int64_t inputs = 1;       // S that crosses the cut
  std::int64_t micro_batch = 1;  // of them at once; divides them
  Vec3 fragments_before;         // of what crosses, per axis

  [[nodiscard]] const Shape5& micro_batch_input() const { return geometry.values.front(); }
  [[nodiscard]] const Shape5& micro_batch_output() const { return geometry.values.back(); }
  [[nodiscard]] std::int64_t micro_batches() const { return inputs / micro_batch; }
  // Returns the fragments that the segment makes of each input, per axis.
  [[nodiscard]] Vec3 fragments() const;
  // Return the shapes that all micro-batches read and write together.
  [[nodiscard]] Shape5 whole_input() const;
  [[nodiscard]] Shape5 whole_output() const;
  // Returns the shape of the tensor that holds the input. In a stream the planes of earlier steps that the segment
  // reads again stand before it. If the segment reorders the input, the reordered tensor has them instead.
  [[nodiscard]] Shape5 micro_batch_tensor() const;
  [[nodiscard]] Shape5 whole_tensor() const;
  [[nodiscard]] bool reorders_input() const;
};

// Returns nodes [first, last] as a network of their own, whose values are renumbered (`first` becomes 0), and their
// modes.
[[nodiscard]] Network part_of(const Network& network, int first, int last);
[[nodiscard]] std::vector<PoolingMode> modes_of(const Network& network, const GeometryChoice& choice, int first,
                                                int last);

// Returns "segment of nodes 2 to 5".
[[nodiscard]] std::string name_of(const Segment& segment);

// Returns whether the outputs of a micro-batch, as the segment writes them, stand in their places already.
[[nodiscard]] bool writes_in_place(const SegmentDesign& segment);
// Returns the place of the segment's output number `output` of micro-batch `micro_batch` among the inputs of the next
// segment, or in the network's output. Fragments stand in rising order of their offsets, the newest pooling most
// significant, so those of one micro-batch are not neighbours.
[[nodiscard]] std::int64_t place_of_output(const SegmentDesign& segment, std::int64_t micro_batch, std::int64_t output);

// Returns how a divided step's convolution is computed: by the GPU's primitive `inner`, sub-layers staged; `reorder`:
// the step's.
[[nodiscard]] hybrid::DividedChoice divided_choice(const Step& step, const Primitive& inner, const Primitive* reorder);

// The devices of the places. On 'gpu_host_ram' the layers run one at a time with their tensors in host RAM: divided
// convolutions through the GPU, all others on the CPU (ZNNi section VII.B).
struct PlaceSpecs {
  DeviceSpec cpu;
  DeviceSpec gpu;
};

// Fails with `unsupported` for networks that run on the CPU alone: those that are bound to their window.
[[nodiscard]] Result<void> check_gpu_takes(const Network& network);
// Fails where the network, or the order of the segments, lets no rung be taken apart. A network that pads or upsamples
// is one segment on 'gpu', because what is outside its values is counted in the whole network.
[[nodiscard]] Result<void> check_segments(const Network& network, const std::vector<Segment>& segments);
// Designs one segment of a rung with this geometry. `before`: SegmentDesign::fragments_before. The error is that of
// take_apart().
[[nodiscard]] Result<SegmentDesign> design_segment(const Network& network, const Geometry& whole,
                                                   const Segment& segment, Vec3 before, const Catalogue& catalogue,
                                                   const PlaceSpecs& specs);

// The geometry of the whole, and its segments.
struct RungSegments {
  Geometry geometry;
  std::vector<SegmentDesign> segments;
};
// Takes a rung apart. Fails with `unsupported` and the reason for cuts where more than one value is alive, and for
// stems in slabs. It also fails for groups of fragments whose input is held, because a segment has a memory of its own
// for each item. Inputs that are reordered first are refused but on 'gpu'. Fails with invalid_argument for segments
// that do not follow each other, steps of other nodes, and micro-batches that do not divide.
[[nodiscard]] Result<RungSegments> take_apart(const Network& network, const Rung& rung, const Catalogue& catalogue,
                                              const PlaceSpecs& specs);

}  // namespace znni
