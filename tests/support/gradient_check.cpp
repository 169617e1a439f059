#include "tests/support/gradient_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/oracle/gradient_tolerance.hpp"
#include "tests/oracle/gradients.hpp"
#include "tests/support/layout.hpp"

namespace znni::test {
namespace {

// A tensor of a run with its memory, which is NaN before.
struct Held {
  std::vector<float> block;
  TensorView view;

  Held(const Shape5& shape, Format format, Placing placing, std::uint64_t seed) {
    Window window = strided_window(shape, format, seed);
    if (placing == Placing::packed) window = {dense_view(nullptr, shape, format), 0, tensor_bytes(shape, format) / 4};
    // Starts of packed tensors are aligned.
    block.assign(static_cast<std::size_t>(window.elements + 16), std::nanf(""));
    void* start = block.data();
    std::size_t space = block.size() * sizeof(float);
    if (placing == Placing::packed) std::align(buffer_alignment, space - 64, start, space);
    view = window.view;
    view.data = static_cast<float*>(start) + window.before;
  }

  // Returns whether all but the view's own elements are still NaN.
  [[nodiscard]] bool surroundings_kept() const {
    std::vector<float> copy = block;
    TensorView inside = view;
    inside.data = copy.data() + (view.data - block.data());
    inside.shape.f = round_up(inside.shape.f, block_width(inside.format.layout));
    store(std::vector<float>(static_cast<std::size_t>(elements(inside.shape)), std::nanf("")), inside);
    return std::all_of(copy.begin(), copy.end(), [](float value) { return std::isnan(value); });
  }
};

// The scratch of an estimate. The tensors have none of it, as the arena never grants them.
struct Scratch {
  std::vector<std::vector<float>> blocks;
  std::vector<Placement> placements;

