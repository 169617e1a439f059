#include "planner/layers/format_search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "planner/costs/costs.hpp"
#include "planner/layers/schedule.hpp"
#include "planner/plan/pairs.hpp"
#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr std::size_t max_states = 729;  // three formats of six values

// Returns `way` with the reorder behind it.
Step with_reorder(Step way, const Step& reorder) {
  const Cost both = together({way.seconds, way.basis, way.error}, {reorder.seconds, reorder.basis, reorder.error});
  way.reorder = reorder.primitive;
  way.out = reorder.out;
  way.seconds = both.seconds;
  way.basis = both.basis;
  way.error = both.error;
  return way;
}

Step input_step(const Step& reorder) {
  Step step;
  step.node = -1;
  step.basis = Basis::measured;  // of nothing, which the reorder's is weaker than
  return with_reorder(step, reorder);
}

}  // namespace

FormatSearch::FormatSearch(const FormatProblem& problem, FastestWays& ways)
    : problem_(problem), ways_(ways), last_readers_(last_readers(problem.network)) {
  const int nodes = static_cast<int>(problem.network.nodes.size());
  for (int node = 0; node < nodes; node = units_.back().last + 1) units_.push_back(unit_of(node));
  options_.resize(units_.size());
}

FormatSearch::Unit FormatSearch::unit_of(int node) const {
  const auto& [network, geometry, kind, left_out, precision, keeping] = problem_;
  if (left_out[index(node) + 1]) {
    const LayerProblem both = pair_problem(network, geometry, node).value();
    return {node, node + 1, both, both};
  }
  return {node, node, problem_on(kind, network, geometry, node), problem_on(kind, network, geometry, node, true)};
}

std::vector<std::size_t> FormatSearch::max_operations_first() const {
  std::vector<std::pair<double, std::size_t>> order;
  for (const Unit& unit : units_) order.emplace_back(-direct_flops(unit.problem), order.size());
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> units;
  for (const auto& [operations, unit] : order) units.push_back(unit);
  return units;
}

Seconds FormatSearch::min_of(const Unit& unit) {
  const Seconds least = ways_.min_seconds(unit.problem);
  const bool same = edge_formats(problem_.precision).size() == 1 || unit.problem == unit.reordered;
  return same ? least : std::min(least, ways_.min_seconds(unit.reordered));
}

Result<Seconds> FormatSearch::least(const std::function<bool(Seconds)>& enough) {
  constexpr double rounding = 1 - 1e-12;  // of sums in another order
  const std::vector<std::size_t> order = max_operations_first();
  Seconds rest = 0;  // of layers that are not described, at least
  for (const std::size_t unit : order) {
    const Seconds least = min_of(units_[unit]);
    if (!std::isfinite(least)) return lacking(units_[unit]);
    rest += least;
    if (enough(rest * rounding)) return rest * rounding;
  }
  Seconds sum = 0;
  for (const std::size_t unit : order) {
    rest -= min_of(units_[unit]);
    const std::vector<Option>& options = options_of(unit);
    if (options.empty()) return lacking(units_[unit]);
    sum += std::min_element(options.begin(), options.end(), [](const Option& a, const Option& b) {
             return a.seconds < b.seconds;
           })->seconds;
    if (const Seconds known = (sum + rest) * rounding; enough(known)) return known;
  }
  return sum;
}

Error FormatSearch::lacking(const Unit& unit) const {
  const Result<LayerWay>& planar = ways_.get(unit.problem);
  return planar ? Error{ErrorCode::internal, "a layer has no way in any format"} : planar.error();
}

const LayerWay* FormatSearch::reorder_of(const Shape5& shape, Format from, Format to) {
  const std::vector<LayerWay>& ways = ways_.in_formats(ReorderProblem{shape, from, to}, problem_.precision);
  const auto found =
      std::find_if(ways.begin(), ways.end(), [&](const LayerWay& way) { return way.in == from && way.native == to; });
  return found == ways.end() ? nullptr : &*found;
}

void FormatSearch::add_options(const LayerProblem& problem, const LayerWay& way, bool reordered,
                               std::vector<Option>& options) {
  if (!reordered) return options.push_back({&way, nullptr, way.native, way.seconds});
  for (const Format out : edge_formats(problem_.precision)) {
    if (out == way.native) continue;
    const LayerWay* const reorder = reorder_of(output_shape(problem), way.native, out);
    if (reorder != nullptr) options.push_back({&way, reorder, out, way.seconds + reorder->seconds});
  }
}

const std::vector<FormatSearch::Option>& FormatSearch::options_of(std::size_t unit) {
  std::vector<Option>& options = options_[unit];
  if (!options.empty()) return options;
  for (const bool reordered : {false, true}) {
    if (reordered && edge_formats(problem_.precision).size() == 1) break;
    const LayerProblem& problem = reordered ? units_[unit].reordered : units_[unit].problem;
    for (const LayerWay& way : ways_.in_formats(problem, problem_.precision)) {
      add_options(problem, way, reordered, options);
    }
  }
  return options;
}

