#include "planner/train/step_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "primitives/core/index.hpp"

namespace znni {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
// Combinations of formats that are all tried.
constexpr std::size_t max_combinations = 1024;
// Prices of a byte, as shares of what all seconds cost a byte.
constexpr int prices = 12;

std::int64_t whole_peak(const StepLine& line) {
  MemoryPlan memory = line.memory();
  for (Buffer& buffer : memory) buffer.bytes = round_up(buffer.bytes, buffer_alignment);
  return peak(memory);
}

}  // namespace

Result<StepSearch> StepSearch::make(const StepGraph& graph, const StepParts& parts) {
  StepSearch search(graph, parts);
  if (Result<void> found = search.find_ways(); !found) return found.error();
  search.fronts_.resize(search.works_.size());
  search.find_formats();
  search.find_lives();
  search.list_candidates();
  return search;
}

Result<void> StepSearch::find_ways() {
  const int count = static_cast<int>(graph_->works.size());
  works_ = graph_->works;
  together_.assign(works_.size(), -1);
  for (int i = 0; i < count; ++i) {
    Result<std::vector<StepWay>> ways = step_ways(works_[index(i)], *parts_);
    if (!ways) return ways.error();
    ways_.push_back(std::move(*ways));
    stretches_.push_back({i, i});
  }
  for (int i = 0; i + 1 < count; ++i) {
    std::optional<StepWork> both = both_gradients(graph_->works[index(i)], graph_->works[index(i + 1)]);
    if (!both) continue;
    Result<std::vector<StepWay>> ways = step_ways(*both, *parts_);
    if (!ways) continue;  // nothing here computes them at once
    together_[index(i)] = static_cast<int>(works_.size());
    works_.push_back(*std::move(both));
    ways_.push_back(std::move(*ways));
    stretches_.push_back({i, i + 1});
  }
  for (const StepWork& work : works_) own_.push_back(tensors_of(work));
  return {};
}

void StepSearch::find_formats() {
  formats_ = {Format{}};
  const auto add = [&](Format format) {
    if (std::find(formats_.begin(), formats_.end(), format) == formats_.end()) formats_.push_back(format);
  };
  for (const std::vector<StepWay>& ways : ways_) {
    for (const StepWay& way : ways) {
      add(way.estimate.in);
      add(way.estimate.out);
    }
  }
  fixed_.assign(graph_->tensors.size(), false);
  for (const int tensor : {0, graph_->output, graph_->output_gradient}) fixed_[index(tensor)] = true;
}

void StepSearch::find_lives() {
  const std::size_t works = graph_->works.size();
  std::vector<int> first(graph_->tensors.size(), 0);
  last_.assign(graph_->tensors.size(), -1);
  for (std::size_t i = 0; i < works; ++i) {
    for (const int tensor : graph_->works[i].reads) last_[index(tensor)] = static_cast<int>(i);
    if (graph_->works[i].writes >= 0) first[index(graph_->works[i].writes)] = static_cast<int>(i);
  }
  beside_.resize(works_.size());
  for (std::size_t i = 0; i < works_.size(); ++i) {
    for (int tensor = 0; index(tensor) < graph_->tensors.size(); ++tensor) {
      const bool alive = first[index(tensor)] < stretches_[i].first && stretches_[i].last < last_[index(tensor)];
      const bool is_own = std::find(own_[i].begin(), own_[i].end(), tensor) != own_[i].end();
      if (alive && !is_own) beside_[i].push_back(tensor);
    }
  }
}

std::int64_t StepSearch::bytes(int tensor, int format) const {
  return round_up(tensor_bytes(graph_->tensors[index(tensor)].shape, formats_[index(format)]), buffer_alignment);
}

std::int64_t StepSearch::beside(std::size_t work, const Digits& digits) const {
  std::int64_t sum = 0;
  for (const int tensor : beside_[work]) sum = znni::add(sum, bytes(tensor, digits[index(tensor)]));
  return sum;
}

std::optional<StepSearch::Priced> StepSearch::price(std::size_t number, int way, const Digits& digits) {
  const StepWork& work = works_[number];
  StepLine line;
  for (int tensor = 0; index(tensor) < graph_->tensors.size(); ++tensor) {
    const StepTensor& own = graph_->tensors[index(tensor)];
    line.add_tensor(own.name, own.shape, formats_[index(digits[index(tensor)])]);
  }
  for (const int tensor : own_[number]) {
    if (tensor != work.writes) line.bring(tensor);
  }
  const std::optional<Seconds> seconds = append(work, ways_[number][index(way)], reorders_, line);
  if (!seconds) return std::nullopt;
  for (const int tensor : own_[number]) {
    if (!stretches_[number].has(last_[index(tensor)])) line.keep(tensor);
  }
  return Priced{*seconds, whole_peak(line), way};
}

