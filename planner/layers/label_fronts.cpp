#include "planner/layers/label_fronts.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace znni {
namespace {

bool beats(const Label& a, const Label& b) {
  return a.seconds <= b.seconds && a.persistent <= b.persistent && a.peak <= b.peak && a.stem_peak <= b.stem_peak &&
         a.histories <= b.histories;
}

std::int64_t bytes_of(const Label& label) { return add(label.persistent, add(label.peak, label.histories)); }

}  // namespace

Front pareto(Front labels, const StopQuestion& stop) {
  std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) {
    if (a.seconds != b.seconds) return a.seconds < b.seconds;
    if (a.persistent != b.persistent) return a.persistent < b.persistent;
    if (a.peak != b.peak) return a.peak < b.peak;
    return a.stem_peak != b.stem_peak ? a.stem_peak < b.stem_peak : a.histories < b.histories;
  });
  Front kept;
  std::vector<std::size_t>
      order;  // of kept: what beat a label last is asked first, since like labels follow each other
  for (const Label& label : labels) {
    if (stop()) break;
    const auto found =
        std::find_if(order.begin(), order.end(), [&](std::size_t other) { return beats(kept[other], label); });
    if (found != order.end()) {
      std::rotate(order.begin(), found, found + 1);
      continue;
    }
    order.push_back(kept.size());
    kept.push_back(label);
  }
  return kept;
}

Front few_of(const Front& front) {
  if (front.size() <= max_front) return front;
  const auto least = [&](auto need) {
    const auto found =
        std::min_element(front.begin(), front.end(), [&](const Label& a, const Label& b) { return need(a) < need(b); });
    return static_cast<std::size_t>(found - front.begin());
  };
  std::set<std::size_t> kept = {0, least(bytes_of), least([](const Label& label) { return label.persistent; }),
                                least([](const Label& label) { return add(label.peak, label.histories); })};
  for (std::size_t i = 1; i < max_front && kept.size() < max_front; ++i) kept.insert(i * front.size() / max_front);
  Front result;
  for (const std::size_t i : kept) result.push_back(front[i]);
  return result;
}

std::map<State, Front> few_of(std::map<State, Front> states) {
  if (states.size() <= max_states) return states;
  std::vector<std::pair<Seconds, const State*>> fastest;
  const State* leanest = nullptr;
  std::int64_t least = saturated;
  for (const auto& [state, front] : states) {
    fastest.emplace_back(front.front().seconds, &state);
    for (const Label& label : front) {
      if (leanest != nullptr && bytes_of(label) >= least) continue;
      least = bytes_of(label);
      leanest = &state;
    }
  }
  std::stable_sort(fastest.begin(), fastest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<State, Front> result;
  result.insert(*states.find(*leanest));
  for (std::size_t i = 0; i < max_states; ++i) result.insert(*states.find(*fastest[i].second));
  return result;
}

}  // namespace znni