std::vector<FormatSearch::Option> FormatSearch::input_options() {
  std::vector<Option> options = {{nullptr, nullptr, Format{}, 0}};
  for (const Format out : edge_formats(problem_.precision).subspan(1)) {
    const LayerWay* const reorder = reorder_of(problem_.geometry.values.front(), Format{}, out);
    if (reorder != nullptr) options.push_back({nullptr, reorder, out, reorder->seconds});
  }
  return options;
}

bool FormatSearch::reads(const Unit& unit, const Option& option, const Formats& formats) const {
  const std::vector<int>& inputs = problem_.network.nodes[index(unit.first)].inputs;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    const Format wanted = input_format(unit.problem, i, option.way->in, option.way->native);
    if (formats[index(inputs[index(i)])] != wanted) return false;
  }
  return true;
}

void FormatSearch::extend(const Unit& unit, const States& from, const std::vector<Option>& options, States& to) const {
  const int written = unit.last + 1;
  for (const auto& [formats, reached] : from) {
    for (const Option& option : options) {
      if (!reads(unit, option, formats)) continue;
      Formats after = formats;
      after[index(written)] = option.out;
      for (int value = 0; value < written; ++value) {
        if (last_readers_[index(value)] <= unit.last) after[index(value)] = Format{};
      }
      const Seconds seconds = reached.seconds + option.seconds + problem_.keeping(written, option.out);
      const auto [known, is_new] = to.try_emplace(std::move(after), Reached{seconds, &formats, &option});
      if (!is_new && seconds < known->second.seconds) known->second = {seconds, &formats, &option};
    }
  }
  keep_fastest(to);
}

// Keeps the fastest states, and the one that is planar throughout, which goes on wherever a layer has a planar way: so
// the search always comes to an end.
void FormatSearch::keep_fastest(States& states) const {
  States::node_type planar = states.extract(Formats(problem_.network.nodes.size() + 1));
  while (states.size() > max_states) {
    states.erase(std::max_element(states.begin(), states.end(),
                                  [](const auto& a, const auto& b) { return a.second.seconds < b.second.seconds; }));
  }
  states.insert(std::move(planar));
}

Result<FormatChoice> FormatSearch::best() {
  input_options_ = input_options();
  std::vector<States> states(units_.size() + 1);
  for (const Option& option : input_options_) {
    Formats formats(problem_.network.nodes.size() + 1);
    formats.front() = option.out;
    states.front()[formats] = {option.seconds + problem_.keeping(0, option.out), nullptr, &option};
  }
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    const std::vector<Option>& options = options_of(unit);
    if (options.empty()) return lacking(units_[unit]);
    extend(units_[unit], states[unit], options, states[unit + 1]);
  }
  const auto end = states.back().find(Formats(problem_.network.nodes.size() + 1));
  if (end != states.back().end()) return trace(states, &end->first);
  return Error{ErrorCode::unsupported, "no formats of the tensors agree: a reorder is missing"};
}

// Returns the bytes of the unit's tensors that are the network's input or output.
std::int64_t FormatSearch::outside(const Unit& unit, const LayerWay& way) const {
  const std::vector<int>& inputs = problem_.network.nodes[index(unit.first)].inputs;
  const bool ends = unit.last + 1 == static_cast<int>(problem_.network.nodes.size());
  std::int64_t bytes = ends ? tensor_bytes(output_shape(unit.problem), way.native) : 0;
  for (int i = 0; i < static_cast<int>(inputs.size()); ++i) {
    if (inputs[index(i)] != 0) continue;
    bytes = add(bytes, tensor_bytes(input_shape(unit.problem, i), input_format(unit.problem, i, way.in, way.native)));
  }
  return bytes;
}

FormatChoice FormatSearch::trace(const std::vector<States>& states, const Formats* end) const {
  FormatChoice choice;
  choice.seconds = states.back().at(*end).seconds;
  std::vector<const Option*> chosen;
  for (std::size_t i = states.size(); i-- > 0;) {
    const Reached& reached = states[i].at(*end);
    chosen.push_back(reached.by);
    end = reached.before;
  }
  std::reverse(chosen.begin(), chosen.end());
  if (chosen.front()->reorder != nullptr) choice.steps.push_back(input_step(*chosen.front()->reorder));
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Option& option = *chosen[i + 1];
    choice.bytes.persistent = add(choice.bytes.persistent, option.way->persistent);
    choice.bytes.most = std::max(choice.bytes.most, option.way->peak - outside(units_[i], *option.way));
    Step step = *option.way;
    if (option.reorder != nullptr) step = with_reorder(std::move(step), *option.reorder);
    step.node = units_[i].first;
    if (units_[i].first == units_[i].last) {
      choice.steps.push_back(std::move(step));
    } else {
      std::ranges::copy(pair_steps(step), std::back_inserter(choice.steps));
    }
  }
  return choice;
}

}  // namespace znni
