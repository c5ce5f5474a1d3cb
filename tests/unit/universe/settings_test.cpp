// Programs, settings and launchers: what people and launchers write down.
#include "universe/settings.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <limits>
#include <map>

#include "channel/secret.hpp"
#include "support/temporary_directory.hpp"
#include "universe/join.hpp"
#include "universe/membership.hpp"
#include "universe/programs.hpp"

namespace couplet::universe {
namespace {

class Environment : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const auto* const name : names_) {
      if (const char* const value = ::getenv(name)) {
        saved_[name] = value;
      }
      ::unsetenv(name);
    }
  }
  void TearDown() override {
    for (const auto* const name : names_) {
      ::unsetenv(name);
    }
    for (const auto& [name, value] : saved_) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  static constexpr const char* names_[] = {"COUPLET_RANK",         "COUPLET_SIZE", "OMPI_COMM_WORLD_RANK",
                                           "OMPI_COMM_WORLD_SIZE", "PMI_RANK",     "PMI_SIZE",
                                           "SLURM_PROCID",         "SLURM_NTASKS", "COUPLET_SERIES_ETA_SLOTS"};
  std::map<std::string, std::string> saved_;
};

void expect_identity(int rank, int size) {
  const auto identity = identity_from_launcher();
  ASSERT_TRUE(identity.ok()) << identity.status().text();
  EXPECT_EQ(identity->rank, rank);
  EXPECT_EQ(identity->size, size);
}

TEST_F(Environment, ANumberMayBeInfiniteButNotNaN) {
  ::setenv("COUPLET_SIZE", "inf", 1);
  EXPECT_EQ(environment_number("COUPLET_SIZE", 1).status().code(), Code::ok);
  ::setenv("COUPLET_SIZE", "nan", 1);
  EXPECT_EQ(environment_number("COUPLET_SIZE", 1).code(), Code::config);
}

// A join with an infinite timeout was refused by the hub, whose messages have finite numbers only.
TEST_F(Environment, AJoinWithAnInfiniteTimeoutHasNoLimit) {
  const test::TemporaryDirectory directory;
  JoinRequest request{.program = "ocean", .hub = "127.0.0.1:1", .secret_file = directory.path() + "/secret"};
  request.timeout_s = std::numeric_limits<double>::infinity();
  request.timeout_given = true;
  ASSERT_TRUE(channel::read_or_make_secret(request.secret_file).ok());
  const auto options = join_options(request);
  ASSERT_TRUE(options.ok()) << options.status().text();
  EXPECT_EQ(options->timeout_s, -1);
}

// A mistyped name made another secret there, and joining failed with a sentence about two secrets.
TEST_F(Environment, AMemberMakesNoSecretWhereAFileIsNamed) {
  const test::TemporaryDirectory directory;
  const std::string mistyped = directory.path() + "/sceret";
  const JoinRequest request{.program = "ocean", .hub = "127.0.0.1:1", .secret_file = mistyped};
  const auto options = join_options(request);
  EXPECT_EQ(options.code(), Code::config);
  EXPECT_NE(options.status().text().find(mistyped + " does not exist"), std::string::npos) << options.status().text();
  EXPECT_EQ(channel::read_secret(mistyped).code(), Code::not_found);
}

TEST_F(Environment, LaunchersAreRecognised) {
  EXPECT_EQ(identity_from_launcher().code(), Code::not_found);
  ::setenv("SLURM_NTASKS", "8", 1);
  EXPECT_EQ(identity_from_launcher().code(), Code::not_found) << "a batch script is no task";
  ::setenv("SLURM_PROCID", "5", 1);
  expect_identity(5, 8);
  ::setenv("PMI_RANK", "1", 1);
  ::setenv("PMI_SIZE", "3", 1);
  expect_identity(1, 3);
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  expect_identity(0, 2);
  ::setenv("COUPLET_RANK", "4", 1);
  EXPECT_EQ(identity_from_launcher().code(), Code::config);
  ::setenv("COUPLET_SIZE", "6", 1);
  expect_identity(4, 6);
}

TEST_F(Environment, NonsenseFromALauncherIsNamed) {
  ::setenv("PMI_RANK", "x", 1);
  ::setenv("PMI_SIZE", "3", 1);
  EXPECT_EQ(identity_from_launcher().status().text(),
            "environment variable PMI_RANK is 'x', expected a number not less than 0");
  ::setenv("PMI_RANK", "3", 1);
  EXPECT_EQ(identity_from_launcher().status().text(), "PMI_RANK=3 must be less than PMI_SIZE=3");
}

