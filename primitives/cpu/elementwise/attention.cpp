// cpu.attention: attention over all voxels of an input, planar. Rows of queries are taken a few at a time: their
// products with all keys, the softmax of these in the worker's own memory, then the sums of the values. So no worker
// has more of the matrix of scores than these rows.
#include <algorithm>
#include <array>
#include <span>

#include "primitives/cpu/device/estimates.hpp"
#include "primitives/cpu/elementwise/runs.hpp"
#include "primitives/cpu/vectors/activate.hpp"

namespace znni::cpu {
namespace {

constexpr std::string_view tokens_name = "tokens";
constexpr std::string_view scores_name = "scores";
constexpr std::int64_t rows = 4;              // of queries at a time
constexpr std::int64_t lanes = 32;            // neighbouring tokens at a time; scores of those rows stay in registers
constexpr double attention_efficiency = 0.5;  // of both products

// Returns the tokens of a row, with those that fill its last vector.
std::int64_t score_row_floats(const AttentionProblem& problem) { return round_up(voxels(problem.in.n), lanes); }

std::int64_t channels_of(const AttentionProblem& problem) { return add(mul(2, problem.in.f), problem.f_out); }

Result<std::vector<Estimate>> describe_attention(const LayerProblem& problem, const DeviceSpec& spec) {
  const auto* attention = std::get_if<AttentionProblem>(&problem);
  if (attention == nullptr) return refusal("cpu.attention", "attention over all voxels", problem);
  const auto tokens = static_cast<double>(voxels(attention->in.n));
  const double pairs = tokens * tokens * static_cast<double>(attention->heads * attention->in.S);
  const double flops = direct_flops(problem) / attention_efficiency + pairs * exponential_flops(spec);
  Estimate estimate;
  estimate.time = modelled_time(spec, flops, 1.0, 2.0 * tensor_traffic(problem, planar_format, planar_format));
  estimate.memory = input_output_buffers(problem, planar_format, planar_format);
  const std::int64_t row = score_row_floats(*attention);
  const std::int64_t scores = float_bytes(mul(mul(spec.threads, rows), row));
  estimate.memory.push_back({std::string(tokens_name), MemorySpace::host,
                             float_bytes(mul(channels_of(*attention), row)), Lifetime::stages(0, 0)});
  estimate.memory.push_back({std::string(scores_name), MemorySpace::host, scores, Lifetime::stages(0, 0)});
  return std::vector<Estimate>{std::move(estimate)};
}

// Copies all voxels of a channel, row after row, and fills the rest with zeros.
void copy_tokens(const TensorView& in, std::int64_t s, std::int64_t channel, std::span<float> to) {
  const Vec3 n = in.shape.n;
  float* next = to.data();
  for (Run run{s, channel, {}, n.x}; run.start.z < n.z; ++run.start.z) {
    for (run.start.y = 0; run.start.y < n.y; ++run.start.y) {
      const std::span<const float> row = run_of(in, run);
      next = std::copy(row.begin(), row.end(), next);
    }
  }
  std::fill(next, to.data() + to.size(), 0.0F);
}

// The tokens of one head: its channels, each a row of `row` floats of which `count` are tokens.
struct Head {
  const float* queries = nullptr;
  const float* keys = nullptr;
  const float* values = nullptr;
  std::int64_t row = 0;
  std::int64_t count = 0;
  std::int64_t channels = 0;  // of queries and keys
};

// Writes the scores of `rows` queries from `first` on with the keys from `begin` on.
void score(const Head& head, std::int64_t first, std::int64_t begin, float scale, float* scores) {
  std::array<std::array<float, lanes>, rows> sums{};
  for (std::int64_t c = 0; c < head.channels; ++c) {
    const float* const key = head.keys + c * head.row + begin;
    const float* const query = head.queries + c * head.row + first;
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[r][lane] += query[r] * key[lane];
    }
  }
  for (std::size_t r = 0; r < rows; ++r) {
    float* const to = scores + static_cast<std::int64_t>(r) * head.row + begin;
    for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] = scale * sums[r][lane];
  }
}

// Makes a softmax of a row's scores; what fills the row becomes 0.
void make_shares(std::span<float> row, std::int64_t count) {
  const std::span<float> own = row.first(static_cast<std::size_t>(count));
  const float most = *std::max_element(own.begin(), own.end());
  for (float& one : own) one -= most;
  exponentiate(own);
  double sum = 0;
  for (const float one : own) sum += static_cast<double>(one);
  const auto inverse = static_cast<float>(1.0 / sum);
  for (float& one : own) one *= inverse;
  std::fill(row.begin() + count, row.end(), 0.0F);
}