  explicit Scratch(const MemoryPlan& plan) {
    for (const Buffer& buffer : plan) {
      const bool is_tensor = buffer.name == output_gradient_name || buffer.name == saved_value_name ||
                             buffer.name == result_name || buffer.name == gradient_name ||
                             buffer.name == weights_gradient_name;
      if (is_tensor) {
        placements.push_back({buffer, nullptr});
        continue;
      }
      blocks.emplace_back(static_cast<std::size_t>(buffer.bytes / 4 + 17));
      void* start = blocks.back().data();
      std::size_t space = blocks.back().size() * sizeof(float);
      placements.push_back({buffer, static_cast<std::byte*>(std::align(buffer_alignment, 4, start, space))});
    }
  }
};

// Returns whether the plan lets the gradient lie where the saved value is, which is not read any more by then.
bool may_share(const GradientProblem& problem, const Estimate& estimate) {
  if (estimate.in != estimate.out || saved_shape(problem) != gradient_shape(problem)) return false;
  int last_read = std::numeric_limits<int>::max();
  int first_written = 0;
  for (const Buffer& buffer : estimate.memory) {
    if (buffer.name == saved_value_name) last_read = buffer.lifetime.last;
    if (buffer.name == gradient_name) first_written = buffer.lifetime.first;
  }
  return last_read < first_written;
}

std::string name_of_gradient(const GradientPrimitive& primitive, const GradientProblem& problem,
                             const Estimate& estimate, std::uint64_t seed) {
  const std::string variant = to_string(estimate.variant);
  return std::string(primitive.name) + ", " + to_string(problem) + (variant.empty() ? "" : ", " + variant) + ", " +
         to_string(estimate.in) + " -> " + to_string(estimate.out) + ", ZNNI_TEST_SEED=" + std::to_string(seed);
}

void check_outcome(const GradientOutcome& outcome, const GradientData& data, const Estimate& estimate,
                   const std::string& name) {
  expect_close(outcome.gradient, data.gradient, data.tolerance, name);
  expect_close(outcome.kernels, data.kernels, data.kernels_tolerance, name + ", kernels");
  expect_close(outcome.bias, data.bias, data.bias_tolerance, name + ", bias");
  EXPECT_EQ(outcome.high_water, peak(estimate.memory)) << name << ": memory held is not the memory declared";
  EXPECT_TRUE(outcome.padding_is_zero) << name << ": padding channels are not zero";
  EXPECT_TRUE(outcome.surroundings_kept) << name << ": wrote outside of its window";
}

// Runs an estimate in both placings.
void check_estimate(const GradientPrimitive& primitive, const GradientProblem& problem, const Estimate& estimate,
                    const GradientData& data, Device& device, std::uint64_t seed) {
  std::string name = name_of_gradient(primitive, problem, estimate, seed);
  if (problem.of != GradientOf::input && data.bias.empty()) name += ", without a bias";
  for (const Placing placing : {Placing::packed, Placing::separate}) {
    const GradientOutcome outcome = run_gradient(primitive, problem, estimate, data, device, placing, seed);
    check_outcome(outcome, data, estimate, name + (placing == Placing::packed ? ", dense" : ", strided"));
  }
}

}  // namespace

GradientData gradient_data(const GradientProblem& problem, std::uint64_t seed) {
  Random random(seed);
  GradientData data;
  data.weights = random_weights(problem.layer, random);
  std::vector<oracle::Values> inputs;
  for (const std::vector<float>& input : random_trained_inputs(problem.layer, random)) {
    inputs.push_back(oracle::widened(input));
  }
  data.output = random.normals(elements(output_shape(problem.layer)));
  const LayerWeights weights = data.weights.view();
  const SavedValue kind = saved_value(problem);
  const oracle::Values saved = kind == SavedValue::input    ? inputs[static_cast<std::size_t>(saved_input(problem))]
                               : kind == SavedValue::output ? oracle::oracle_run(problem.layer, inputs, weights)
                                                            : oracle::Values{};
  data.saved.assign(saved.begin(), saved.end());
  if (reads_result(problem)) {
    const oracle::Values result = oracle::oracle_run(problem.layer, inputs, weights);
    data.result.assign(result.begin(), result.end());
  }
  const oracle::Values output = oracle::widened(data.output);
  oracle::Gradients exact = oracle::gradients(problem.layer, inputs, weights, output);
  const oracle::GradientTolerance tolerance = oracle::gradient_tolerance(problem.layer, inputs, weights, output);
  const bool of_weights = problem.of == GradientOf::weights;
  const bool of_slopes = of_weights && has_scale(problem.layer);
  data.gradient = of_slopes    ? exact.scale
                  : of_weights ? exact.kernels
                               : exact.inputs[static_cast<std::size_t>(problem.input)];
  if (problem.of == GradientOf::both) data.kernels = exact.kernels;
  if (problem.of != GradientOf::input) data.bias = exact.bias;
  data.tolerance = of_slopes ? tolerance.scale : of_weights ? tolerance.kernels : tolerance.inputs;
  data.kernels_tolerance = tolerance.kernels;
  data.bias_tolerance = tolerance.bias;
  return data;
}

GradientOutcome run_gradient(const GradientPrimitive& primitive, const GradientProblem& problem,
                             const Estimate& estimate, const GradientData& data, Device& device, Placing placing,
                             std::uint64_t seed) {
  const std::string name = name_of_gradient(primitive, problem, estimate, seed);
  Scratch scratch(estimate.memory);
  Arena persistent(scratch.placements);
  const LayerWeights weights = data.weights.view();
  Result<std::unique_ptr<PreparedGradient>> prepared =
      primitive.prepare(problem, estimate, weights, persistent, device);
  if (!prepared) {
    ADD_FAILURE() << name << ": prepare: " << prepared.error().message;
    return {};
  }
  const Held output(output_shape(problem.layer), estimate.in, placing, seed);
  const Held saved(saved_shape(problem), estimate.in, placing, seed + 1);
  const Held own(gradient_shape(problem), estimate.out, placing, seed + 2);
  const Held result(output_shape(problem.layer), estimate.in, placing, seed + 4);
  store(data.output, output.view);
  if (!data.saved.empty()) store(data.saved, saved.view);
  if (!data.result.empty()) store(data.result, result.view);
  const bool is_both = problem.of == GradientOf::both;
  const Held kernels(is_both ? weights_shape(problem.layer) : Shape5{1, 1, Vec3::cube(1)}, {}, placing, seed + 3);
  GradientOutcome outcome;
  outcome.replaced_saved = placing == Placing::packed && may_share(problem, estimate);
  const Held& gradient = outcome.replaced_saved ? saved : own;
  outcome.bias.assign(data.bias.size(), std::nanf(""));
  Arena arena(scratch.placements, true);
  const GradientViews views{output.view, saved.view, gradient.view, outcome.bias, kernels.view, result.view};
  if (Result<void> done = (*prepared)->run(views, arena); !done) {
    ADD_FAILURE() << name << ": run: " << done.error().message;
    return {};
  }
  outcome.gradient = load(gradient.view);
  if (is_both) outcome.kernels = load(kernels.view);
  outcome.high_water = arena.high_water();
  outcome.padding_is_zero = padding_is_zero(gradient.view);
  outcome.surroundings_kept = gradient.surroundings_kept() && kernels.surroundings_kept();
  return outcome;
}

void check_gradient(const GradientPrimitive& primitive, const GradientProblem& problem, Device& device,
                    std::uint64_t seed) {
  const Result<void> sound = check(problem);
  ASSERT_TRUE(sound.has_value()) << sound.error().message;
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, device.spec());
  ASSERT_TRUE(estimates.has_value()) << primitive.name << ": " << estimates.error().message;
  const GradientData data = gradient_data(problem, seed);
  GradientData no_bias = data;
  no_bias.weights.bias.clear();
  no_bias.bias.clear();
  const bool may_lack_bias = problem.of != GradientOf::input && std::holds_alternative<ConvProblem>(problem.layer);
  for (const Estimate& estimate : *estimates) {
    EXPECT_GT(estimate.time, 0.0) << name_of_gradient(primitive, problem, estimate, seed);
    check_estimate(primitive, problem, estimate, data, device, seed);
    if (may_lack_bias) check_estimate(primitive, problem, estimate, no_bias, device, seed);
  }
}