// It was taken without a word, and the series had its default.
TEST_F(Environment, AMistypedSettingOfASeriesIsNamed) {
  EXPECT_TRUE(check_series_setting("series.eta.slots").ok());
  EXPECT_TRUE(check_series_setting("series.a.b.window").ok());
  EXPECT_TRUE(check_series_setting("links").ok());
  const Status wrong = check_series_setting("series.eta.slot");
  EXPECT_EQ(wrong.code(), Code::config);
  EXPECT_TRUE(
      wrong.text().starts_with("setting series.eta.slot is no setting of a series; there are slots, memory_bytes"))
      << wrong.text();
  EXPECT_EQ(check_series_setting("series.slots_of_eta").code(), Code::config);
  ::setenv("COUPLET_SERIES_ETA_SLOTS", "64", 1);
  EXPECT_TRUE(check_series_variables().ok()) << check_series_variables().text();
  ::setenv("COUPLET_SERIES_ETA_SLOT", "64", 1);
  const Status mistyped = check_series_variables();
  const JoinRequest request{.program = "ocean", .hub = "127.0.0.1:1", .secret_file = "/nowhere"};
  EXPECT_EQ(join_options(request).status().text(), mistyped.text());
  ::unsetenv("COUPLET_SERIES_ETA_SLOT");
  EXPECT_EQ(mistyped.code(), Code::config);
  EXPECT_TRUE(mistyped.text().starts_with("environment variable COUPLET_SERIES_ETA_SLOT is no setting of a series"))
      << mistyped.text();
}

TEST_F(Environment, OverridesTheSettings) {
  const SettingMap settings = {{"series.eta.slots", "64"}};
  EXPECT_EQ(environment_name("series.eta.slots"), "COUPLET_SERIES_ETA_SLOTS");
  EXPECT_EQ(environment_name("series.sea-level.slots"), "COUPLET_SERIES_SEA_LEVEL_SLOTS");
  EXPECT_EQ(setting_value(settings, "series.eta.slots"), "64");
  EXPECT_EQ(setting_value(settings, "series.eta.memory_bytes"), "");
  ::setenv("COUPLET_SERIES_ETA_SLOTS", "8", 1);
  EXPECT_EQ(setting_value(settings, "series.eta.slots"), "8");
}

TEST(Settings, AreFlattened) {
  const auto settings = settings_from_json(
      R"({"encrypt": true, "series": {"eta": {"slots": 64, "required_readers": ["a", "b"]}}, "x": 1.5})");
  ASSERT_TRUE(settings.ok()) << settings.status().text();
  EXPECT_EQ(
      *settings,
      (SettingMap{
          {"encrypt", "true"}, {"series.eta.required_readers", "a,b"}, {"series.eta.slots", "64"}, {"x", "1.5"}}));
}

TEST(Settings, MistakesAreNamed) {
  EXPECT_EQ(settings_from_json("[1]").code(), Code::config);
  EXPECT_EQ(settings_from_json("{").code(), Code::config);
  EXPECT_EQ(settings_from_json(R"({"a": {"b": null}})").status().text(),
            "setting 'a.b' is neither text, number, true, false nor a list of these");
  EXPECT_EQ(settings_from_json(std::string(most_settings_bytes + 1, ' ')).code(), Code::config);
  std::string deep;
  for (int level = 0; level < 20; ++level) {
    deep += R"({"a":)";
  }
  EXPECT_EQ(settings_from_json(deep + "1" + std::string(20, '}')).code(), Code::config);
}

TEST(Programs, AreParsed) {
  const auto programs = parse_programs("ocean:2,nowcast:1,follower:1?,tracer");
  ASSERT_TRUE(programs.ok()) << programs.status().text();
  EXPECT_EQ(*programs, (std::vector<ProgramSpec>{
                           {"ocean", 2, true}, {"nowcast", 1, true}, {"follower", 1, false}, {"tracer", 0, true}}));
}

TEST(Programs, MistakesAreQuoted) {
  const std::map<std::string, std::string> mistakes = {
      {"", "programs: '' cannot be the name of a program: a name has 1 to 63 letters, digits, '_', '-' and '.'"},
      {"ocean:0", "programs: 'ocean:0' has no number of ranks after the colon (as in 'ocean:2')"},
      {"ocean:two", "programs: 'ocean:two' has no number of ranks after the colon (as in 'ocean:2')"},
      {"ocean:2,ocean:1", "programs: 'ocean' is named twice"},
      {"ocean:2,late?", "programs: 'late?' may come late, so its number of ranks must be given ('late:1?')"},
      {"ocean:1048577", "programs: 1048577 ranks together, at most 1048576 are possible"},
      {"a b:1",
       "programs: 'a b' cannot be the name of a program: a name has 1 to 63 letters, digits, '_', '-' and '.'"},
  };
  for (const auto& [text, sentence] : mistakes) {
    EXPECT_EQ(parse_programs(text).status().text(), sentence);
  }
  std::string many = "p0";
  for (std::size_t index = 1; index <= max_programs; ++index) {
    many += ",p" + std::to_string(index);
  }
  EXPECT_EQ(parse_programs(many).code(), Code::config);
}

}  // namespace
}  // namespace couplet::universe