const StepSearch::Front& StepSearch::front(std::size_t work, const Digits& digits) {
  Digits key;
  for (const int tensor : own_[work]) key.push_back(digits[index(tensor)]);
  const auto [found, is_new] = fronts_[work].try_emplace(std::move(key));
  if (!is_new) return found->second;
  std::vector<Priced> all;
  for (int way = 0; index(way) < ways_[work].size(); ++way) {
    if (const std::optional<Priced> priced = price(work, way, digits)) all.push_back(*priced);
  }
  std::stable_sort(all.begin(), all.end(), [](const Priced& a, const Priced& b) {
    return a.seconds != b.seconds ? a.seconds < b.seconds : a.peak < b.peak;
  });
  for (const Priced& priced : all) {
    if (found->second.empty() || priced.peak < found->second.back().peak) found->second.push_back(priced);
  }
  return found->second;
}

// Returns the least seconds of a work, with the price of its bytes.
double StepSearch::min_cost(std::size_t work, const Digits& digits, double seconds_per_byte) {
  double least = infinite;
  for (const Priced& priced : front(work, digits)) {
    least = std::min(least, priced.seconds + seconds_per_byte * static_cast<double>(priced.peak));
  }
  return least;
}

// A work, or, if asked, both works that may be done at once: of these the cheaper of one way together and one for each.
SumTerm StepSearch::term_of(std::size_t work, double seconds_per_byte, bool at_once) {
  const int both = at_once ? together_[work] : -1;
  const std::vector<int>& own = own_[both < 0 ? work : index(both)];
  SumTerm term{own, {}};
  Digits digits(graph_->tensors.size(), 0);
  std::size_t entries = 1;
  for (std::size_t i = 0; i < own.size(); ++i) entries *= formats_.size();
  for (std::size_t at = 0; at < entries; ++at) {
    std::size_t rest = at;
    bool legal = true;
    for (auto it = own.rbegin(); it != own.rend(); ++it) {
      digits[index(*it)] = static_cast<int>(rest % formats_.size());
      rest /= formats_.size();
      legal = legal && (digits[index(*it)] == 0 || !fixed_[index(*it)]);
    }
    double least = legal ? min_cost(work, digits, seconds_per_byte) : infinite;
    if (legal && both >= 0) {
      least = std::min(least + min_cost(work + 1, digits, seconds_per_byte),
                       min_cost(index(both), digits, seconds_per_byte));
    }
    term.values.push_back(least);
  }
  return term;
}

std::optional<StepSearch::Digits> StepSearch::priced_at(double seconds_per_byte, bool at_once) {
  std::vector<SumTerm> terms;
  for (std::size_t work = 0; work < graph_->works.size(); ++work) {
    terms.push_back(term_of(work, seconds_per_byte, at_once));
    if (at_once && together_[work] >= 0) ++work;
  }
  for (int tensor = 0; seconds_per_byte > 0 && index(tensor) < graph_->tensors.size(); ++tensor) {
    SumTerm term{{tensor}, {}};
    for (int format = 0; index(format) < formats_.size(); ++format) {
      term.values.push_back(seconds_per_byte * static_cast<double>(bytes(tensor, format)));
    }
    terms.push_back(std::move(term));
  }
  return min_sum(static_cast<int>(graph_->tensors.size()), static_cast<int>(formats_.size()), std::move(terms));
}

void StepSearch::list_candidates() {
  const auto free = static_cast<std::size_t>(std::count(fixed_.begin(), fixed_.end(), false));
  std::size_t combinations = 1;
  for (std::size_t i = 0; i < free && combinations <= max_combinations; ++i) combinations *= formats_.size();
  candidates_ = {Digits(graph_->tensors.size(), 0)};
  if (combinations <= max_combinations) {
    for (std::size_t at = 1; at < combinations; ++at) {
      Digits digits(graph_->tensors.size(), 0);
      std::size_t rest = at;
      for (std::size_t i = 0; i < digits.size(); ++i) {
        if (fixed_[i]) continue;
        digits[i] = static_cast<int>(rest % formats_.size());
        rest /= formats_.size();
      }
      candidates_.push_back(std::move(digits));
    }
    return;
  }
  const auto add = [&](const std::optional<Digits>& digits) {
    if (digits && std::find(candidates_.begin(), candidates_.end(), *digits) == candidates_.end()) {
      candidates_.push_back(*digits);
    }
  };
  add(priced_at(0, false));
  add(priced_at(0, true));
  const std::optional<StepChoice> fastest = best(saturated);
  if (!fastest) return;
  double rate = fastest->seconds / static_cast<double>(std::max<std::int64_t>(fastest->peak, 1)) / 64;
  // Two works at once pay for their bytes once, so that dear bytes favour them: both lists are needed.
  for (int i = 0; i < prices; ++i, rate *= 4) {
    add(priced_at(rate, false));
    add(priced_at(rate, true));
  }
}

