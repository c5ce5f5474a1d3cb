#include "exchange/choice_cache.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/temporary_directory.hpp"

namespace couplet::exchange {
namespace {

class Choices : public ::testing::Test {
 protected:
  [[nodiscard]] std::string contents() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/choices";
  ChoiceCache cache_{path_};
  Situation situation_{.machine = "a processor, 2 cores",
                       .node_ranks = 2,
                       .neighbors = 6,
                       .size_class = 10,
                       .methods = {"mapped", "isend"}};
};

TEST_F(Choices, AreFoundAgain) {
  EXPECT_FALSE(cache_.find(situation_).has_value());
  ASSERT_TRUE(cache_.store(situation_, {.method = "isend", .time_ns = 1234}).ok());
  ASSERT_TRUE(cache_.find(situation_).has_value());
  EXPECT_EQ(cache_.find(situation_)->method, "isend");
  EXPECT_EQ(cache_.find(situation_)->time_ns, 1234);
  EXPECT_EQ(contents(),
            "# couplet: fastest methods of exchanges, 1\n"
            "a processor, 2 cores\t2\t6\t10\tboth\tmapped,isend\tisend\t1234\n");
}

TEST_F(Choices, AreReplacedByNewerOnes) {
  ASSERT_TRUE(cache_.store(situation_, {.method = "isend", .time_ns = 1}).ok());
  ASSERT_TRUE(cache_.store(situation_, {.method = "mapped", .time_ns = 2}).ok());
  EXPECT_EQ(cache_.find(situation_)->method, "mapped");
  EXPECT_EQ(contents().find("isend\t1"), std::string::npos);
}

TEST_F(Choices, OfOtherSituationsAreKeptAndNotUsed) {
  ASSERT_TRUE(cache_.store(situation_, {.method = "isend", .time_ns = 1}).ok());
  for (const auto change :
       {+[](Situation& other) { other.machine = "another"; }, +[](Situation& other) { other.node_ranks = 3; },
        +[](Situation& other) { other.neighbors = 7; }, +[](Situation& other) { other.size_class = 11; },
        +[](Situation& other) { other.is_paired = false; },
        +[](Situation& other) { other.methods.emplace_back("put_flag"); }}) {
    Situation other = situation_;
    change(other);
    EXPECT_FALSE(cache_.find(other).has_value());
    ASSERT_TRUE(cache_.store(other, {.method = "mapped", .time_ns = 2}).ok());
  }
  EXPECT_EQ(cache_.find(situation_)->method, "isend");
}

TEST_F(Choices, ThatCannotBeReadArePassedOver) {
  ASSERT_TRUE(cache_.store(situation_, {.method = "isend", .time_ns = 1}).ok());
  const std::string line = contents().substr(contents().find('\n') + 1);
  const std::string key = line.substr(0, line.rfind("isend"));
  for (const std::string rest :
       {"", "isend", "isend\t", "isend\tfast", "isend\t-1", "isend\tnan", "\t1", "unknown\t1", "isend\t1\t2"}) {
    std::ofstream(path_) << "# couplet: fastest methods of exchanges, 1\n" << key << rest << "\n";
    EXPECT_FALSE(cache_.find(situation_).has_value()) << rest;
  }
  std::ofstream(path_) << "# something else\n" << line;
  EXPECT_FALSE(cache_.find(situation_).has_value());
}

TEST_F(Choices, AreNotStoredWhereThereIsNoDirectory) {
  const Status stored = ChoiceCache(directory_.path() + "/none/choices").store(situation_, {.method = "isend"});
  EXPECT_FALSE(stored.ok());
  EXPECT_NE(stored.text().find("none"), std::string::npos) << stored.text();
}

TEST_F(Choices, ALineBreakInANameSeparatesNothing) {
  situation_.machine = "a\nb\tc";
  ASSERT_TRUE(cache_.store(situation_, {.method = "isend", .time_ns = 1}).ok());
  EXPECT_TRUE(cache_.find(situation_).has_value());
}

}  // namespace
}  // namespace couplet::exchange
