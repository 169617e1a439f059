#include "tests/gpu_bench/nets.hpp"

#include <cmath>
#include <fstream>
#include <tuple>

#include "primitives/gpu/element.hpp"
#include "primitives/gpu/estimates.hpp"
#include "tests/gpu_bench/lines.hpp"
#include "tests/gpu_bench/timing.hpp"

namespace znni::gpu_bench {
namespace {

constexpr double long_run = 1.0;              // seconds: runs that need not be repeated
constexpr std::int64_t max_convolutions = 7;  // of a net
constexpr std::int64_t channels = 80;
constexpr std::int64_t channels_out = 3;

struct Layer {
  LayerProblem problem;
  std::vector<float> kernels;
  std::vector<float> bias;
  Candidate chosen;
};

// 'c' and 'p' in order, the kernel of the first convolution and of the others.
struct Table {
  std::string layers;
  std::int64_t first_k = 0;
  std::int64_t k = 0;
};

Result<Table> table_of(const std::string& net) {
  if (net == "n337") return Table{"cpcpcpcccc", 2, 3};
  if (net == "n537") return Table{"cpcpcpcccc", 4, 5};
  if (net == "n726") return Table{"cpcpcccc", 6, 7};
  if (net == "n926") return Table{"cpcpcccc", 8, 9};
  return Error{ErrorCode::invalid_argument, "--net: no '" + net + "'; there are n337, n537, n726, n926"};
}

std::int64_t input_extent(const Table& table, std::int64_t last) {
  std::int64_t n = last;
  for (std::size_t i = table.layers.size(); i-- > 0;) {
    n = table.layers[i] == 'p' ? 2 * n + 1 : n + (i == 0 ? table.first_k : table.k) - 1;
  }
  return n;
}

std::vector<Layer> layers_of(const Table& table, std::int64_t last) {
  std::vector<Layer> layers;
  Shape5 shape{1, 1, Vec3::cube(input_extent(table, last))};
  Vec3 fragments = Vec3::cube(1);
  for (std::size_t i = 0; i < table.layers.size(); ++i) {
    Layer layer;
    if (table.layers[i] == 'c') {
      const bool final = i + 1 == table.layers.size();
      layer.problem = ConvProblem{shape,
                                  final ? channels_out : channels,
                                  Vec3::cube(i == 0 ? table.first_k : table.k),
                                  Vec3::cube(1),
                                  Vec3::cube(1),
                                  Activation{ActivationKind::relu, 0.0F},
                                  false};
    } else {
      layer.problem = PoolProblem{.in = shape, .mode = PoolMode::fragments, .fragments = fragments};
      fragments = fragments * Vec3::cube(2);
    }
    shape = output_shape(layer.problem);
    layers.push_back(std::move(layer));
  }
  return layers;
}

Result<std::vector<float>> read_floats(const std::string& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) return Error{ErrorCode::not_found, file + ": cannot be read"};
  std::vector<float> values(static_cast<std::size_t>(in.tellg()) / sizeof(float));
  in.seekg(0);
  in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

Result<void> give_weights(std::vector<Layer>& layers, const std::string& file) {
  std::vector<float> all;
  if (!file.empty()) {
    Result<std::vector<float>> read = read_floats(file);
    if (!read) return read.error();
    all = std::move(*read);
  }
  std::size_t next = 0;
  for (Layer& layer : layers) {
    const auto* conv = std::get_if<ConvProblem>(&layer.problem);
    if (conv == nullptr) continue;
    const std::int64_t terms = conv->in.f * voxels(conv->k);
    const auto count = static_cast<std::size_t>(terms * conv->f_out);
    const auto outputs = static_cast<std::size_t>(conv->f_out);
    if (file.empty()) {
      layer.kernels = made_values(static_cast<std::int64_t>(count), std::sqrt(2.0 / static_cast<double>(terms)), 1);
      layer.bias = made_values(conv->f_out, 0.01, 2);
      continue;
    }
    if (next + count + outputs > all.size()) {
      return Error{ErrorCode::corrupt_file,
                   file + ": holds " + std::to_string(all.size()) + " floats, too few for this net"};
    }
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(next);
    const auto middle = from + static_cast<std::ptrdiff_t>(count);
    layer.kernels.assign(from, middle);
    layer.bias.assign(middle, middle + static_cast<std::ptrdiff_t>(outputs));
    next += count + outputs;
  }
  return {};
}

void tell_candidate(const Line& start, const LayerProblem& problem, const Candidate& candidate,
                    std::string_view failure) {
  Line line = start;
  line.text("problem", to_string(problem)).text("primitive", candidate.primitive->name);
  line.text("variant", to_string(candidate.estimate.variant)).text("format", to_string(candidate.estimate.in));
  line.number("predicted_ms", 1e3 * candidate.estimate.time);
  if (!failure.empty()) return line.text("failure", failure).print();
  const double outputs =
      static_cast<double>(output_shape(problem).S) * static_cast<double>(voxels(output_shape(problem).n));
  line.number("ms", 1e3 * candidate.seconds).number("ns_per_voxel", 1e9 * candidate.seconds / outputs);
  line.number("direct_TFLOP_per_s", 1e-12 * direct_flops(problem) / candidate.seconds).print();
}

// Prepared layers between two tensors that change places: each layer's input at one end of the block's tensor area.
struct Chain {
  std::vector<LayerRun> layers;
  std::vector<TensorView> tensors;  // one more than layers

