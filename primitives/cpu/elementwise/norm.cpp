// cpu.norm: instance, group and global response normalisation. Two passes over the input: sums of each channel's
// planes, in float64 so that they do not cancel, then a product and a sum per voxel. Sums are added up in the same
// order for any number of workers.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view sums_name = "sums of planes";
constexpr std::string_view factors_name = "factors";
// Costs a vector: conversions with sums and squares in the first pass, a product and a sum in the second.
constexpr double norm_instructions = 12.0;

std::int64_t padded_channels(const Shape5& shape, Format format) {
  return round_up(shape.f, block_width(format.layout));
}

// A sum and a sum of squares.
struct Sums {
  double values = 0;
  double squares = 0;
};

// The number that is subtracted from a channel, the factor of the rest, and the number that is added. Voxels that are
// all equal leave nothing, so that no small deviation makes rounding errors large.
struct Factors {
  float mean = 0;
  float scale = 0;
  float shift = 0;
};

Result<std::vector<Estimate>> describe_norm(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* norm = std::get_if<NormProblem>(&problem);
  if (norm == nullptr) return refusal("cpu.norm", "instance, group and response normalisations", problem);
  const double per_element = vector_flops(norm_instructions, spec) + activation_flops(norm->activation, spec);
  const double flops = per_element * static_cast<double>(elements(norm->in));
  std::vector<Estimate> estimates = streaming_estimates(problem, spec, float_formats(spec), per_element);
  for (Estimate& estimate : estimates) {
    const std::int64_t channels = mul(norm->in.S, padded_channels(norm->in, estimate.in));
    const std::int64_t sums = mul(mul(channels, norm->in.n.z), static_cast<std::int64_t>(sizeof(Sums)));
    const std::int64_t factors = mul(channels, static_cast<std::int64_t>(sizeof(Factors)));
    estimate.memory.push_back({std::string(sums_name), MemorySpace::host, sums, Lifetime::stages(0, 0)});
    estimate.memory.push_back({std::string(factors_name), MemorySpace::host, factors, Lifetime::stages(0, 0)});
    // The input is read twice.
    estimate.time = modelled_time(spec, flops, 1.0, 1.5 * tensor_traffic(problem, estimate.in, estimate.out));
  }
  return estimates;
}

// Adds a row of whole voxels of `lanes` lanes to the sums of each lane. Rows of one lane are added as if they had 16,
// whose sums are added up at the end.
template <std::size_t lanes>
void add_row(std::span<const float> row, std::span<Sums> sums) {
  std::array<double, lanes> values{};
  std::array<double, lanes> squares{};
  const std::size_t whole = row.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const auto value = static_cast<double>(row[i + lane]);
      values[lane] += value;
      squares[lane] += value * value;
    }
  }
  for (std::size_t i = whole; i < row.size(); ++i) {
    const auto value = static_cast<double>(row[i]);
    values[i - whole] += value;
    squares[i - whole] += value * value;
  }
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    Sums& own = sums[lane % sums.size()];
    own.values += values[lane];
    own.squares += squares[lane];
  }
}

void add_row_to(std::span<const float> row, std::span<Sums> sums) {
  if (sums.size() == 8) return add_row<8>(row, sums);
  add_row<16>(row, sums);
}

// Multiplies and shifts whole voxels; `factors` has one entry per lane.
template <std::size_t lanes>
void scale_run(std::span<const float> from, std::span<float> to, std::span<const Factors> factors) {
  std::array<float, lanes> mean{};
  std::array<float, lanes> scale{};
  std::array<float, lanes> shift{};
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    mean[lane] = factors[lane % factors.size()].mean;
    scale[lane] = factors[lane % factors.size()].scale;
    shift[lane] = factors[lane % factors.size()].shift;
  }
  const std::size_t whole = to.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      to[i + lane] = scale[lane] * (from[i + lane] - mean[lane]) + shift[lane];
    }
  }
  for (std::size_t i = whole; i < to.size(); ++i) {
    to[i] = scale[i - whole] * (from[i] - mean[i - whole]) + shift[i - whole];
  }
}

void scale_run_by(std::span<const float> from, std::span<float> to, std::span<const Factors> factors) {
  if (factors.size() == 8) return scale_run<8>(from, to, factors);
  scale_run<16>(from, to, factors);
}

