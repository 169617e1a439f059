// The resources that a pod of Kubernetes needs to serve a plan.
#pragma once

#include <string>

#include "planner/plan/plan.hpp"

namespace znni {

// Returns a strategic merge patch (YAML) for the Deployment `znnid` of deploy/k8s: processors and memory of the
// container, and the time that it has to end. Memory is what the whole daemon needs if it keeps to four fifths of it,
// its default: the plan, requests on their way, the program itself. The longest patch may end before the pod does.
[[nodiscard]] std::string k8s_resources(const Plan& plan);

}  // namespace znni
