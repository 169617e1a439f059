#include "planner/split/gpu_tails.hpp"

#include <algorithm>
#include <utility>

#include "planner/layers/format_search.hpp"
#include "planner/layers/segments.hpp"
#include "planner/plan/pairs.hpp"
#include "planner/plan/throughput.hpp"

namespace znni {
namespace {

constexpr std::array all_precisions = {Precision::fp32, Precision::tf32, Precision::bf16};

// Returns divisors of S, from S down, each about a half of the one before it.
std::vector<std::int64_t> micro_batches_of(std::int64_t S) {
  std::vector<std::int64_t> micro_batches = {S};
  for (std::int64_t micro_batch = S / 2; micro_batch >= 1; --micro_batch) {
    if (S % micro_batch == 0 && (2 * micro_batch <= micro_batches.back() || micro_batch == 1))
      micro_batches.push_back(micro_batch);
  }
  return micro_batches;
}

// Returns the time of a segment on the GPU, whose micro-batches overlap with their copies.
Seconds tail_seconds(Seconds compute, std::int64_t micro_batches, const Shape5& in, const Shape5& out,
                     const AcceleratorSpec& link) {
  const Seconds up = link.up.seconds(static_cast<double>(tensor_bytes(in, {})));
  const Seconds down = static_cast<double>(out.S) * link.down.seconds_per_copy +
                       static_cast<double>(tensor_bytes(out, {})) / link.down.bytes_per_second;
  const Seconds longest = std::max({compute, up, down});
  return static_cast<double>(micro_batches) * longest + compute + up + down - longest;
}

}  // namespace

GpuTails::GpuTails(const Network& network, const Geometry& geometry, const DeviceSpec& gpu, FastestWays& ways,
                   TailFamilies& families, Precision coarsest, Seconds below, std::function<bool()> stop)
    : network_(network),
      geometry_(geometry),
      gpu_(gpu),
      fastest_(ways),
      families_(families),
      coarsest_(coarsest),
      below_(below),
      stop_(std::move(stop)),
      passes_(static_cast<double>(pass_count(geometry))) {}

std::vector<TailWay> GpuTails::ways(int until) {
  std::vector<TailWay> all;
  const std::int64_t S = value(until).S;
  const std::vector<std::int64_t> whole = {S};
  for (const std::int64_t micro_batch : is_dense(network_) ? micro_batches_of(S) : whole) {
    for (const Precision precision : all_precisions) {
      if (precision > coarsest_) break;
      all.push_back({micro_batch, false, precision});
      const Absent& absent = absent_in_pairs(precision);
      const bool pairs = std::find(absent.begin() + until + 1, absent.end(), true) != absent.end();
      if (pairs) all.push_back({micro_batch, true, precision});
    }
  }
  return all;
}

std::int64_t GpuTails::min_bytes(int until, const TailWay& way, const LayerBytes& layers) {
  return min_of(until, way).on_device(until, way.micro_batch, absent_from(until, way), layers);
}

const Result<Tail>& GpuTails::find(int until, const TailWay& way) {
  const auto known = tails_.find({until, way});
  return known != tails_.end() ? known->second : tails_.emplace(std::pair(until, way), make(until, way)).first->second;
}

const GpuTails::Absent& GpuTails::absent_in_pairs(Precision precision) {
  Absent& absent = absent_[static_cast<std::size_t>(precision)];
  if (!absent.empty()) return absent;
  absent.assign(geometry_.values.size(), false);
  for (std::size_t node = 0; node < geometry_.problems.size(); ++node) {
    const Result<ConvPoolProblem> both = pair_problem(network_, geometry_, static_cast<int>(node));
    absent[node + 1] = both && !fastest_.in_formats(*both, precision).empty();
  }
  return absent;
}

GpuTails::Absent GpuTails::absent_from(int until, const TailWay& way) {
  if (!way.in_pairs) return Absent(geometry_.values.size(), false);
  Absent absent = absent_in_pairs(way.precision);
  std::fill_n(absent.begin(), until + 1, false);
  return absent;
}

const MinBytes& GpuTails::min_of(int until, const TailWay& way) {
  const std::pair key{way.in_pairs ? until : 0, TailWay{0, way.in_pairs, way.precision}};
  const auto known = least_.find(key);
  if (known != least_.end()) return known->second;
  const MinBytes made(with_pairs(network_, geometry_, absent_from(until, way)), edge_formats(way.precision).back());
  return least_.emplace(key, made).first->second;
}

Result<Geometry> GpuTails::part_geometry(int until, std::int64_t micro_batch) {
  if (!is_dense(network_)) return geometry_;  // which is not cut
  const int last = static_cast<int>(network_.nodes.size()) - 1;
  GeometryChoice choice{value(until).n, micro_batch, modes_of(network_, geometry_.choice, until, last)};
  choice.streamed = geometry_.choice.streamed;
  choice.axis = geometry_.choice.axis;
  const Result<GeometryFamily>& family = families_.family_from(until, choice);
  return family ? family->with_passes(choice.pass_input) : family.error();
}

Result<Tail> GpuTails::make(int until, const TailWay& way) {
  const Network& network = families_.network_from(until);
  const Result<Geometry> part = part_geometry(until, way.micro_batch);
  if (!part) return part.error();
  const std::int64_t micro_batches = value(until).S / way.micro_batch;
  const auto shares = static_cast<double>(micro_batches) * passes_;
  const MinBytes& least = min_of(until, way);
  const auto all_seconds = [&](Seconds compute) {
    return passes_ * tail_seconds(compute, micro_batches, part->values.front(), part->values.back(), gpu_.accelerator);
  };
  const auto keeping = [&](int value, Format format) {
    return history_seconds(least.history(until + value, format), gpu_) / shares;
  };
  const Absent absent = absent_from(until, way);
  const Absent left_out(absent.begin() + until, absent.end());
  const Geometry geometry = with_pairs(network, *part, left_out);
  const FormatProblem problem{network, geometry, DeviceKind::gpu, left_out, way.precision, keeping};
  FormatSearch search(problem, fastest_);
  const Error slower{ErrorCode::unsupported, "slower than another patch"};
  const auto too_slow = [&](Seconds compute) { return all_seconds(compute) >= below_; };
  const auto stopped = [&] { return stop_ && stop_(); };
  const Result<Seconds> bound = search.least([&](Seconds compute) { return too_slow(compute) || stopped(); });
  if (!bound) return bound.error();
  if (stopped()) return Error{ErrorCode::cancelled, "the search was stopped"};
  if (too_slow(*bound)) return slower;
  Result<FormatChoice> choice = search.best();
  if (!choice) return choice.error();
  if (too_slow(choice->seconds)) return slower;
  for (Step& step : choice->steps) {
    if (step.node >= 0) step.node += until;
  }
  return Tail{all_seconds(choice->seconds), std::move(choice->steps), choice->bytes};
}

}  // namespace znni
