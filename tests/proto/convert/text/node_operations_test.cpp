#include "proto/convert/text/node_operations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace znni {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Returns a node that has the field, with values in the fields that it must have.
text::Node node_with(const google::protobuf::FieldDescriptor* field) {
  text::Node node;
  if (field->number() == text::Node::kStack) {
    node.mutable_stack()->add_stage()->mutable_scale_shift();
    return node;
  }
  google::protobuf::Message* message = node.GetReflection()->MutableMessage(&node, field);
  for (int i = 0; i < message->GetDescriptor()->field_count(); ++i) {
    const google::protobuf::FieldDescriptor* inner = message->GetDescriptor()->field(i);
    if (inner->is_repeated()) {
      message->GetReflection()->AddInt64(message, inner, 2);
    } else if (inner->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_INT64) {
      message->GetReflection()->SetInt64(message, inner, 2);
    }
  }
  return node;
}

TEST(NodeOperations, EveryFieldIsReadAndWrittenAgain) {
  const google::protobuf::OneofDescriptor* fields = text::Node::descriptor()->FindOneofByName("op");
  std::set<std::size_t> alternatives;
  for (int i = 0; i < fields->field_count(); ++i) {
    const text::Node node = node_with(fields->field(i));
    const Result<Operation> operation = operation_of(node, 3);
    ASSERT_TRUE(operation) << fields->field(i)->name() << ": " << operation.error().message;
    EXPECT_TRUE(pads_of(node, 3)) << fields->field(i)->name();
    text::Node written;
    set_operation(written, *operation, 3);
    EXPECT_EQ(written.op_case(), node.op_case()) << fields->field(i)->name();
    const Result<Operation> again = operation_of(written, 3);
    ASSERT_TRUE(again) << fields->field(i)->name();
    EXPECT_EQ(*again, *operation) << fields->field(i)->name();
    alternatives.insert(operation->index());
  }
  EXPECT_EQ(alternatives.size(), std::variant_size_v<Operation>) << "an operation that no field becomes";
}

TEST(NodeOperations, ANodeWithoutOneIsRefusedWithTheNamesOfAll) {
  const Result<Operation> operation = operation_of({}, 3);
  ASSERT_FALSE(operation);
  EXPECT_THAT(operation.error().message, HasSubstr("has no operation; conv, max_pool, average_pool, "));
  EXPECT_THAT(operation.error().message, HasSubstr(", upsample, "));
  EXPECT_THAT(operation.error().message, EndsWith(" are known"));
  EXPECT_EQ(*pads_of({}, 3), Border{});
}

TEST(NodeOperations, PadsAreThoseOfConvolutionsPoolingsAndUpsamplings) {
  const google::protobuf::OneofDescriptor* fields = text::Node::descriptor()->FindOneofByName("op");
  const std::set<int> padding = {text::Node::kConv, text::Node::kMaxPool, text::Node::kAveragePool,
                                 text::Node::kUpsample};
  for (int i = 0; i < fields->field_count(); ++i) {
    const Border pads = *pads_of(node_with(fields->field(i)), 2);
    const Border wanted = {{0, 2, 2}, {0, 2, 2}};
    EXPECT_EQ(pads, padding.contains(fields->field(i)->number()) ? wanted : Border{}) << fields->field(i)->name();
  }
}

}  // namespace
}  // namespace znni