class NormLayer final : public PreparedLayer {
 public:
  NormLayer(const NormProblem& problem, Format format, const LayerWeights& weights, Executor& executor)
      : problem_(problem),
        width_(block_width(format.layout)),
        blocks_(div_up(problem.in.f, width_)),
        weights_(weights),
        executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<Sums> sums = arena.grant_as<Sums>(sums_name);
    const std::span<Factors> factors = arena.grant_as<Factors>(factors_name);
    add_planes(inputs[0], sums);
    find_factors(sums, factors);
    for_each_run(executor_, out, inputs, blocks_, [&](const Run& run, int) {
      const std::span<float> to = run_of(out, run);
      scale_run_by(run_of(inputs[0], run), to, lanes_of(factors, run.s * blocks_ + run.block));
      activate(problem_.activation, to);
      clear_lanes(to, problem_.in.f - run.block * width_, width_);
    });
    return {};
  }

 private:
  // Returns those of `number`, one per lane.
  template <class Entry>
  [[nodiscard]] std::span<Entry> lanes_of(std::span<Entry> all, std::int64_t number) const {
    return all.subspan(static_cast<std::size_t>(number * width_), static_cast<std::size_t>(width_));
  }

  // Writes the sums of every plane: [S][blocks][z][lanes].
  void add_planes(const TensorView& in, std::span<Sums> sums) {
    const Vec3 n = problem_.in.n;
    executor_.parallel_for(problem_.in.S * blocks_ * n.z, [&](std::int64_t index, int) {
      const std::span<Sums> own = lanes_of(sums, index);
      std::fill(own.begin(), own.end(), Sums{});
      Run run{index / n.z / blocks_, index / n.z % blocks_, {index % n.z, 0, 0}, n.x * width_};
      for (; run.start.y < n.y; ++run.start.y) add_row_to(run_of(in, run), own);
    });
  }

  // Writes the factors of every channel: [S][blocks][lanes]. Those of padding channels are 0.
  void find_factors(std::span<const Sums> sums, std::span<Factors> factors) const {
    const std::int64_t of_group = problem_.in.f / problem_.groups;
    std::fill(factors.begin(), factors.end(), Factors{});
    for (std::int64_t s = 0; s < problem_.in.S; ++s) {
      for (std::int64_t first = 0; first < problem_.in.f; first += of_group) {
        const Channels group{s, first, first + of_group};
        problem_.kind == NormKind::response ? by_response(sums, group, factors) : by_deviation(sums, group, factors);
      }
    }
  }

  // Channels [first, end) of input s.
  struct Channels {
    std::int64_t s = 0;
    std::int64_t first = 0;
    std::int64_t end = 0;
  };

  [[nodiscard]] Factors& entry_of(std::span<Factors> factors, std::int64_t s, std::int64_t channel) const {
    return factors[static_cast<std::size_t>(s * blocks_ * width_ + channel)];
  }

  void by_deviation(std::span<const Sums> sums, const Channels& group, std::span<Factors> factors) const {
    const auto [mean, inverse] = moments(sums, group);
    for (std::int64_t channel = group.first; channel < group.end; ++channel) {
      entry_of(factors, group.s, channel) = factors_of(channel, mean, inverse);
    }
  }

  void by_response(std::span<const Sums> sums, const Channels& group, std::span<Factors> factors) const {
    const auto length = [&](std::int64_t channel) {
      return std::sqrt(sums_of(sums, {group.s, channel, channel + 1}).squares);
    };
    double lengths = 0;
    for (std::int64_t channel = group.first; channel < group.end; ++channel) lengths += length(channel);
    const double divisor =
        lengths / static_cast<double>(group.end - group.first) + static_cast<double>(problem_.epsilon);
    for (std::int64_t channel = group.first; channel < group.end; ++channel) {
      entry_of(factors, group.s, channel) = factors_of(channel, 0.0, length(channel) / divisor);
    }
  }

  [[nodiscard]] Sums sums_of(std::span<const Sums> sums, const Channels& channels) const {
    Sums all;
    for (std::int64_t channel = channels.first; channel < channels.end; ++channel) {
      const std::int64_t block = channels.s * blocks_ + channel / width_;
      for (std::int64_t z = 0; z < problem_.in.n.z; ++z) {
        const Sums& own = lanes_of(sums, block * problem_.in.n.z + z)[static_cast<std::size_t>(channel % width_)];
        all.values += own.values;
        all.squares += own.squares;
      }
    }
    return all;
  }

  // Returns the mean of the channels, and what 1 is over their deviation.
  [[nodiscard]] std::pair<double, double> moments(std::span<const Sums> sums, const Channels& channels) const {
    const Sums group = sums_of(sums, channels);
    const double count =
        static_cast<double>(channels.end - channels.first) * static_cast<double>(voxels(problem_.in.n));
    const double mean = group.values / count;
    const double variance = std::max(0.0, group.squares / count - mean * mean);
    return {mean, 1.0 / std::sqrt(variance + static_cast<double>(problem_.epsilon))};
  }

  [[nodiscard]] Factors factors_of(std::int64_t channel, double mean, double inverse) const {
    const double scale = static_cast<double>(weights_.scale[static_cast<std::size_t>(channel)]) * inverse;
    return {static_cast<float>(mean), static_cast<float>(scale), weights_.shift[static_cast<std::size_t>(channel)]};
  }

  NormProblem problem_;
  std::int64_t width_;   // lanes of a block
  std::int64_t blocks_;  // of an input
  LayerWeights weights_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_norm(const LayerProblem& problem, const Estimate& chosen,
                                                    const LayerWeights& weights, Arena&, Device& device) {
  const auto& norm = std::get<NormProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<NormLayer>(norm, chosen.in, weights, device.executor()));
}

}  // namespace

extern constinit const Primitive norm{"cpu.norm", 1, DeviceKind::cpu, &describe_norm, &prepare_norm};

}  // namespace znni::cpu