// Returns what each of `rows` rows of shares makes of one channel of values.
std::array<float, rows> attended(const Head& head, std::int64_t channel, const float* shares) {
  constexpr std::size_t width = 16;
  std::array<std::array<float, width>, rows> sums{};
  const float* const value = head.values + channel * head.row;
  for (std::int64_t begin = 0; begin < head.row; begin += width) {
    for (std::size_t r = 0; r < rows; ++r) {
      const float* const share = shares + static_cast<std::int64_t>(r) * head.row + begin;
      for (std::size_t lane = 0; lane < width; ++lane)
        sums[r][lane] += share[lane] * value[begin + static_cast<std::int64_t>(lane)];
    }
  }
  std::array<float, rows> result{};
  for (std::size_t r = 0; r < rows; ++r) {
    for (const float sum : sums[r]) result[r] += sum;
  }
  return result;
}

class AttentionLayer final : public PreparedLayer {
 public:
  AttentionLayer(const AttentionProblem& problem, Executor& executor)
      : problem_(problem), row_(score_row_floats(problem)), executor_(executor) {}

  Result<void> run(std::span<const TensorView> inputs, const TensorView& out, Arena& arena) override {
    const std::span<float> tokens = arena.grant_as<float>(tokens_name);
    const std::span<float> scores = arena.grant_as<float>(scores_name);
    for (std::int64_t s = 0; s < problem_.in.S; ++s) {
      copy_all(inputs, s, tokens);
      const std::int64_t blocks = div_up(voxels(problem_.in.n), rows);
      executor_.parallel_for(problem_.heads * blocks, [&](std::int64_t index, int worker) {
        float* const own = scores.data() + static_cast<std::int64_t>(worker) * rows * row_;
        attend(tokens.data(), index / blocks, index % blocks * rows, own, out, s);
      });
    }
    return {};
  }

 private:
  // Writes queries, keys and values of input s: [channels][row].
  void copy_all(std::span<const TensorView> inputs, std::int64_t s, std::span<float> tokens) const {
    executor_.parallel_for(channels_of(problem_), [&](std::int64_t channel, int) {
      const std::int64_t f = problem_.in.f;
      const std::int64_t input = std::min<std::int64_t>(channel / f, 2);
      const std::span<float> to =
          tokens.subspan(static_cast<std::size_t>(channel * row_), static_cast<std::size_t>(row_));
      copy_tokens(inputs[static_cast<std::size_t>(input)], s, channel - input * f, to);
    });
  }

  [[nodiscard]] Head head_of(const float* tokens, std::int64_t number) const {
    const std::int64_t channels = problem_.in.f / problem_.heads;
    const std::int64_t first = number * channels;
    const std::int64_t value = 2 * problem_.in.f + number * (problem_.f_out / problem_.heads);
    return {tokens + first * row_, tokens + (problem_.in.f + first) * row_,
            tokens + value * row_, row_,
            voxels(problem_.in.n), channels};
  }

  // Writes the output of a few queries of a head.
  void attend(const float* tokens, std::int64_t number, std::int64_t first, float* scores, const TensorView& out,
              std::int64_t s) const {
    const Head head = head_of(tokens, number);
    for (std::int64_t begin = 0; begin < row_; begin += lanes) score(head, first, begin, problem_.scale, scores);
    for (std::int64_t r = 0; r < rows; ++r) {
      make_shares({scores + r * row_, static_cast<std::size_t>(row_)}, head.count);
    }
    const std::int64_t channels = problem_.f_out / problem_.heads;
    for (std::int64_t c = 0; c < channels; ++c) {
      write(attended(head, c, scores), first, out, s, number * channels + c);
    }
  }

  void write(const std::array<float, rows>& sums, std::int64_t first, const TensorView& out, std::int64_t s,
             std::int64_t channel) const {
    const Vec3 n = problem_.in.n;
    const std::int64_t count = std::min(rows, voxels(n) - first);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t v = first + r;
      out.at(s, channel, {v / (n.y * n.x), v / n.x % n.y, v % n.x}) = sums[static_cast<std::size_t>(r)];
    }
  }

  AttentionProblem problem_;
  std::int64_t row_;
  Executor& executor_;
};

Result<std::unique_ptr<PreparedLayer>> prepare_attention(const LayerProblem& problem, const Estimate&,
                                                         const LayerWeights&, Arena&, Device& device) {
  const auto& attention = std::get<AttentionProblem>(problem);
  return std::unique_ptr<PreparedLayer>(std::make_unique<AttentionLayer>(attention, device.executor()));
}

}  // namespace

extern constinit const Primitive attention{"cpu.attention", 1, DeviceKind::cpu, &describe_attention,
                                           &prepare_attention};

}  // namespace znni::cpu
