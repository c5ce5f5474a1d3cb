// Cost files: good ones, and each way in which one can be bad.
#include "runtime/cost_file.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temporary_directory.hpp"

namespace couplet::runtime {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

Json points(std::initializer_list<std::pair<int, double>> pairs) {
  Json list = Json::array();
  for (const auto& [bytes, time_s] : pairs) list.push_back({{"bytes", bytes}, {"time_s", time_s}});
  return list;
}

Json good() {
  return {
      {"schema", "couplet.cost.machine"},
      {"version", 1},
      {"something", {"that", "nobody", "knows"}},
      {"machine", {{"name", "tachyon"}, {"hosts", {"n1", "n2"}}}},
      {"links",
       {{{"link", "shm"}, {"way", "eager"}, {"points", points({{8, 1e-7}, {65536, 1e-5}})}},
        {{"link", "shm"}, {"way", "announced"}, {"points", points({{8, 1e-6}, {65536, 5e-6}})}},
        {{"link", "tcp"}, {"way", "pieces"}, {"piece_bytes", 65536}, {"points", points({{4194304, 1e-3}})}}}},
      {"copies", {{{"way", "cached"}, {"points", points({{1, 1}})}}}},
      {"collectives",
       {{{"call", "allreduce"}, {"method", "ring"}, {"members", 4}, {"systems", 1}, {"points", points({{8, 1e-6}})}}}},
      {"exchanges", {{{"method", "mapped"}, {"points", points({{8, 1e-6}})}}}}};
}

TEST(CostFile, HasWhatWasWritten) {
  const auto costs = costs_from_json(good().dump(), "x.json");
  ASSERT_TRUE(costs.ok()) << costs.status().text();
  EXPECT_EQ(costs->machine, "tachyon");
  EXPECT_EQ(costs->hosts, (std::vector<std::string>{"n1", "n2"}));
  ASSERT_EQ(costs->links.size(), 3U);
  EXPECT_EQ(costs->links[1].way, cost::LinkWay::announced);
  EXPECT_EQ(costs->links[2].piece_bytes, 65536U);
  EXPECT_EQ(costs->copies.size(), 1U);
  ASSERT_EQ(costs->collectives.size(), 1U);
  EXPECT_EQ(costs->collectives[0].method, cost::Method::ring);
  EXPECT_EQ(costs->collectives[0].call, cost::Collective::allreduce);
  EXPECT_EQ(costs->exchanges[0].method, "mapped");
  ASSERT_EQ(costs->links[0].times.points.size(), 2U);
  EXPECT_EQ(costs->links[0].times.points[1].time_s, 1e-5);
}

struct Bad {
  const char* what;
  void (*spoil)(Json&);
  const char* said;
};

const Bad bad_files[] = {
    {"no schema", [](Json& file) { file.erase("schema"); }, "the file has no \"schema\""},
    {"another schema", [](Json& file) { file["schema"] = "couplet.cost.model"; },
     "is a \"couplet.cost.model\", not a \"couplet.cost.machine\""},
    {"another version", [](Json& file) { file["version"] = 2; },
     "has the schema version 2, and this Couplet reads version 1"},
    {"a list",
     [](Json& file) {
       file = Json::array({1, 2});
     },
     "has to be an object"},
    {"no machine", [](Json& file) { file.erase("machine"); }, "has no \"machine\""},
    {"an empty name", [](Json& file) { file["machine"]["name"] = ""; }, "machine.name has to have between 1 and"},
    {"a negative time", [](Json& file) { file["links"][0]["points"][1]["time_s"] = -1e-6; },
     "links[0].points[1].time_s has to be a number of seconds between 0 and 1000000, not -1e-06"},
    {"a time that nobody waits for", [](Json& file) { file["links"][0]["points"][1]["time_s"] = 1.7e308; },
     "links[0].points[1].time_s has to be a number of seconds between 0 and 1000000, not 1.7e+308"},
    {"a measured time that nobody waits for", [](Json& file) { file["links"][0]["points"][1]["measured_s"] = 1000001; },
     "links[0].points[1].measured_s has to be a number of seconds between 0 and 1000000, not 1000001"},
    {"a negative size", [](Json& file) { file["links"][0]["points"][1]["bytes"] = -8; },
     "links[0].points[1].bytes has to be a whole number of at least 0, not -8"},
    {"sizes that fall", [](Json& file) { file["links"][0]["points"][1]["bytes"] = 8; },
     "links[0].points[1] has 8 bytes after 8: the sizes have to increase"},
    {"no points", [](Json& file) { file["exchanges"][0]["points"] = Json::array(); },
     "exchanges[0].points has to have between 1 and 256 entries, not 0"},
    {"a text for a number", [](Json& file) { file["copies"][0]["points"][0]["time_s"] = "fast"; },
     "copies[0].points[0].time_s has to be a number of seconds, not \"fast\""},
    {"an unknown way", [](Json& file) { file["links"][0]["way"] = "by mule"; },
     "links[0] has the way \"by mule\"; there are eager, announced, pieces"},
    {"an unknown call", [](Json& file) { file["collectives"][0]["call"] = "shout"; }, "there are barrier, broadcast"},
    {"an impossible method", [](Json& file) { file["collectives"][0]["method"] = "linear"; },
     "has the method \"linear\", which \"allreduce\" does not have"},
    {"no members", [](Json& file) { file["collectives"][0]["members"] = 0; },
     "collectives[0].members has to be between 1 and"},
    {"more systems than members", [](Json& file) { file["collectives"][0]["systems"] = 5; },
     "collectives[0].systems has to be between 1 and 4, not 5"},
    {"pieces of a byte", [](Json& file) { file["links"][2]["piece_bytes"] = 1; },
     "links[2].piece_bytes has to be between 4096 and"},
    {"a curve twice", [](Json& file) { file["links"].push_back(file["links"][0]); },
     "links[3] is the second curve of link \"shm\", eager 0"},
    {"a huge whole number", [](Json& file) { file["links"][0]["points"][1]["bytes"] = UINT64_MAX; },
     "links[0].points[1].bytes has to be between 0 and"},
};

TEST(CostFile, ThatIsBadIsRefusedByASentenceThatSaysWhatToDo) {
  for (const Bad& bad : bad_files) {
    Json file = good();
    bad.spoil(file);
    const auto costs = costs_from_json(file.dump(), "/x/cost.json");
    ASSERT_FALSE(costs.ok()) << bad.what;
    EXPECT_EQ(costs.status().code(), Code::config) << bad.what;
    EXPECT_THAT(costs.status().text(),
                AllOf(HasSubstr("cost file /x/cost.json: "), HasSubstr(bad.said), HasSubstr("couplet probe --save")))
        << bad.what;
  }
}

TEST(CostFile, ThatIsNoJsonIsRefused) {
  const std::string text = good().dump();
  for (const std::string& broken : {std::string(), text.substr(0, text.size() / 2), std::string("\xFF\xFE{}"),
                                    std::string(100'000, '['), std::string("{\"version\": 1e999}")}) {
    const auto costs = costs_from_json(broken, "x.json");
    ASSERT_FALSE(costs.ok());
    EXPECT_THAT(costs.status().text(), HasSubstr("cost file x.json: the file"));
  }
}

TEST(CostFile, CutOffAnywhereIsRefused) {
  const std::string text = good().dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    EXPECT_FALSE(costs_from_json(text.substr(0, length), "x.json").ok()) << length;
  }
}

TEST(CostFile, WithTooManyChoicesOfMethodsIsRefused) {
  Json file = good();
  file["collectives"] = Json::array();
  for (int members = 1; members <= 600; ++members) {
    for (const char* const method : {"ring", "doubling"}) {
      file["collectives"].push_back({{"call", "allreduce"},
                                     {"method", method},
                                     {"members", members},
                                     {"systems", 1},
                                     {"points", points({{8, 1e-6}})}});
    }
  }
  file["collectives"].erase(file["collectives"].begin() + 1024, file["collectives"].end());
  EXPECT_TRUE(costs_from_json(file.dump(), "x.json").ok());
  file["collectives"][0]["points"] = points({{8, 1e-6}, {800, 1e-3}, {8000, 1e-9}});
  const auto costs = costs_from_json(file.dump(), "x.json");
  ASSERT_FALSE(costs.ok());
  EXPECT_THAT(costs.status().text(), HasSubstr("choices of collective methods; at most 1024 are possible"));
}

class CostFilePlaces : public ::testing::Test {
 protected:
  CostFilePlaces() {
    ::setenv("XDG_CONFIG_HOME", directory_.path().c_str(), 1);
    ::mkdir((directory_ / "couplet").c_str(), 0700);
  }
  ~CostFilePlaces() override { ::unsetenv("XDG_CONFIG_HOME"); }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  const test::TemporaryDirectory directory_;
  const std::string default_place_ = directory_ / "couplet/cost.json";
};

TEST_F(CostFilePlaces, WithoutAFileTheLibraryDecides) {
  const auto known = load_costs({.file = "", .machine = "", .host = "n1"});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->origin(), "");
  EXPECT_EQ(known->why, "there is no file " + default_place_);
  EXPECT_EQ(known->warning, "");
}

TEST_F(CostFilePlaces, TheDefaultPlaceIsUsedUnlessTheSettingIsNone) {
  write(default_place_, good().dump());
  auto known = load_costs({.file = "", .machine = "", .host = "n1"});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->origin(), "cost file " + default_place_ + " of machine 'tachyon'");
  EXPECT_EQ(known->warning, "");
  known = load_costs({.file = "none", .machine = "", .host = "n1"});
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(known->path, "");
}

TEST_F(CostFilePlaces, ABadFileIsAnErrorIfItIsNamedAndElseAWarning) {
  write(default_place_, "{");
  const auto left_out = load_costs({.file = "", .machine = "", .host = "n1"});
  ASSERT_TRUE(left_out.ok());
  EXPECT_EQ(left_out->path, "");
  EXPECT_THAT(left_out->warning, AllOf(HasSubstr(default_place_), HasSubstr("is not JSON")));
  const auto refused = load_costs({.file = default_place_, .machine = "", .host = "n1"});
  EXPECT_EQ(refused.status().code(), Code::config);
}

// Showing what was given instead of a text walked through it, one call in another, and ended each coupled program.
TEST_F(CostFilePlaces, AFileOfBracketsIsLeftOut) {
  write(default_place_, R"({"schema":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  const auto known = load_costs({.file = "", .machine = "", .host = "n1"});
  ASSERT_TRUE(known.ok());
  EXPECT_THAT(known->warning, HasSubstr("is nested more than 100 levels deep"));
}

TEST_F(CostFilePlaces, AFileOfAnotherMachineIsUsedWithAWarning) {
  write(default_place_, good().dump());
  const auto elsewhere = load_costs({.file = "", .machine = "", .host = "laptop"});
  ASSERT_TRUE(elsewhere.ok());
  EXPECT_NE(elsewhere->path, "");
  EXPECT_THAT(elsewhere->warning, AllOf(HasSubstr("machine 'tachyon'"), HasSubstr("host 'laptop' is not one"),
                                        HasSubstr("COUPLET_MACHINE=tachyon")));
  const auto other = load_costs({.file = "", .machine = "nehalem", .host = "n1"});
  EXPECT_THAT(other->warning, HasSubstr("was measured on machine 'tachyon', and this is machine 'nehalem'"));
  EXPECT_EQ(load_costs({.file = "", .machine = "tachyon", .host = "laptop"})->warning, "");
}

TEST_F(CostFilePlaces, WhatIsNoFileOrTooLargeIsRefused) {
  const auto text_of = [](const std::string& path) {
    const auto known = load_costs({.file = path, .machine = "", .host = "n1"});
    EXPECT_EQ(known.status().code(), Code::config) << path;
    return known.status().text();
  };
  EXPECT_THAT(text_of(directory_ / "missing.json"), HasSubstr("No such file or directory"));
  EXPECT_THAT(text_of(directory_.path()), HasSubstr("it is not a file"));
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(text_of(pipe), HasSubstr("it is not a file"));
  write(default_place_, std::string(max_cost_file_bytes + 1, ' '));
  EXPECT_THAT(text_of(default_place_), HasSubstr("the file has 4194305 bytes; at most 4194304 are possible"));
}

}  // namespace
}  // namespace couplet::runtime