void expect_gradient_refusal(const GradientPrimitive& primitive, const GradientProblem& problem,
                             std::string_view reason) {
  const Result<std::vector<Estimate>> estimates = primitive.describe(problem, cpu::describe_cpu(1));
  ASSERT_FALSE(estimates.has_value()) << primitive.name << " takes " << to_string(problem);
  EXPECT_EQ(estimates.error().code, ErrorCode::unsupported);
  EXPECT_NE(estimates.error().message.find(reason), std::string::npos) << estimates.error().message;
}

std::vector<GradientProblem> gradients_of(const LayerProblem& layer) {
  std::vector<GradientProblem> problems;
  for (int input = 0; input < input_count(layer); ++input) problems.push_back({layer, GradientOf::input, input});
  const bool has_weights = std::holds_alternative<ConvProblem>(layer) || has_scale(layer);
  if (has_weights) problems.push_back({layer, GradientOf::weights, 0});
  if (std::holds_alternative<ConvProblem>(layer)) problems.push_back({layer, GradientOf::both, 0});
  return problems;
}

LayerProblem random_trained_layer(Random& random) {
  const Shape5 shape{random.integer(1, 3), random.integer(1, 20), random.vec3(1, 9)};
  Shape5 other = shape;
  other.f = random.chance(0.5) ? 16 : random.integer(1, 20);
  const auto stripped = [](ConvProblem conv) {
    conv.activation = {};
    return conv;
  };
  switch (random.integer(0, 17)) {
    case 0: return ActivationProblem{shape, random_activation(random)};
    case 1: return AddProblem{shape, static_cast<int>(random.integer(2, 4)), {}};
    case 2: return ConcatProblem{{other, shape, other}};
    case 3: return CropProblem{{shape.S, shape.f, shape.n + Vec3::cube(4)}, random.vec3(0, 2), random.vec3(0, 2)};
    case 4: return AcrossChannelsProblem{shape, random.chance(0.5) ? AcrossKind::softmax : AcrossKind::log_softmax};
    case 5: return random_pool(random, PoolMode::plain);
    case 6: return random_pool(random, PoolMode::fragments);
    case 14: return random_dilated_pool(random, random.chance(0.5) ? PoolMode::plain : PoolMode::fragments);
    case 15: {
      PoolProblem pool = random_dilated_pool(random, PoolMode::plain);
      pool.kind = PoolKind::average_inside;
      return pool;
    }
    case 7: return stripped(random_strided_conv(random, 2e6));
    case 8: return stripped(random_grouped_conv(random, 2e6));
    case 9: return PReluProblem{shape};
    case 13: return ScaleShiftProblem{shape};
    case 10: return MultiplyProblem{shape, random.chance(0.5) ? shape.f : 1};
    case 16: return DivideProblem{shape, random.chance(0.5) ? shape.f : 1};
    case 11: return random_upsample(random);
    case 12: return random_linear_upsample(random);
    default: {
      ConvProblem conv = stripped(random_conv(random, 2e6));
      if (random.chance(0.3)) conv.k = conv.dilation = Vec3::cube(1);
      return conv;
    }
  }
}

}  // namespace znni::test
