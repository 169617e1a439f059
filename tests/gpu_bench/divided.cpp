#include "tests/gpu_bench/divided.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "primitives/cuda/backend.hpp"
#include "primitives/cuda/device/status.hpp"
#include "primitives/gpu/estimates.hpp"
#include "primitives/hybrid/divided_layer.hpp"
#include "tests/gpu_bench/layer_run.hpp"
#include "tests/gpu_bench/lines.hpp"
#include "tests/gpu_bench/timing.hpp"

namespace znni::gpu_bench {
namespace {

using cuda::CudaDevice;

const ConvProblem conv{{1, 80, Vec3::cube(152)},  80,   Vec3::cube(5), Vec3::cube(1), Vec3::cube(1),
                       {ActivationKind::relu, 0}, false};
const Division slabs{0, 0, 0, 18};

struct Weights {
  std::vector<float> kernels = made_values(conv.f_out * conv.in.f * voxels(conv.k), 0.02, 1);
  std::vector<float> bias = made_values(conv.f_out, 0.01, 2);
  [[nodiscard]] LayerWeights view() const { return {kernels, bias, {}, {}}; }
};

// Every buffer a reservation of its own, zeros where the host may write.
struct Held {
  std::vector<Reservation> blocks;
  std::vector<Placement> placements;
};
Result<Held> hold(const MemoryPlan& memory, CudaDevice& device) {
  Held held;
  for (const Buffer& buffer : memory) {
    Result<Reservation> block = device.reserve(buffer.space, buffer.bytes, buffer.name);
    if (!block) return block.error();
    held.placements.push_back({buffer, block->data()});
    held.blocks.push_back(std::move(*block));
  }
  return held;
}

float* tensor_of(const Held& held, std::string_view name) {
  const auto found = std::find_if(held.placements.begin(), held.placements.end(),
                                  [&](const Placement& one) { return one.buffer.name == name; });
  ensure(found != held.placements.end(), "a divided layer declares its tensors");
  return reinterpret_cast<float*>(found->data);
}

// Returns the least of three times by the host's clock: `work` returns when all is done.
Result<double> host_seconds(const Work& work) {
  double least = 1e30;
  for (int turn = 0; turn < 3; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    if (Result<void> done = work(); !done) return done.error();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

Result<double> whole_seconds(const Estimate& estimate, const hybrid::DividedChoice& choice, const Weights& weights,
                             CudaDevice& device) {
  const Result<Held> held = hold(estimate.memory, device);
  if (!held) return held.error();
  Arena persistent(held->placements);
  const auto layer = hybrid::prepare_divided(conv, choice, weights.view(), persistent, device);
  if (!layer) return layer.error();
  float* const in = tensor_of(*held, input_name(0));
  const std::vector<float> values = made_values(elements(conv.in), 1.0, 3);
  std::copy(values.begin(), values.end(), in);
  const std::vector<TensorView> inputs = {dense_view(in, conv.in)};
  const TensorView out = dense_view(tensor_of(*held, output_name), output_shape(conv));
  return host_seconds([&] {
    Arena arena(held->placements);
    return (*layer)->run(inputs, out, arena);
  });
}

Result<double> product_seconds(const hybrid::SubLayers& sublayers, const hybrid::DividedChoice& choice,
                               const Estimate& inner, const Weights& weights, CudaDevice& device) {
  const Result<Reservation> block =
      device.reserve(MemorySpace::device, LayerRun::packed_bytes(inner), "one part's buffers");
  if (!block) return block.error();
  Result<LayerRun> run =
      LayerRun::make(*choice.inner, sublayers.problem(0), inner, weights.view(), block->data(), device);
  if (!run) return run.error();
  const Result<double> seconds = median_seconds(
      device, [&] { return run->run(); }, 5, 2);
  if (!seconds) return seconds.error();
  return *seconds * static_cast<double>(sublayers.count());
}

// Times copies both ways at once, as while the layer runs.
Result<double> copy_seconds(const hybrid::SubLayers& sublayers, CudaDevice& device) {
  const std::int64_t up = tensor_bytes(sublayers.in, {});
  const std::int64_t down = tensor_bytes(sublayers.out, {});
  const Result<Reservation> memory = device.reserve(MemorySpace::device, up + down, "parts");
  const Result<Reservation> pinned = device.reserve(MemorySpace::pinned, up + down, "parts");
  if (!memory || !pinned) return (memory ? pinned : memory).error();
  return host_seconds([&]() -> Result<void> {
    Result<void> done;
    for (std::int64_t sublayer = 0; sublayer < sublayers.count() && done; ++sublayer) {
      done = device.upload(Stream::upload, memory->data(), pinned->data(), {up, 1, 0, 0});
      if (!done) return done;
      done = device.download(Stream::download, pinned->data() + up, memory->data() + up, {down, 1, 0, 0});
    }
    return done ? device.synchronise() : done;
  });
}

const Primitive* reorder() {
  const auto rows = cuda::registry();
  const auto found =
      std::find_if(rows.begin(), rows.end(), [](const auto* row) { return row->name == "cuda.reorder"; });
  ensure(found != rows.end(), "the back end reorders");
  return *found;
}

Result<void> measure(const Primitive& inner, const Estimate& of_sublayer, bool staged,
                     const hybrid::SubLayers& sublayers, const Weights& weights, CudaDevice& device) {
  const hybrid::DividedChoice choice{&inner,
                                     of_sublayer.variant,
                                     of_sublayer.in,
                                     of_sublayer.out,
                                     slabs,
                                     staged,
                                     of_sublayer.in == planar_f32 ? nullptr : reorder()};
  const Result<Estimate> estimate = hybrid::describe_divided(conv, choice, device.spec());
  if (!estimate) return estimate.error();
  const Result<double> products = product_seconds(sublayers, choice, of_sublayer, weights, device);
  if (!products) return products.error();
  const Result<double> copies = copy_seconds(sublayers, device);
  if (!copies) return copies.error();
  const Result<double> whole = whole_seconds(*estimate, choice, weights, device);
  if (!whole) return whole.error();
  Line("overlap")
      .text("problem", to_string(LayerProblem(conv)))
      .text("primitive", inner.name)
      .text("variant", to_string(of_sublayer.variant))
      .text("format", to_string(of_sublayer.in))
      .text("tensors", staged ? "plain" : "pinned")
      .number("products_ms", 1e3 * *products)
      .number("copies_ms", 1e3 * *copies)
      .number("ms", 1e3 * *whole)
      .number("predicted_ms", 1e3 * estimate->time)
      .number("overlap", (*products + *copies - *whole) / std::min(*products, *copies))
      .print();
  return {};
}

// Returns the fastest estimate by model in this format; planar ones in float32 throughout.
std::optional<Estimate> fastest_in(Format format, const Primitive& primitive, const ConvProblem& sublayer,
                                   const DeviceSpec& spec) {
  const Result<std::vector<Estimate>> all = primitive.describe(sublayer, spec);
  std::optional<Estimate> best;
  for (std::size_t i = 0; all && i < all->size(); ++i) {
    const Estimate& one = (*all)[i];
    const bool wanted =
        one.in == format && one.out == format && (format != planar_f32 || setting(one.variant, "tf32", 0) == 0);
    if (wanted && (!best || one.time < best->time)) best = one;
  }
  return best;
}

Result<void> measure_both(const Primitive& primitive, const Estimate& inner, const hybrid::SubLayers& sublayers,
                          const Weights& weights, CudaDevice& device) {
  Result<void> worst;
  for (const bool staged : {false, true}) {
    const Result<void> done = measure(primitive, inner, staged, sublayers, weights, device);
    if (done) continue;
    Line("overlap").text("primitive", primitive.name).text("failure", done.error().message).print();
    worst = done;
  }
  return worst;
}

}  // namespace

Result<void> measure_divided(CudaDevice& device) {
  const Result<hybrid::SubLayers> sublayers = hybrid::divide(conv, slabs);
  if (!sublayers) return sublayers.error();
  const Weights weights;
  Result<void> worst;
  for (const Primitive* primitive : cuda::registry()) {
    for (const Format format : all_edge_formats) {
      const std::optional<Estimate> inner = fastest_in(format, *primitive, sublayers->problem(0), device.spec());
      const Result<void> done = inner ? measure_both(*primitive, *inner, *sublayers, weights, device) : Result<void>();
      if (!done) worst = done;
    }
  }
  return worst;
}

}  // namespace znni::gpu_bench
