#include "planner/report/price_list.hpp"

#include "planner/base/text_table.hpp"
#include "planner/plan/summary.hpp"
#include "planner/report/json.hpp"

namespace znni {
namespace {

constexpr Seconds hour = 3600;

bool is_planned(const PricedPlan& plan) { return plan.refused.empty(); }

bool is_in_time(const PriceList& list, const PricedPlan& plan) {
  return !list.within || seconds_of_volume(list, plan) <= *list.within;
}

// Returns a number that is smaller for what is cheaper.
double cost_of(const PriceList& list, const PricedPlan& plan) {
  return list.volume ? dollars_of_volume(list, plan) : 1 / voxels_per_dollar(plan);
}

// Returns three digits or more of the largest unit that there is at least one of.
std::string takes_text(Seconds seconds) {
  constexpr Seconds minute = 60;
  const auto text = [](double count, const char* unit) { return fixed_text(count, count < 10 ? 2 : 1) + unit; };
  if (seconds < 1) return seconds_text(seconds);
  if (seconds < minute) return text(seconds, " s");
  return seconds < hour ? text(seconds / minute, " min") : text(seconds / hour, " h");
}

std::string dollars_text(double dollars) { return fixed_text(dollars, dollars < 1 ? 4 : 2); }

std::string price_name(const PricedPlan& plan) { return plan.machine.empty() ? plan.file : plan.machine; }

TextRow head_of(const PriceList& list) {
  TextRow row = {"machine", "dollars/h", "strategy", "voxels/s"};
  if (list.volume) row.insert(row.end(), {"endless voxels/s", "voxels/dollar", "takes", "dollars"});
  if (!list.volume) row.emplace_back("voxels/dollar");
  row.emplace_back("basis");
  return row;
}

TextRow price_row(const PriceList& list, const PricedPlan& plan) {
  TextRow row = {price_name(plan), dollars_text(plan.dollars_per_hour)};
  if (!is_planned(plan)) {
    row.resize(list.volume ? 8 : 5);
    row.push_back(plan.refused);
    return row;
  }
  row.insert(row.end(), {plan.strategy, count_text(plan.predicted.voxels_per_second)});
  if (list.volume) row.push_back(count_text(endless_rate(plan.predicted)));
  row.push_back(count_text(voxels_per_dollar(plan)));
  if (list.volume) {
    row.push_back(takes_text(seconds_of_volume(list, plan)));
    row.push_back(dollars_text(dollars_of_volume(list, plan)));
  }
  row.push_back(std::string(to_string(plan.predicted.basis)) + error_text(plan.predicted.error));
  return row;
}

// Names the soonest of those with a plan, where no machine ends in time.
std::string soonest_text(const PriceList& list) {
  const PricedPlan* soonest = nullptr;
  for (const PricedPlan& plan : list.plans) {
    const bool is_sooner =
        is_planned(plan) && (soonest == nullptr || seconds_of_volume(list, plan) < seconds_of_volume(list, *soonest));
    if (is_sooner) soonest = &plan;
  }
  if (soonest == nullptr) return "none has a plan";
  return "none ends within " + takes_text(*list.within) + "; the soonest is " + price_name(*soonest) + ", in " +
         takes_text(seconds_of_volume(list, *soonest));
}

std::string cheapest_text(const PriceList& list) {
  const std::optional<std::size_t> found = cheapest(list);
  if (!found) return soonest_text(list);
  const PricedPlan& plan = list.plans[*found];
  if (!list.volume) return price_name(plan) + ", " + count_text(voxels_per_dollar(plan)) + " voxels a dollar";
  return price_name(plan) + ", " + dollars_text(dollars_of_volume(list, plan)) + " dollars in " +
         takes_text(seconds_of_volume(list, plan)) + (list.within ? ", within " + takes_text(*list.within) : "");
}

std::string title_of(const PriceList& list) {
  if (!list.volume) return list.network + " in an endless volume";
  return list.network + " on a volume of " + to_string(*list.volume) + ", " + count_text(list.output_voxels) +
         " voxels of output";
}

Json price_of(const PriceList& list, const PricedPlan& plan) {
  const bool own = is_planned(plan);
  const auto told = [](bool is_known, const auto& value) { return is_known ? Json(value()) : Json(nullptr); };
  const bool in_volume = own && list.volume.has_value();
  return {{"file", plan.file},
          {"machine", plan.machine},
          {"dollars_per_hour", plan.dollars_per_hour},
          {"strategy", told(own, [&] { return plan.strategy; })},
          {"voxels_per_second", told(own, [&] { return plan.predicted.voxels_per_second; })},
          {"endless_voxels_per_second", told(own, [&] { return endless_rate(plan.predicted); })},
          {"basis", told(own, [&] { return std::string(to_string(plan.predicted.basis)); })},
          {"error", told(own && plan.predicted.error > 0, [&] { return plan.predicted.error; })},
          {"bytes", told(own, [&] { return plan.memory; })},
          {"voxels_per_dollar", told(own, [&] { return voxels_per_dollar(plan); })},
          {"hours", told(in_volume, [&] { return seconds_of_volume(list, plan) / hour; })},
          {"dollars", told(in_volume, [&] { return dollars_of_volume(list, plan); })},
          {"refused", told(!own, [&] { return plan.refused; })}};
}

}  // namespace

double voxels_per_dollar(const PricedPlan& plan) {
  return plan.predicted.voxels_per_second * hour / plan.dollars_per_hour;
}

Seconds seconds_of_volume(const PriceList& list, const PricedPlan& plan) {
  return list.output_voxels / plan.predicted.voxels_per_second;
}

double dollars_of_volume(const PriceList& list, const PricedPlan& plan) {
  return seconds_of_volume(list, plan) / hour * plan.dollars_per_hour;
}

std::optional<std::size_t> cheapest(const PriceList& list) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < list.plans.size(); ++i) {
    const PricedPlan& plan = list.plans[i];
    if (!is_planned(plan) || !is_in_time(list, plan)) continue;
    if (!best || cost_of(list, plan) < cost_of(list, list.plans[*best])) best = i;
  }
  return best;
}

std::string price_table(const PriceList& list) {
  std::vector<TextRow> rows = {head_of(list)};
  for (const PricedPlan& plan : list.plans) rows.push_back(price_row(list, plan));
  return title_of(list) + "\n" + text_table(rows) + "cheapest   " + cheapest_text(list) + "\n";
}

std::string price_json(const PriceList& list) {
  const std::optional<std::size_t> best = cheapest(list);
  Json all = {{"model", list.network},
              {"volume", list.volume ? Json({list.volume->z, list.volume->y, list.volume->x}) : Json(nullptr)},
              {"within_seconds", list.within ? Json(*list.within) : Json(nullptr)}};
  all["machines"] = Json::array();
  for (const PricedPlan& plan : list.plans) all["machines"].push_back(price_of(list, plan));
  all["cheapest"] = best ? Json(*best) : Json(nullptr);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace znni
