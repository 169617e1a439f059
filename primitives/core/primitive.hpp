// A primitive is one way to compute one kind of layer. describe() is pure, cheap and allocates no tensor. prepare()
// builds a layer for one chosen variant. run() may be called repeatedly.
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

// A named integer: {"tile", 24}. It is readable in a plan and needs no enum.
struct Setting {
  std::string name;
  std::int64_t value = 0;
  auto operator<=>(const Setting&) const = default;
};
// Settings of a primitive; often empty.
using Variant = std::vector<Setting>;

// One legal way to run the problem. describe() returns one estimate for each sensible setting and format.
struct Estimate {
  Variant variant;
  Format in;          // of every input except a convolution's residual: see input_format()
  Format out;         // of the output
  Seconds time = 0;   // modelled: one run(), all S inputs
  MemoryPlan memory;  // inputs, output, scratch and persistent copies of weights: all buffers
  // Distance over which rounding errors spread, in voxels of the first input, per axis and to either side. An output
  // voxel's error also follows the size of the voxels within this distance of those that it reads. A transform mixes
  // all voxels that it reads; a direct sum gives 0.
  Vec3 spread = {};
};

// A layer that is ready to run, with its weights loaded. Not thread safe: one run() at a time.
class PreparedLayer {
 public:
  virtual ~PreparedLayer() = default;

  // Reads `inputs` (in the problem's order, each in its input_format()) and writes every element of `out`. `arena`
  // grants the estimate's scratch buffers; the layer opens stages in order. It may read an input only up to that
  // input's last declared stage, and write `out` only from the output's first stage. Outside these stages their memory
  // may be shared with other buffers. The padding channels of a blocked output are written as zeros. The same inputs
  // give bit-equal outputs. On an accelerator, views and grants are device memory. run() then gives its work to
  // Stream::compute and returns without waiting. The order of runs and of grants is then the order of that stream, not
  // of the host.
  virtual Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) = 0;

  // Says where the inputs of the first tensor (S) lie in a volume: the first voxel of input s is voxel starts[s] of a
  // value whose extent is `whole`. Starts may be negative, and are 0 along closed axes. It holds until the next call.
  // Without starts every voxel lies inside. Only stacks ask for it (StackProblem).
  virtual void place(std::span<const Vec3> starts, Vec3 whole) {
    static_cast<void>(starts);
    static_cast<void>(whole);
  }
};

// A row of a back end's table. To add one: one source file, one line in the list PRIMITIVES of the folder's
// CMakeLists.txt, one test.
struct Primitive {
  std::string_view name;  // "cpu.conv.fft_task_parallel": device.kind.method
  int version = 1;        // must be raised when its speed, memory or rounding changes
  DeviceKind device = DeviceKind::cpu;

  // Returns all legal ways to run `problem`, or one refusal with the reason. `problem` has passed check().
  Result<std::vector<Estimate>> (*describe)(const LayerProblem& problem, const DeviceSpec& spec);

  // Builds `chosen`, an estimate (variant and formats) that describe() returned for the same problem and device.
  // `persistent` grants the persistent buffers by their declared names; prepare() fills them. `weights` belong to the
  // caller and must outlive the layer.
  Result<std::unique_ptr<PreparedLayer>> (*prepare)(const LayerProblem& problem, const Estimate& chosen,
                                                    const LayerWeights& weights, Arena& persistent, Device& device);

  // Returns quickly a lower bound of the time of every estimate; infinite for a problem of another kind. It is for a
  // describe() that takes long. If it is nullptr, a caller has to call describe().
  Seconds (*min_time)(const LayerProblem& problem, const DeviceSpec& spec) = nullptr;

  // Returns at once the estimates of a describe() that must ask a library, without their memory, in describe()'s order.
  // The library may refuse some of them later. Returns none for a problem that is refused without asking it. If it is
  // nullptr, a caller has to call describe().
  std::vector<Estimate> (*outline)(const LayerProblem& problem, const DeviceSpec& spec) = nullptr;
};

// A GPU's own memory, in bytes.
struct GpuMemory {
  std::int64_t free = 0;       // free now; memory of other programs is excluded
  std::int64_t libraries = 0;  // memory that libraries take outside the budget once a device is opened
};

// One folder of primitives and the devices on which they run.
struct Backend {
  std::string_view name;               // "cpu"
  std::vector<DeviceSpec> (*probe)();  // returns an empty list if the machine has no such device
  // Opens a device with hard budgets in bytes (host, pinned, device). spec.threads is the maximum number of host
  // threads that serve it. For a GPU the caller sets it to the number that the process may use.
  Result<std::unique_ptr<Device>> (*open)(const DeviceSpec& spec, std::int64_t host_budget, std::int64_t pinned_budget,
                                          std::int64_t device_budget);
  std::span<const Primitive* const> primitives;
  // Returns the memory of a GPU that probe() found; fails with device_failure if the GPU does not answer. nullptr if a
  // back end cannot tell.
  Result<GpuMemory> (*memory)(const DeviceSpec& spec) = nullptr;
  // Returns lines for a log about assumptions of primitives, since the last call; each line is returned once. May be
  // nullptr. Any thread may call it.
  std::vector<std::string> (*notes)() = nullptr;
};

// Returns "tile=24,engine=3", or "" for no settings.
[[nodiscard]] std::string to_string(const Variant& variant);

// Returns the value of setting `name`, or `otherwise` if it is missing.
[[nodiscard]] std::int64_t setting(const Variant& variant, std::string_view name, std::int64_t otherwise);

// Returns the format in which a layer with these formats reads input `index`. It is `in`, except for a convolution's
// residual: that has `out`, because it is added voxel by voxel to the output.
[[nodiscard]] Format input_format(const LayerProblem& problem, int index, Format in, Format out);

// Declares the inputs and the output of a problem in the given formats, alive in all stages [0, last_stage]. Most
// primitives hold these beside their scratch.
[[nodiscard]] MemoryPlan input_output_buffers(const LayerProblem& problem, Format in, Format out, int last_stage = 0,
                                              MemorySpace space = MemorySpace::host);

// Returns Estimate::spread of a transform of the whole input: the input's extent minus the window of one output voxel.
[[nodiscard]] Vec3 spread_of_whole(const ConvProblem& conv);

// Returns the name of the buffer of input `index`: "input 0".
[[nodiscard]] std::string input_name(int index);
inline constexpr std::string_view output_name = "output";

}  // namespace znni
