#include "planner/report/k8s_resources.hpp"

#include <algorithm>
#include <cmath>

namespace znni {
namespace {

constexpr std::int64_t mib = std::int64_t{1} << 20;
// Bytes of the daemon itself (server/jobs/memory_shares.hpp).
constexpr std::int64_t base_bytes = 64 * mib;
// 0.8 of the container's memory is the daemon's; of that an eighth is for requests, and at most three quarters of an
// eighth for those that are still received: 1 / (0.8 x 25 / 32).
constexpr double over_plan = 1.6;
constexpr Seconds usual_exit_timeout = 30;
constexpr Seconds longest_exit_timeout = 86'400;  // of znnid --exit-timeout-secs
constexpr Seconds after_exit_timeout = 15;

std::int64_t container_mib(const Plan& plan) {
  const double bytes = over_plan * static_cast<double>(add(plan.memory.total(), base_bytes));
  return static_cast<std::int64_t>(std::ceil(bytes / static_cast<double>(mib))) + 1;  // for all that is rounded down
}

// Returns twice the predicted time of a patch, because a prediction is not a promise.
Seconds exit_timeout(const Plan& plan) {
  Seconds longest = 0;
  for (const Rung& rung : plan.ladder) longest = std::max(longest, rung.seconds);
  return std::min(std::max(usual_exit_timeout, std::ceil(2 * longest)), longest_exit_timeout);
}

std::string whole(Seconds seconds) { return std::to_string(static_cast<std::int64_t>(seconds)); }

}  // namespace

std::string k8s_resources(const Plan& plan) {
  const std::string memory = std::to_string(container_mib(plan)) + "Mi";
  const std::string processors = "\"" + std::to_string(plan.key.threads) + "\"";
  const std::string both = "{cpu: " + processors + ", memory: " + memory + "}\n";
  const Seconds timeout = exit_timeout(plan);
  // Requests equal limits: then the pod is the last to be evicted, and may get processors of its own.
  return "# By planner --k8s-resources: a plan of " + bytes_text(plan.memory.total()) + ", " +
         std::to_string(plan.key.threads) + " threads.\n" +
         "apiVersion: apps/v1\n"
         "kind: Deployment\n"
         "metadata:\n"
         "  name: znnid\n"
         "spec:\n"
         "  template:\n"
         "    spec:\n"
         "      terminationGracePeriodSeconds: " +
         whole(timeout + after_exit_timeout) +
         "\n"
         "      containers:\n"
         "        - name: znnid\n"
         "          env:\n"
         "            - {name: ZNNI_EXIT_TIMEOUT, value: \"" +
         whole(timeout) +
         "\"}\n"
         "          resources:\n"
         "            requests: " +
         both + "            limits: " + both;
}

}  // namespace znni
