// Converts values that plans and timings share to their messages and back.
#pragma once

#include <string>

#include <google/protobuf/repeated_ptr_field.h>

#include "planner/plan/plan.hpp"
#include "primitives/core/primitive.hpp"
#include "proto/plan.pb.h"

namespace znni {

// Parses a format such as "f32:blocked16"; the error lists the known ones.
[[nodiscard]] Result<Format> parse_format(std::string_view field, const std::string& text);

[[nodiscard]] Variant variant_of(const google::protobuf::RepeatedPtrField<text::Setting>& settings);
// Bases stand in another order than the planner's, in which a weaker one is less.
[[nodiscard]] Basis basis_of(text::Plan::Basis basis);
[[nodiscard]] text::Plan::Basis message_of(Basis basis);

void set_variant(google::protobuf::RepeatedPtrField<text::Setting>* settings, const Variant& variant);

}  // namespace znni
