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
  for (const StepWork& work : graph.works) {
    Result<std::vector<StepWay>> ways = step_ways(work, parts);
    if (!ways) return ways.error();
    search.ways_.push_back(std::move(*ways));
    search.own_.push_back(tensors_of(work));
  }
  search.fronts_.resize(graph.works.size());
  search.find_formats();
  search.find_lives();
  search.list_candidates();
  return search;
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
  beside_.resize(works);
  for (int i = 0; index(i) < works; ++i) {
    for (int tensor = 0; index(tensor) < graph_->tensors.size(); ++tensor) {
      const bool alive = first[index(tensor)] < i && i < last_[index(tensor)];
      const std::vector<int>& own = own_[index(i)];
      if (alive && std::find(own.begin(), own.end(), tensor) == own.end()) beside_[index(i)].push_back(tensor);
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
  const StepWork& work = graph_->works[number];
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
    if (last_[index(tensor)] != static_cast<int>(number)) line.keep(tensor);
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

SumTerm StepSearch::term_of(std::size_t work, double seconds_per_byte) {
  SumTerm term{own_[work], {}};
  Digits digits(graph_->tensors.size(), 0);
  std::size_t entries = 1;
  for (std::size_t i = 0; i < own_[work].size(); ++i) entries *= formats_.size();
  for (std::size_t at = 0; at < entries; ++at) {
    std::size_t rest = at;
    bool legal = true;
    for (auto it = own_[work].rbegin(); it != own_[work].rend(); ++it) {
      digits[index(*it)] = static_cast<int>(rest % formats_.size());
      rest /= formats_.size();
      legal = legal && (digits[index(*it)] == 0 || !fixed_[index(*it)]);
    }
    double least = infinite;
    if (legal) {
      for (const Priced& priced : front(work, digits)) {
        least = std::min(least, priced.seconds + seconds_per_byte * static_cast<double>(priced.peak));
      }
    }
    term.values.push_back(least);
  }
  return term;
}

std::optional<StepSearch::Digits> StepSearch::priced_at(double seconds_per_byte) {
  std::vector<SumTerm> terms;
  for (std::size_t work = 0; work < graph_->works.size(); ++work) terms.push_back(term_of(work, seconds_per_byte));
  for (int tensor = 0; seconds_per_byte > 0 && index(tensor) < graph_->tensors.size(); ++tensor) {
    SumTerm term{{tensor}, {}};
    for (int format = 0; index(format) < formats_.size(); ++format) {
      term.values.push_back(seconds_per_byte * static_cast<double>(bytes(tensor, format)));
    }
    terms.push_back(std::move(term));
  }
  return least_sum(static_cast<int>(graph_->tensors.size()), static_cast<int>(formats_.size()), std::move(terms));
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
  add(priced_at(0));
  const std::optional<StepChoice> fastest = best(saturated);
  if (!fastest) return;
  double rate = fastest->seconds / static_cast<double>(std::max<std::int64_t>(fastest->peak, 1)) / 64;
  for (int i = 0; i < prices; ++i, rate *= 4) add(priced_at(rate));
}

std::optional<StepChoice> StepSearch::choose(const Digits& digits, std::int64_t limit) {
  StepChoice choice;
  for (std::size_t work = 0; work < graph_->works.size(); ++work) {
    const std::int64_t others = beside(work, digits);
    const Front& ways = front(work, digits);
    const auto fits = std::find_if(ways.begin(), ways.end(),
                                   [&](const Priced& priced) { return znni::add(priced.peak, others) <= limit; });
    if (fits == ways.end()) return std::nullopt;
    choice.seconds += fits->seconds;
    choice.peak = std::max(choice.peak, znni::add(fits->peak, others));
    choice.ways.push_back(fits->way);
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

std::optional<StepChoice> StepSearch::smallest() {
  std::int64_t least = saturated;
  for (const Digits& digits : candidates_) {
    std::int64_t most = 0;
    for (std::size_t work = 0; work < graph_->works.size(); ++work) {
      const Front& ways = front(work, digits);
      most = std::max(most, ways.empty() ? saturated : znni::add(ways.back().peak, beside(work, digits)));
    }
    least = std::min(least, most);
  }
  return best(least);
}

std::vector<Seconds> StepSearch::least_seconds() const {
  std::vector<Seconds> seconds;
  const auto is_faster = [](const StepWay& a, const StepWay& b) { return a.seconds < b.seconds; };
  for (const std::vector<StepWay>& ways : ways_) {
    seconds.push_back(std::min_element(ways.begin(), ways.end(), is_faster)->seconds);
  }
  return seconds;
}

StepLine StepSearch::line_of(const StepChoice& choice) {
  StepLine line;
  for (std::size_t i = 0; i < graph_->tensors.size(); ++i) {
    line.add_tensor(graph_->tensors[i].name, graph_->tensors[i].shape, choice.formats[i]);
  }
  line.bring(0);
  for (std::size_t i = 0; i < graph_->works.size(); ++i) {
    const std::optional<Seconds> made = append(graph_->works[i], ways_[i][index(choice.ways[i])], reorders_, line);
    ensure(made.has_value(), "a way that was priced can be appended");
  }
  return line;
}

}  // namespace znni