  Result<void> run() {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (Result<void> done = layers[i].run(tensors[i], tensors[i + 1]); !done) return done;
    }
    return {};
  }
};

// The memory of the chain beside its weights.
struct Memory {
  Reservation input;    // stays as it is, so that every run reads the same
  Reservation tensors;  // of even number from its front, of odd number up to its end
  Reservation scratch;  // each layer's own, one after the other
};

Result<Chain> make_chain(const std::vector<Layer>& layers, Mode mode, const Memory& memory, cuda::CudaDevice& device) {
  const Reservation& tensors = memory.tensors;
  Chain chain;
  Shape5 shape = input_shape(layers.front().problem, 0);
  for (std::size_t i = 0; i <= layers.size(); ++i) {
    if (i > 0) shape = output_shape(layers[i - 1].problem);
    const Format format = i == 0 ? layers.front().chosen.estimate.in : format_of(mode);
    const std::int64_t bytes = round_up(tensor_bytes(shape, format), 512);
    std::byte* at = i % 2 == 0 ? tensors.data() : tensors.data() + tensors.bytes() / 512 * 512 - bytes;
    if (i == 0) at = memory.input.data();
    chain.tensors.push_back(dense_view(reinterpret_cast<float*>(at), shape, format));
  }
  for (const Layer& layer : layers) {
    const LayerWeights weights{layer.kernels, layer.bias, {}, {}};
    Result<LayerRun> run = LayerRun::make(*layer.chosen.primitive, layer.problem, layer.chosen.estimate, weights,
                                          memory.scratch.data(), device);
    if (!run) return run.error();
    chain.layers.push_back(std::move(*run));
  }
  return chain;
}

// Returns the scratch alone: the bytes of the estimate without its tensors.
std::int64_t scratch_bytes(const Estimate& estimate) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : estimate.memory) {
    const bool tensor = buffer.name == output_name || buffer.name.starts_with("input ");
    const bool named_like_one = buffer.name == "input spectra";
    if (!buffer.lifetime.persistent && (!tensor || named_like_one)) bytes += round_up(buffer.bytes, 512);
  }
  return bytes;
}

std::int64_t widest(const std::vector<Layer>& layers, Mode mode) {
  std::int64_t most = 0;
  for (const Layer& layer : layers) {
    const std::int64_t in = tensor_bytes(input_shape(layer.problem, 0), layer.chosen.estimate.in);
    const std::int64_t out = tensor_bytes(output_shape(layer.problem), format_of(mode));
    most = std::max(most, round_up(in, 512) + round_up(out, 512));
  }
  return most;
}

Result<Memory> reserve(const std::vector<Layer>& layers, Mode mode, std::int64_t scratch, cuda::CudaDevice& device) {
  const Layer& first = layers.front();
  const std::int64_t input = tensor_bytes(input_shape(first.problem, 0), first.chosen.estimate.in);
  Memory memory;
  for (const auto& [to, bytes, purpose] :
       {std::tuple{&memory.input, input, "input"}, std::tuple{&memory.tensors, widest(layers, mode), "tensors"},
        std::tuple{&memory.scratch, scratch, "scratch"}}) {
    Result<Reservation> made = device.reserve(MemorySpace::device, bytes, purpose);
    if (!made) return made.error();
    *to = std::move(*made);
  }
  return memory;
}

