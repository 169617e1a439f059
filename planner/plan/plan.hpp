// A plan: what was chosen, for which network and limits, and what it is predicted to cost. A value; its text
// form (proto/plan.proto) is meant to be read, compared and edited.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/geometry/geometry.hpp"
#include "primitives/core/precision.hpp"
#include "primitives/core/primitive.hpp"
#include "primitives/hybrid/division.hpp"

namespace znni {

enum class Place { cpu, gpu, gpu_host_ram };
// The source of a predicted time. Smoothed: from noisy records, as the likely time (planner/costs/likely_rows.hpp).
enum class Basis { model, smoothed, recorded, measured };

// The way in which one node is computed. The primitive writes `native`; if the edge is another format, a reorder
// (`reorder`, a primitive's name) turns it into `out` in the same step. If a divided step has a reorder, its tensors
// are planar in host RAM. The sub-layers alone are reordered, on the GPU, from and to planar. Node -1 is the
// network's input, or on 'gpu' its segment's, which arrives planar and may only be reordered. Two neighbours may be
// computed at once: planner/plan/pairs.hpp.
struct Step {
  int node = 0;
  std::string primitive;
  int version = 0;
  Variant variant;
  Format in;
  Format native;
  Format out;
  std::string reorder;             // "" where native == out
  std::vector<Division> division;  // empty, or one
  Seconds seconds = 0;             // predicted, reorder included
  Basis basis = Basis::model;
  double error = 0;  // share of `seconds` that 9 of 10 predictions like this one keep within; 0: unknown
  bool operator==(const Step&) const = default;
};

// The part of the batch that passes through a whole segment at once; 0 means all.
struct MicroBatch {
  std::int64_t inputs = 0;  // of S
  bool operator==(const MicroBatch&) const = default;
};

// Consecutive nodes that run together on one place. Hand-offs stand between segments of different places.
struct Segment {
  int first = 0;  // node; -1 when it begins with the input's reorder
  int last = 0;
  Place place = Place::cpu;
  MicroBatch micro_batch;
  std::vector<Step> steps;  // in order
  bool operator==(const Segment&) const = default;
};

// Bytes of the host RAM of a running plan, pinned memory among them.
struct MemoryUse {
  std::int64_t weights = 0;     // the network's parameters
  std::int64_t persistent = 0;  // primitives' own copies, spectra
  std::int64_t transient = 0;   // the arena: activations and scratch, packed; all that a rung with a GPU takes
  [[nodiscard]] std::int64_t total() const { return add(add(weights, persistent), transient); }
  bool operator==(const MemoryUse&) const = default;
};

// A patch size and how it is computed.
struct Rung {
  GeometryChoice geometry;
  std::vector<Segment> segments;
  Seconds seconds = 0;  // predicted for one whole patch: all passes, all S
  MemoryUse memory;     // of this rung alone
  bool operator==(const Rung&) const = default;
};

// The purpose of a plan. It runs for the same nodes, if every primitive it uses still has its version and the
// limit covers it.
struct PlanKey {
  std::string network;             // name
  std::vector<std::string> nodes;  // describe(network)
  std::string device;              // DeviceSpec::name
  int threads = 0;
  std::int64_t memory_limit = 0;          // --mem, bytes
  std::string strategy;                   // cpu, patches, layerwise, baseline; gpu, gpu-host-ram, cpu-gpu
  std::string search_space;               // names and versions of all primitives searched, "a:1 b:2"
  Precision precision = Precision::fp32;  // no step is coarser
  std::string pins = {};                  // flags of `planner` that pinned it: "--patch 88,288,280 --no-stream"
  std::optional<Vec3> volume = {};        // of the input, that it was made for; nothing: a volume without end
  bool of_unknown_volume = false;         // read from a file of a version that did not say for which volume it is
  bool operator==(const PlanKey&) const = default;
};

struct Prediction {
  double voxels_per_second = 0;  // dense output voxels of the first rung, in the volume of the key
  Seconds seconds = 0;           // one patch of the first rung
  double border_cost = 1;        // computed input work over that of an infinite patch
  Basis basis = Basis::model;    // the weakest of the steps'
  double error = 0;              // of the times, as a step's; 0 when that of a step is not known
  // Rate in an endless volume if the key names a volume; otherwise 0.
  double endless_voxels_per_second = 0;
  bool operator==(const Prediction&) const = default;
};

struct Plan {
  PlanKey key;
  // The planned patch first, then smaller ones for smaller volumes. All on the CPU run in one arena; each with a GPU
  // has its own memory beside it, so that memory.transient is the largest of the former and the sum of the latter;
  // persistent bytes are those of all rungs together.
  std::vector<Rung> ladder;
  // Number of sockets of the device that each run patches of their own, in memory of their own: the ladder is one
  // socket's, `memory` and `predicted` are those of all. 1: the device runs as a whole.
  int sockets = 1;
  MemoryUse memory;
  Prediction predicted;
  bool operator==(const Plan&) const = default;
};

// Answers of loading a plan.
enum class PlanFit { runs, runs_but_search_space_grew, does_not_run };
struct PlanCheck {
  PlanFit fit = PlanFit::runs;
  std::string reason;  // in words, unless it simply runs
};

class Catalogue;  // planner/costs/catalogue.hpp

// A GPU that plans may use, with what of its memories they may take. Pinned memory is the host's: it counts within the
// limit of host RAM, too.
struct GpuOffer {
  DeviceSpec spec;
  std::int64_t device_bytes = 0;
  std::int64_t pinned_bytes = 0;
};

// Returns dense output voxels per second in a volume without end, whatever volume the plan was made for.
[[nodiscard]] double endless_rate(const Prediction& predicted);

// Returns the steps of all its segments, in order.
[[nodiscard]] std::vector<Step> steps_of(const Rung& rung);
// Returns the first of its segments that does not run on 'cpu'; nullptr if all do.
[[nodiscard]] const Segment* first_off_cpu(const Rung& rung);
// Returns whether all of it runs on 'cpu'.
[[nodiscard]] bool on_cpu(const Rung& rung);
[[nodiscard]] bool needs_gpu(const Plan& plan);
// Returns the device of each of the plan's rungs on the CPU: `cpu`, or one of its sockets. Fails with invalid_argument
// if the plan wants another number of them, or a GPU beside several.
[[nodiscard]] Result<DeviceSpec> device_of_rungs(const Plan& plan, const DeviceSpec& cpu);
// Returns the name of the CPU, or of both, as PlanKey::device has them.
[[nodiscard]] std::string device_name(const DeviceSpec& cpu, const DeviceSpec* gpu);

// Checks whether `plan` can run `network` with these primitives on this device under `memory_limit`. A plan may have
// been edited: every rung's geometry and schedule are made again, in segments that an engine runs, and must take
// exactly plan.memory. A plan for another number of threads does not run (buffers per worker); one for another device
// of as many threads runs, and the reason says what it was planned for. `gpu`: nullptr if there is none.
[[nodiscard]] PlanCheck check(const Plan& plan, const Network& network, const Catalogue& catalogue,
                              const DeviceSpec& device, std::int64_t memory_limit, const GpuOffer* gpu = nullptr);

// Returns the coarsest precision in which a step computes and reorders.
[[nodiscard]] Precision precision_of(const Step& step);

// Returns the step as the tensors around it see it, without the reorders of a divided step's sub-layers.
[[nodiscard]] Step around_sublayers(Step step);

[[nodiscard]] std::string_view to_string(Place place);
[[nodiscard]] std::string_view to_string(Basis basis);
[[nodiscard]] std::string to_string(const MemoryUse& memory);
// Returns the lines that differ, "- a" / "+ b"; empty if they are equal.
[[nodiscard]] std::vector<std::string> diff(const Plan& a, const Plan& b);

}  // namespace znni
