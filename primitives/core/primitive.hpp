// One way to compute one kind of layer: described before it is built. describe() is pure, cheap and
// allocates no tensor; prepare() builds for one chosen variant; run() may be called again and again.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "primitives/core/arena.hpp"
#include "primitives/core/device.hpp"
#include "primitives/core/problem.hpp"

namespace znni {

using Seconds = double;

// A named integer: {"tile", 24}. Readable in a plan, no enum to extend.
struct Setting {
  std::string name;
  std::int64_t value = 0;
  auto operator<=>(const Setting&) const = default;
};
// How a primitive is set up; often empty.
using Variant = std::vector<Setting>;

// One legal way to run the problem. Every describe() returns one per sensible setting and format.
struct Estimate {
  Variant variant;
  Format in;          // of every input, but a convolution's residual: see input_format
  Format out;         // of the output
  Seconds time = 0;   // modelled: one run(), all S inputs
  MemoryPlan memory;  // input 0.., output, scratch, persistent copies of weights: all of it
  // How far rounding errors spread: voxels of the first input, per axis and to either side of those that an output
  // voxel reads, whose size its error follows, too. A transform mixes all that it reads; a sum of its own gives 0.
  Vec3 spread = {};
};

// A layer with weights in place and plans made. Not thread safe: one run() at a time.
class PreparedLayer {
 public:
  virtual ~PreparedLayer() = default;

  // Reads `inputs` (in the problem's order, each in its input_format), writes every element of `out`.
  // `arena` grants the estimate's scratch buffers; the layer opens stages in order and may read an input
  // only up to that input's last declared stage, and write `out` only from the output's first one: the
  // memory of both may be shared with other buffers outside of these. Padding images of a blocked output are
  // written as zeros. The same inputs give bit-equal outputs.
  // On an accelerator, views and grants are device memory; run() gives its work to Stream::compute and returns without
  // waiting for it, so that the order of that stream, not of the host, is the order of runs and of grants.
  virtual Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) = 0;
};

// A row of a back end's table. Adding one: one source file, one line in the list PRIMITIVES of the folder's
// CMakeLists.txt, one test.
struct Primitive {
  std::string_view name;  // "cpu.conv.fft_task_parallel": device.kind.method
  int version = 1;        // raised when its speed, memory or rounding changes
  DeviceKind device = DeviceKind::cpu;

  // All legal ways to run `problem`, or one refusal that says why in words. `problem` has passed check().
  Result<std::vector<Estimate>> (*describe)(const LayerProblem& problem, const DeviceSpec& spec);

  // Builds `variant`, one that describe() returned for the same problem and spec, together with its formats.
  // Persistent buffers are granted by `persistent` (same names as declared), filled here. `weights` stays
  // the caller's and must outlive the layer.
  Result<std::unique_ptr<PreparedLayer>> (*prepare)(const LayerProblem& problem, const Estimate& chosen,
                                                    const LayerWeights& weights, Arena& persistent, Device& device);

  // Of a describe() that takes milliseconds, since it must ask a library: no estimate takes less time, found at once;
  // infinite for a problem of another kind. nullptr: whoever wants to know describes.
  Seconds (*least_time)(const LayerProblem& problem, const DeviceSpec& spec) = nullptr;
};

// A GPU's own memory, in bytes.
struct GpuMemory {
  std::int64_t free = 0;       // now, beside what other programs hold
  std::int64_t libraries = 0;  // that libraries take of it before and beside the budget of a device that is opened
};

// One folder of primitives and the devices they run on.
struct Backend {
  std::string_view name;               // "cpu"
  std::vector<DeviceSpec> (*probe)();  // empty when the machine has none
  // Opens a device with hard budgets in bytes (host, pinned, device). spec.threads: of the host, that serve it at most;
  // whoever opens a GPU says how many the process may use.
  Result<std::unique_ptr<Device>> (*open)(const DeviceSpec& spec, std::int64_t host_budget, std::int64_t pinned_budget,
                                          std::int64_t device_budget);
  std::span<const Primitive* const> primitives;
  // Returns the memory of a GPU that probe() found; device_failure where it does not answer. nullptr: nothing is known
  // of it.
  Result<GpuMemory> (*memory)(const DeviceSpec& spec) = nullptr;
  // Lines for a log, since the last call: what primitives had to assume. Each is given once. nullptr: none. Any thread.
  std::vector<std::string> (*notes)() = nullptr;
};

// "tile=24,engine=3"; "" for none.
[[nodiscard]] std::string to_string(const Variant& variant);

// Value of setting `name`, or `otherwise`.
[[nodiscard]] std::int64_t setting(const Variant& variant, std::string_view name, std::int64_t otherwise);

// Format in which input `index` of the problem is read by a layer of these formats: `in`, but for a convolution's
// residual `out`, since it is added voxel by voxel to what the layer writes.
[[nodiscard]] Format input_format(const LayerProblem& problem, int index, Format in, Format out);

// Declares inputs and output of a problem in the given formats, alive in all stages [0, last]: what most
// primitives hold beside their scratch.
[[nodiscard]] MemoryPlan input_output_buffers(const LayerProblem& problem, Format in, Format out, int last_stage = 0,
                                              MemorySpace space = MemorySpace::host);

// Estimate::spread of a transform of whole images: all that the input has beside what one output voxel reads.
[[nodiscard]] Vec3 spread_of_whole(const ConvProblem& conv);

// Name of the buffer of input `index`: "input 0".
[[nodiscard]] std::string input_name(int index);
inline constexpr std::string_view output_name = "output";

}  // namespace znni
