#include "planner/train/min_sum.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "primitives/core/index.hpp"

namespace znni {
namespace {

// A variable that was eliminated, and its best choice for each choice of the others in its terms.
struct Eliminated {
  int variable = 0;
  std::vector<int> others;
  std::vector<int> best;
};

bool holds(const SumTerm& term, int variable) {
  return std::find(term.variables.begin(), term.variables.end(), variable) != term.variables.end();
}

class Elimination {
 public:
  Elimination(int variables, int choices, std::vector<SumTerm> terms, std::size_t max_entries)
      : choices_(choices), terms_(std::move(terms)), max_entries_(max_entries), chosen_(index(variables), 0) {
    for (int i = 0; i < variables; ++i) left_.push_back(i);
  }

  std::optional<std::vector<int>> run() && {
    while (!left_.empty()) {
      const int next = min_bound();
      if (entries(others_of(next).size() + 1) > max_entries_) return std::nullopt;
      eliminate(next);
      std::erase(left_, next);
    }
    for (auto it = done_.rbegin(); it != done_.rend(); ++it) {
      chosen_[index(it->variable)] = it->best[place(it->others)];
    }
    return std::move(chosen_);
  }

 private:
  [[nodiscard]] std::size_t entries(std::size_t variables) const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < variables && count <= max_entries_; ++i) count *= index(choices_);
    return count;
  }

  [[nodiscard]] std::vector<int> others_of(int variable) const {
    std::vector<int> others;
    for (const SumTerm& term : terms_) {
      if (holds(term, variable)) others.insert(others.end(), term.variables.begin(), term.variables.end());
    }
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    std::erase(others, variable);
    return others;
  }

  [[nodiscard]] int min_bound() const {
    return *std::min_element(left_.begin(), left_.end(),
                             [&](int a, int b) { return others_of(a).size() < others_of(b).size(); });
  }

  // Returns where a table of these variables has the entry of what is chosen now.
  [[nodiscard]] std::size_t place(const std::vector<int>& variables) const {
    std::size_t at = 0;
    for (const int variable : variables) at = at * index(choices_) + index(chosen_[index(variable)]);
    return at;
  }

  void choose(const std::vector<int>& variables, std::size_t at) {
    for (auto it = variables.rbegin(); it != variables.rend(); ++it) {
      chosen_[index(*it)] = static_cast<int>(at % index(choices_));
      at /= index(choices_);
    }
  }

  void eliminate(int variable) {
    Eliminated step{variable, others_of(variable), {}};
    SumTerm rest{step.others, {}};
    const auto own =
        std::partition(terms_.begin(), terms_.end(), [&](const SumTerm& term) { return !holds(term, variable); });
    for (std::size_t at = 0; at < entries(step.others.size()); ++at) {
      choose(step.others, at);
      double least = std::numeric_limits<double>::infinity();
      int best = 0;
      for (int choice = 0; choice < choices_; ++choice) {
        chosen_[index(variable)] = choice;
        double sum = 0;
        for (auto term = own; term != terms_.end(); ++term) sum += term->values[place(term->variables)];
        if (sum < least) best = choice;
        least = std::min(least, sum);
      }
      step.best.push_back(best);
      rest.values.push_back(least);
    }
    terms_.erase(own, terms_.end());
    terms_.push_back(std::move(rest));
    done_.push_back(std::move(step));
  }

  int choices_;
  std::vector<SumTerm> terms_;
  std::size_t max_entries_;
  std::vector<int> left_;
  std::vector<int> chosen_;
  std::vector<Eliminated> done_;
};

}  // namespace

std::optional<std::vector<int>> min_sum(int variables, int choices, std::vector<SumTerm> terms,
                                        std::size_t max_entries) {
  return Elimination(variables, choices, std::move(terms), max_entries).run();
}

}  // namespace znni
