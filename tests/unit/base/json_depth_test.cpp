// How deeply a JSON text is nested.
#include "base/json_depth.hpp"

#include <gtest/gtest.h>

#include <string>

namespace couplet {
namespace {

TEST(JsonDepth, CountsBracketsThatAreOpenTogether) {
  EXPECT_EQ(json_depth(""), 0U);
  EXPECT_EQ(json_depth("3"), 0U);
  EXPECT_EQ(json_depth("[]"), 1U);
  EXPECT_EQ(json_depth(R"({"a": [1, [2], 3], "b": {}})"), 3U);
  EXPECT_EQ(json_depth(std::string(5000, '[')), 5000U);
}

TEST(JsonDepth, BracketsWithinTextsDoNotCount) {
  EXPECT_EQ(json_depth(R"(["[[[[", {"a[": "\"[[", "b": "\\"}])"), 2U);
  EXPECT_EQ(json_depth(R"(["never ends \)"), 1U);
}

TEST(JsonDepth, AClosingBracketTooManyIsIgnored) {
  EXPECT_EQ(json_depth("]]][]"), 1U);
}

}  // namespace
}  // namespace couplet
