#include "layout/type_handles.hpp"

#include <gtest/gtest.h>

namespace couplet::layout {
namespace {

TEST(TypeHandles, ADatatypeStaysWhileItIsUsed) {
  const Datatype number(*find_type(COUPLET_DOUBLE));
  const auto handle = keep_datatype(Datatype::contiguous(3, number).value());
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(find_type(*handle), nullptr) << "no element type has this number";
  const auto used = find_datatype(*handle);
  ASSERT_NE(used, nullptr);
  EXPECT_TRUE(free_datatype(*handle));
  EXPECT_EQ(find_datatype(*handle), nullptr);
  EXPECT_EQ(used->bytes(), 24U);
  EXPECT_FALSE(free_datatype(*handle)) << "it is not there any more";
  EXPECT_NE(*keep_datatype(number), *handle) << "no handle is used again";
}

TEST(TypeHandles, AnElementIsADatatypeToo) {
  EXPECT_EQ(find_datatype(COUPLET_DOUBLE), nullptr);
  ASSERT_NE(find_datatype_or_element(COUPLET_DOUBLE), nullptr);
  EXPECT_EQ(find_datatype_or_element(COUPLET_DOUBLE)->bytes(), 8U);
  EXPECT_EQ(find_datatype_or_element(-1), nullptr);
  EXPECT_FALSE(free_datatype(COUPLET_DOUBLE));
}

TEST(TypeHandles, WhatIsGivenForAnElementTypeIsCalledWhatItIs) {
  const auto handle = keep_datatype(Datatype(*find_type(COUPLET_DOUBLE)));
  ASSERT_TRUE(handle.ok());
  EXPECT_EQ(why_no_element(*handle), fmt::format("{} is a datatype; an element type is needed here", *handle));
  EXPECT_TRUE(free_datatype(*handle));
  EXPECT_EQ(why_no_element(*handle), fmt::format("{} is no element type", *handle));
}

}  // namespace
}  // namespace couplet::layout