// Returns the estimate with tensors of no bytes, because the chain has its own.
Estimate without_tensors(Estimate estimate) {
  for (Buffer& buffer : estimate.memory) {
    if (buffer.name == output_name || buffer.name == input_name(0)) buffer.bytes = 0;
  }
  return estimate;
}

Result<void> write_input(const NetRun& run, const TensorView& to, cuda::CudaDevice& device) {
  const std::int64_t count = elements(to.shape);
  std::vector<float> values = made_values(count, 1.0, 3);
  if (!run.input.empty()) {
    Result<std::vector<float>> read = read_floats(run.input);
    if (!read) return read.error();
    values = std::move(*read);
  }
  if (std::ssize(values) != count) {
    return Error{ErrorCode::invalid_argument,
                 run.input + ": holds " + std::to_string(values.size()) + " floats, expected " + std::to_string(count)};
  }
  auto* const data = reinterpret_cast<std::byte*>(to.data);
  if (to.format.type == ElementType::f32) return device.write(data, std::as_bytes(std::span(values)));
  std::vector<cuda::Bfloat> narrowed;
  narrowed.reserve(values.size());
  for (const float value : values) narrowed.push_back(cuda::narrow(value, cuda::Bfloat()));
  return device.write(data, std::as_bytes(std::span(narrowed)));
}

// Writes the output as floats in the order of the format's memory: planar, or channels innermost.
Result<void> write_output(const NetRun& run, const TensorView& from, cuda::CudaDevice& device) {
  if (run.output.empty()) return {};
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor_bytes(from.shape, from.format)));
  if (Result<void> read = device.read(bytes, reinterpret_cast<const std::byte*>(from.data)); !read) return read;
  std::ofstream out(run.output, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (out) return {};
  return Error{ErrorCode::not_found, run.output + ": cannot be written"};
}

std::int64_t kept_bytes(const Estimate& estimate) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : estimate.memory) bytes += buffer.lifetime.persistent ? buffer.bytes : 0;
  return bytes;
}

// Chooses a way for a layer. A layer of a net keeps no more than its share of what the block leaves.
Result<Candidate> choose(const NetRun& run, const LayerProblem& problem, const Layer& weighted, bool first,
                         const Reservation& block, cuda::CudaDevice& device) {
  const Line start = Line("net layer").text("net", run.net).text("mode", run.mode_name);
  const std::int64_t most = (device.budget(MemorySpace::device) - block.bytes()) / max_convolutions;
  return fastest(
      problem, {weighted.kernels, weighted.bias, {}, {}},
      [&](const Primitive&, const Estimate& estimate) {
        return belongs(estimate, run.mode, first) && kept_bytes(estimate) <= most;
      },
      run.candidates, block, device,
      [&](const Candidate& candidate, std::string_view failure) {
        tell_candidate(start, problem, candidate, failure);
      });
}

// Runs the first two layers as one if that is faster, or if they do not fit apart: the tensor between them is then not
// held either.
Result<void> choose_first(const NetRun& run, const Reservation& block, cuda::CudaDevice& device,
                          std::vector<Layer>& layers) {
  Layer& conv = layers[0];
  Layer& pool = layers[1];
  const LayerProblem both = ConvPoolProblem{std::get<ConvProblem>(conv.problem), std::get<PoolProblem>(pool.problem)};
  Result<Candidate> joined = choose(run, both, conv, true, block, device);
  Result<Candidate> first = choose(run, conv.problem, conv, true, block, device);
  Result<Candidate> second = choose(run, pool.problem, pool, false, block, device);
  const bool apart = first && second;
  if (!joined && !apart) return (first ? second : first).error().within(run.net);
  if (apart && (!joined || joined->seconds >= first->seconds + second->seconds)) {
    conv.chosen = *std::move(first);
    pool.chosen = *std::move(second);
    return {};
  }
  conv.problem = both;
  conv.chosen = *std::move(joined);
  layers.erase(layers.begin() + 1);
  return {};
}