// Returns the fastest way of a work that fits, with the bytes of all that is alive.
std::optional<StepSearch::Priced> StepSearch::fastest(std::size_t work, const Digits& digits, std::int64_t limit) {
  const std::int64_t others = beside(work, digits);
  for (const Priced& priced : front(work, digits)) {
    const std::int64_t peak = znni::add(priced.peak, others);
    if (peak <= limit) return Priced{priced.seconds, peak, priced.way};
  }
  return std::nullopt;
}

std::optional<StepChoice> StepSearch::choose(const Digits& digits, std::int64_t limit) {
  StepChoice choice;
  const auto add = [&choice](std::size_t work, const Priced& priced) {
    choice.seconds += priced.seconds;
    choice.peak = std::max(choice.peak, priced.peak);
    choice.calls.push_back({static_cast<int>(work), priced.way});
  };
  for (std::size_t work = 0; work < graph_->works.size(); ++work) {
    const std::optional<Priced> own = fastest(work, digits, limit);
    if (const int both = together_[work]; both >= 0) {
      const std::optional<Priced> at_once = fastest(index(both), digits, limit);
      const std::optional<Priced> next = fastest(work + 1, digits, limit);
      const bool is_slower = at_once && own && next && own->seconds + next->seconds <= at_once->seconds;
      if (at_once && !is_slower) {
        add(index(both), *at_once);
        ++work;
        continue;
      }
    }
    if (!own) return std::nullopt;
    add(work, *own);
  }
  for (const int digit : digits) choice.formats.push_back(formats_[index(digit)]);
  return choice;
}

std::optional<StepChoice> StepSearch::best(std::int64_t limit) {
  std::optional<StepChoice> best;
  for (const Digits& digits : candidates_) {
    std::optional<StepChoice> choice = choose(digits, limit);
    if (choice && (!best || choice->seconds < best->seconds)) best = std::move(choice);
  }
  return best;
}

// Returns the least bytes alive in a work.
std::int64_t StepSearch::min_peak(std::size_t work, const Digits& digits) {
  const Front& ways = front(work, digits);
  return ways.empty() ? saturated : znni::add(ways.back().peak, beside(work, digits));
}

std::optional<StepChoice> StepSearch::smallest() {
  std::int64_t least = saturated;
  for (const Digits& digits : candidates_) {
    std::int64_t most = 0;
    for (std::size_t work = 0; work < graph_->works.size(); ++work) {
      std::int64_t own = min_peak(work, digits);
      if (const int both = together_[work]; both >= 0) {
        own = std::min(std::max(own, min_peak(work + 1, digits)), min_peak(index(both), digits));
        ++work;
      }
      most = std::max(most, own);
    }
    least = std::min(least, most);
  }
  return best(least);
}

std::vector<Seconds> StepSearch::min_seconds() const {
  std::vector<Seconds> seconds;
  const auto is_faster = [](const StepWay& a, const StepWay& b) { return a.seconds < b.seconds; };
  for (std::size_t work = 0; work < graph_->works.size(); ++work) {
    seconds.push_back(std::min_element(ways_[work].begin(), ways_[work].end(), is_faster)->seconds);
  }
  return seconds;
}

StepLine StepSearch::line_of(const StepChoice& choice) {
  StepLine line;
  for (std::size_t i = 0; i < graph_->tensors.size(); ++i) {
    line.add_tensor(graph_->tensors[i].name, graph_->tensors[i].shape, choice.formats[i]);
  }
  line.bring(0);
  for (const ChosenWay& call : choice.calls) {
    const StepWay& way = ways_[index(call.work)][index(call.way)];
    const std::optional<Seconds> made = append(works_[index(call.work)], way, reorders_, line);
    ensure(made.has_value(), "a way that was priced can be appended");
  }
  return line;
}

}  // namespace znni