Result<void> choose_layers(const NetRun& run, std::int64_t block_bytes, cuda::CudaDevice& device,
                           std::vector<Layer>& layers) {
  Result<Reservation> block = device.reserve(MemorySpace::device, block_bytes, "layers");
  if (!block) return block.error();
  for (std::size_t i = 2; i < layers.size(); ++i) {
    Result<Candidate> best = choose(run, layers[i].problem, layers[i], false, *block, device);
    if (!best) return best.error().within(run.net);
    layers[i].chosen = *std::move(best);
  }
  return choose_first(run, *block, device, layers);
}

}  // namespace

Result<void> run_net(const NetRun& run, std::int64_t block_bytes, cuda::CudaDevice& device) {
  const Result<Table> table = table_of(run.net);
  if (!table) return table.error();
  std::vector<Layer> layers = layers_of(*table, run.last);
  if (Result<void> given = give_weights(layers, run.weights); !given) return given;
  if (Result<void> chosen = choose_layers(run, block_bytes, device, layers); !chosen) return chosen;
  std::int64_t scratch = 512;
  Seconds predicted = 0;  // by the model of the back end, for the same layers
  for (Layer& layer : layers) {
    predicted += layer.chosen.estimate.time;
    scratch = std::max(scratch, scratch_bytes(layer.chosen.estimate));
    layer.chosen.estimate = without_tensors(std::move(layer.chosen.estimate));
  }
  Result<Memory> memory = reserve(layers, run.mode, scratch, device);
  if (!memory) return memory.error();
  Result<Chain> chain = make_chain(layers, run.mode, *memory, device);
  if (!chain) return chain.error().within(run.net);
  if (Result<void> there = write_input(run, chain->tensors.front(), device); !there) return there;
  const auto timed = [&](int repetitions) {
    return median_seconds(
        device, [&] { return chain->run(); }, repetitions, 0);
  };
  const Result<double> warm_up = timed(1);
  if (!warm_up) return warm_up.error();
  if (Result<void> written = write_output(run, chain->tensors.back(), device); !written) return written;
  const Result<double> seconds = timed(*warm_up > long_run ? 1 : 5);
  if (!seconds) return seconds.error();
  const Shape5& in = chain->tensors.front().shape;
  const Shape5& out = chain->tensors.back().shape;
  const double outputs = static_cast<double>(out.S) * static_cast<double>(voxels(out.n));
  Line("net")
      .text("who", "znni")
      .text("net", run.net)
      .text("mode", run.mode_name)
      .number("n", static_cast<double>(in.n.x))
      .number("fragment", static_cast<double>(out.n.x))
      .number("ms", 1e3 * *seconds)
      .number("Mvoxels_per_s", 1e-6 * outputs / *seconds)
      .number("predicted_Mvoxels_per_s", 1e-6 * outputs / predicted)
      .number("GiB", static_cast<double>(device.reserved(MemorySpace::device)) / static_cast<double>(1 << 30))
      .print();
  return {};
}

Result<void> run_layer(const LayerProblem& problem, std::int64_t block_bytes, cuda::CudaDevice& device) {
  const ConvProblem& conv = *convolution_of(problem);
  const std::vector<float> kernels = made_values(conv.f_out * conv.in.f * voxels(conv.k), 0.02, 1);
  const std::vector<float> bias = made_values(conv.f_out, 0.01, 2);
  Result<Reservation> block = device.reserve(MemorySpace::device, block_bytes, "layer");
  if (!block) return block.error();
  const std::vector<float> values = made_values(std::int64_t{1} << 24, 1.0, 3);
  for (std::int64_t at = 0; at + (std::int64_t{1} << 26) <= std::min(block->bytes(), std::int64_t{1} << 33);
       at += std::int64_t{1} << 26) {
    Result<void> there = device.write(block->data() + at, std::as_bytes(std::span(values)));
    if (!there) return there;
  }
  const LayerWeights weights{kernels, bias, {}, {}};
  const Result<Candidate> best = fastest(
      problem, weights, [](const Primitive&, const Estimate&) { return true; }, 1000, *block, device,
      [&](const Candidate& candidate, std::string_view failure) {
        tell_candidate(Line("layer"), problem, candidate, failure);
      });
  if (!best) return best.error();
  return {};
}

}  // namespace znni::gpu_bench
